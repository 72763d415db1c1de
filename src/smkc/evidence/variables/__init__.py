"""Questions asked of each variable by itself, so that a fault of 1 in 1000 variables is found.

In: rows of scaled values, one column per variable. Out: for each row the largest surprise of any
column, in nats (minus the natural logarithm of a p-value that is corrected for the number of
columns and questions), and the columns with the largest surprises. These are called the loudest.

questions.py
    the statistics: level over 1 and 16 rows, jump, freezing, relation to the others
tails.py
    how far each column went in the reference, and how likely it is to go farther
runs.py
    how long each column repeats one value
calendar.py
    the local clock and the holidays that days and weeks are counted by
seasons.py
    the usual values by time of the day or of the week
silence.py
    whether a large share of the columns fell silent at once
residents.py
    newcomers that stayed, judged by what they did first
shares.py
    how the budget of false alerts is divided among columns
places.py
    the service, job or machine that each column belongs to
lasting.py
    columns that stay loud: what has become normal for them
loudest.py
    the loudest columns of each row
model.py
    all of these together, fitted on a reference
state.py
    the same at one moment of a recording
"""

from smkc.evidence.variables.calendar import DAY, UTC_CALENDAR, WEEK, Calendar
from smkc.evidence.variables.loudest import N_LOOKS, LoudColumns, Loudest
from smkc.evidence.variables.model import VariableQuestions
from smkc.evidence.variables.questions import (
    PAST_ROWS,
    QUESTIONS,
    TAILED_QUESTIONS,
    Question,
    Recent,
)
from smkc.evidence.variables.seasons import Seasons, Usual, describe_seasons
from smkc.evidence.variables.state import VariableState
from smkc.evidence.variables.tails import Tails

__all__ = [
    "DAY",
    "N_LOOKS",
    "PAST_ROWS",
    "QUESTIONS",
    "TAILED_QUESTIONS",
    "UTC_CALENDAR",
    "WEEK",
    "Calendar",
    "LoudColumns",
    "Loudest",
    "Question",
    "Recent",
    "Seasons",
    "Tails",
    "Usual",
    "VariableQuestions",
    "VariableState",
    "describe_seasons",
]
