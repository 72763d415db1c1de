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

    # ---- What the reference must offer
    # Observations of a variable, and rows of the reference, below which nothing is judged. A new
    # variable can then be compared or followed; questions are asked of it after twice as many.
    min_observations: int = 32
    # Share of the reference that evidences are fitted on to score the rest, which is their null,
    # and that seasons are fitted on to be confirmed by the rest.
    fitted_share: float = 0.6

    # ---- Values and windows of whole rows
    # Limit of scaled values in evidences, in spreads, so that one wild value does not decide.
    clip: float = 10.0
    # Rows of a window: at most max_window, and few enough for the reference to have rows_per_entry
    # rows for each entry of a window (variables x rows). Longer windows gave no gain.
    max_window: int = 8
    rows_per_entry: int = 2

    # ---- Roles: the columns that outlive the members of a service
    # A label names members if this share of its variables came or went in the reference, and if it
    # has at least fine_label_share as many values as the label with the most.
    replaced_share: float = 0.2
    fine_label_share: float = 0.5

    # ---- Successors: variables that continue under another name
    # Common beginning and end of the names, as a share of the shorter name.
    alike_share: float = 0.5
    # Values continue if their quantiles differ by no more than those of consecutive spans of the
    # reference do in this share of cases.
    continues_share: float = 0.95

    # ---- Evidences: questions asked of whole rows
    # Lower limit for the usual squared residual of a variable. Without it, variables that hardly
    # move would decide alone.
    min_residual: float = 1e-3
    # Length of the slow level in windows.
    slow_windows: int = 2
    # Share of the variance that principal components explain, and the ridge on their values, which
    # leaves a residual where they would explain everything.
    explained_share: float = 0.9
    ridge: float = 0.01
    # Usual largest change of a variable: this quantile of its changes, but at least this many
    # spreads.
    jump_quantile: float = 0.99
    jump_spreads: float = 0.05
    # Newcomers: limit of their squared distances, and lower limit for the usual one.
    max_newcomer_square: float = 25.0
    min_newcomer_square: float = 0.5

    # ---- Nulls of the evidences, and their tail
    # In scores, surprises are capped at log(this x rows of the null).
    rows_beyond_null: float = 100.0
    # Assumed mean excess of the tail of the joined surprise: a power law of index 7, as a mean over
    # evidences has a thinner tail than a variable.
    system_excess: float = 0.15

    # ---- Tails of single variables
    # Share of the reference observations in the tail on either side.
    tail_share: float = 0.05
    # Assumed index of a power law in logarithmic distance, and the episodes that it counts for.
    tail_index: float = 4.0
    prior_episodes: float = 8.0
    # Where many tails are similar, their mean counts for 1 episode per this many tails.
    tails_per_episode: int = 8
    # Episodes added to the weight of every tail.
    trusted_episodes: float = 4.0
    # Steepest index; distance beyond the start of a tail up to which surprise grows.
    max_tail_index: float = 12.0
    max_tail_distance: float = 4.0
    # Within this logarithmic distance of the farthest reference value, a value was seen before.
    seen_distance: float = 0.1
    # Lower limit for the spread of a statistic, as a share of the spread of the values.
    min_spread_share: float = 0.1

    # ---- Questions asked of single variables
    # The relation is asked of a variable if the others leave less than this share unexplained.
    unexplained_share: float = 0.1
    # A variable can freeze if more than this share of its observations are distinct.
    distinct_share: float = 0.5

    # ---- Seasons
    # Periods that the reference must cover; rows per slot; most slots of a period.
    min_periods: int = 3
    rows_per_slot: int = 8
    max_slots: int = 336
    # A season is used if in the last part of the reference it leaves less than this share of the
    # mean deviation; of two, the one that leaves less.
    max_left: float = 0.9
    # Without dates: smallest autocorrelation of a period, and how near to the best a shorter one
    # must be.
    min_correlation: float = 0.5
    close_to_best: float = 0.85

    # ---- Silence
    # Share of the rows in which a usual variable is observed; rows until it counts as silent.
    resident_share: float = 0.9
    silent_rows: int = 2
    # Share, and number, of usual variables whose silence is certain trouble.
    silent_share: float = 0.2
    min_silent_variables: int = 3

    # ---- The decision
    # Rate below which a row costs budget. It is above the default rate of alerts, so that near
    # misses count.
    loud_rate: float = 3e-3
    # An open alert stays open up to a rate this many times higher.
    release_factor: float = 10.0
    # A column loud in this many more rows than quiet has a new normal: the mean of its latest rows,
    # as many. The median that the system's surprise is compared with is of twice as many rows.
    lasting_rows: int = 200
    # Quiet rows after which an alert ends. Variables silent for longer did not just fall silent.
    calm_rows: int = 20
    # Rows in which the cost of an alert halves.
    budget_half_life_rows: float = 20_000.0
    # A row is an echo if fewer than 1 in this many of its loudest columns show the trouble.
    columns_per_shown: int = 8

    # ---- Scores
    # Rows over which a surprise is held in scores.
    held_rows: int = 25
    # Weight of the mean surprise of the loudest variables in the score, and how many these are.
    loudest_weight: float = 0.1
    n_loudest: int = 3

    # ---- Causes
    # Weights of the evidences, of variables that are loud by themselves, and of movements.
    evidence_weight: float = 0.5
    loud_weight: float = 2.0
    movement_weight: float = 1.0
    # Causes are looked for in rows with at least this share of the largest loudness, and among
    # columns with at least this share of the loudest column's nats.
    loud_rows_share: float = 0.9
    loud_columns_share: float = 0.5
    # Lower limit for the reach of a variable, as a share of its level.
    min_reach_share: float = 0.01

    @property
    def lasting_rate(self) -> float:
        """Rate below which a row keeps an alert open, and counts towards muting a column."""
        return self.release_factor * self.loud_rate


SETTINGS = Settings()
