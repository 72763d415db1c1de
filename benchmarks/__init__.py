"""Benchmarks: everything that measures smkc, beside other methods and by itself.

In: recordings of real systems, synthetic windows, or nothing but seeds. Out: scores in files, and
tables, figures and pages made from them, kept in ``results/``. ``python -m benchmarks`` lists the
commands. The installed package has no part of this, and nothing in ``smkc`` imports it.

``alerts``, ``real`` and ``paper`` hold one benchmark each, ``speed`` the timing, and ``claims``
measurements of single promises. They share the methods (``baselines``, ``real.peers``), the
synthetic windows (``world``, ``windows``, ``protocols``), the questions asked of single windows
(``single_window``), metrics, tables and reports.
"""
