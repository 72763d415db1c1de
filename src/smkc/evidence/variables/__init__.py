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
seasons.py
    what is usual at this time of the day or of the week
silence.py
    whether a large share of the columns fell silent at once
shares.py
    how the budget of false alerts is divided among columns
loudest.py
    the largest surprise of a row; columns that stay loud lose their say
model.py
    all of these together, fitted on a reference
"""

from smkc.evidence.variables.loudest import (
    CALM_ROWS,
    LASTING_RATE,
    LOUD_RATE,
    N_WAYS,
    Heard,
    Loudest,
)
from smkc.evidence.variables.model import VariableQuestions, VariableState
from smkc.evidence.variables.questions import PAST_ROWS, QUESTIONS, Question, Recent
from smkc.evidence.variables.seasons import DAY, WEEK, Usual, told_seasons
from smkc.evidence.variables.tails import Tails

__all__ = [
    "CALM_ROWS",
    "DAY",
    "LASTING_RATE",
    "LOUD_RATE",
    "N_WAYS",
    "PAST_ROWS",
    "QUESTIONS",
    "WEEK",
    "Heard",
    "Loudest",
    "Question",
    "Recent",
    "Tails",
    "Usual",
    "VariableQuestions",
    "VariableState",
    "told_seasons",
]
