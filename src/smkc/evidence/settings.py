"""The numbers that shape what the default detector finds, all in one place.

In: nothing. Out: one frozen object, :data:`SETTINGS`. Limits that only bound memory or time, such
as how many names are remembered, stand beside the code that they bound.

None of these is meant to be set by users. Each was chosen on labelled recordings; docs/decisions.md
tells how, what leaving a part out costs, and what else was tried. ``python -m benchmarks alerts
--methods default --variants calm_rows=10`` measures what another value does on every recording.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of the default detector.

    Rows are time steps. Shares are between 0 and 1. Spreads are robust standard deviations of a
    variable in the reference. Nats are minus the natural logarithm of a p-value.
    """

    # ---- Words that have a number
    # Most of something; nearly all of it; a share of the variables that does not come or go by
    # chance; a difference that does not matter; a share that is mere rounding.
    majority: float = 0.5
    nearly_all: float = 0.9
    large_share: float = 0.2
    same_share: float = 0.05
    tiny_share: float = 0.01

    # ---- What the reference must offer
    # Observations of a variable, and rows of the reference, below which nothing is judged. A new
    # variable can then be compared or followed; questions are asked of it after twice as many.
    min_observations: int = 32
    # Share of the reference that evidences are fitted on to score the rest, which is their null,
    # and that seasons are fitted on to be confirmed by the rest.
    fitted_share: float = 0.6
    # Periods of a season that the reference must cover, and rows of each slot of it.
    min_periods: int = 3

    # ---- Values and windows of whole rows
    # Limit of scaled values in evidences, in spreads, so that one wild value does not decide.
    clip: float = 10.0
    # Rows of a window: at most window_rows, and few enough for the reference to have rows_per_entry
    # rows for each entry of a window (variables x rows). Longer windows gave no gain.
    window_rows: int = 8
    rows_per_entry: int = 2
    # Length of slow and long means, in windows of window_rows.
    slow_windows: int = 2
    # Quantile of its changes that is the usual largest change of a variable.
    jump_quantile: float = 0.99

    # ---- Nulls of the evidences, and their tail
    # In scores, surprises are capped at log(this x rows of the null).
    rows_beyond_null: float = 100.0
    # Assumed mean excess of the tail of the joined surprise: a power law of index 7, as a mean over
    # evidences has a thinner tail than a variable.
    system_excess: float = 0.15

    # ---- Tails of single variables
    # Share of the reference observations in the tail on either side.
    tail_share: float = 0.05
    # Assumed index of a power law in logarithmic distance, and the episodes that it counts for. No
    # tail is steeper than twice that.
    tail_index: float = 4.0
    prior_episodes: float = 8.0
    # Episodes added to the weight of every tail.
    trusted_episodes: float = 4.0
    # Distance beyond the start of a tail up to which surprise grows.
    max_tail_distance: float = 4.0

    # ---- Silence
    # Rows until a usual variable counts as silent; number of them whose silence is certain trouble,
    # if they are a large share.
    silent_rows: int = 2
    min_silent_variables: int = 3

    # ---- The decision
    # Rate below which a row costs budget. It is above the default rate of alerts, so that near
    # misses count.
    loud_rate: float = 3e-3
    # Rate below which a row of a column counts towards its new normal, and keeps the cost of an
    # alert open.
    lasting_rate: float = 3e-2
    # A column loud in this many more rows than quiet has a new normal: the mean of its latest rows,
    # as many. The median that the system's surprise is compared with is of twice as many rows.
    lasting_rows: int = 200
    # Quiet rows after which an alert ends, and rows over which a surprise is held in scores.
    # Variables silent for longer did not just fall silent.
    calm_rows: int = 25
    # Rows in which the cost of an alert halves.
    budget_half_life_rows: float = 20_000.0
    # Weight of the surprise of the loudest variable in the score.
    loudest_weight: float = 0.15

    # ---- Causes
    # Weights of the evidences, and of variables that are loud by themselves; movements have 1.
    evidence_weight: float = 0.5
    loud_weight: float = 2.0


SETTINGS = Settings()
