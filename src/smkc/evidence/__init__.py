"""The default detector: compares each row of a recording with reference data.

In: reference data, and a recording. Out: the score, the p-value and the causes of each row. A row
passes through the folders in this order (docs/detector.md tells why):

columns/
    the row becomes columns of scaled values: variables, and roles that outlive their members
variables/
    questions asked of each column by itself, and the loudest columns
system/
    questions asked of the whole row: the evidences
decision/
    both surprises become one p-value, less the cost of earlier alerts; and a score
causes/
    who is to blame, in words

``model.py`` holds what was learned from the reference, ``state.py`` what is remembered from row to
row, ``settings.py`` the numbers that shape the outcome. ``fitted.py``, ``stream.py`` and
``scan.py`` stand behind the protocols of all detectors.
"""
