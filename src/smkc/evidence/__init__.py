"""Evidence: questions asked of a window, each answered with one number and a p-value.

In: windows of a recording, and reference data. Out: how unusual each window is in each respect,
and joined. ``window/`` holds what a window says by itself, without knowing any variable;
``reference/`` what it says against reference data in which variables have names.
"""
