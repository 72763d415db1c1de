"""Questions asked of each variable by itself, so that one among a thousand is heard.

In: rows of scaled values, a column for each variable. Out: for each row how surprising its loudest
column is, in nats (minus the natural logarithm of a p-value that accounts for all columns and
questions), and which columns those were.

questions.py
    the statistics: level over 1, 4 and 16 rows, jump, step, freezing, relation to the others
tails.py
    how far each column went in the reference, and how likely it is to go farther
runs.py
    how long each column repeats one value
silence.py
    whether a large share of the columns fell silent at once
loudest.py
    the largest surprise of a row; columns that stay loud or are often loud lose their say
model.py
    all of these together, fitted on a reference
"""

from smkc.evidence.variables.loudest import Heard, Loudest
from smkc.evidence.variables.model import VariableQuestions, VariableState
from smkc.evidence.variables.questions import PAST_ROWS, QUESTIONS, Question
from smkc.evidence.variables.tails import Tails

__all__ = [
    "PAST_ROWS",
    "QUESTIONS",
    "Heard",
    "Loudest",
    "Question",
    "Tails",
    "VariableQuestions",
    "VariableState",
]
