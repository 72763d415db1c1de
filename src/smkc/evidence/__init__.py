"""The default detector: questions asked of each row against reference data.

In: a recording, and reference data. Out: how unusual each row is in each respect, and joined.
``reference/`` holds the evidences of whole rows, ``variables/`` what is asked of each variable.
"""
