"""The picture of the cause benchmark: Avg@5 by variable, one panel per cut.

In: the table. Out: a matplotlib figure. Importing this module does not import matplotlib.
"""

from typing import TYPE_CHECKING

from benchmarks.libraries import library
from benchmarks.table import Table
from smkc.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["cause_figure"]

# Colours that are safe for the colour-blind (Okabe and Ito, 2008).
COLOURS = ("#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#999999", "#DDDDDD")
INK = "#1d2733"
PANELS = {
    "the cut at the true time": "metric Avg@5, true time",
    "60 s late": "metric Avg@5, 60 s late",
}
WIDTH = 0.84


def cause_figure(table: Table) -> "Figure":
    """Draw a bar per method and dataset, one panel per cut."""
    if not table.rows:
        raise InputError("no method has run on any dataset; there is nothing to draw")
    figure: Figure = library("matplotlib.figure", "matplotlib").Figure(
        figsize=(10, 6.4), layout="constrained"
    )
    figure.suptitle(
        "How often the responsible variable is among the first five blamed (Avg@5)",
        fontsize=11,
        color=INK,
    )
    methods = list(dict.fromkeys(row.name for row in table.rows))
    step = WIDTH / len(methods)
    for axes, (title, column) in zip(figure.subplots(2, 1), PANELS.items(), strict=True):
        at = table.place(column)
        for number, method in enumerate(methods):
            places, heights = [], []
            for place, group in enumerate(table.groups):
                for row in table.rows_of(group):
                    if row.name == method:
                        places.append(place - WIDTH / 2 + (number + 0.5) * step)
                        heights.append(row.cells[at].value)
            colour = COLOURS[number % len(COLOURS)]
            axes.bar(places, heights, 0.9 * step, color=colour, label=method)
        axes.set_title(title, loc="left", fontsize=9, color=INK)
        axes.set_xticks(range(len(table.groups)), table.groups, fontsize=8)
        axes.set_ylim(0.0, 1.05)
        axes.set_ylabel("Avg@5, variables", fontsize=8)
        axes.tick_params(axis="y", labelsize=8)
        axes.grid(axis="y", color="#eceff2", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8
    )
    return figure
