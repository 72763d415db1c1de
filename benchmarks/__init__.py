"""Benchmarks of smkc, alone and in comparison with other methods.

In: recordings of real systems, synthetic windows, or nothing but seeds. Out: scores in files, and
tables, figures and pages made from them, kept in ``results/``. ``python -m benchmarks`` lists the
commands. The installed package does not include the benchmarks, and nothing in ``smkc`` imports
them.

``alerts``, ``causes``, ``real`` and ``paper`` hold one benchmark each, ``speed`` the timings, and
``claims`` measurements of single claims. They share the methods (``baselines``, ``real.peers``),
the synthetic windows (``world``, ``windows``, ``protocols``), the questions asked of single windows
(``single_window``), metrics, tables and reports.
"""
