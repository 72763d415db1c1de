"""The paper's method: sketch, kernel images, density and learned detectors.

In: recordings. Out: scores of windows. ``sketch`` turns time steps into states, ``kernel``
compares the states of a window, ``density`` measures the distance to normal windows, ``learn``
trains networks on kernel images (extra ``deep``), ``causes`` names the variables that made a
window deviate.
"""
