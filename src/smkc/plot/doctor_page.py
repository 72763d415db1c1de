"""The doctor's page: whether a detector works on a recording, as one HTML file.

In: a diagnosis. Out: a file that opens anywhere, without network.
"""

from pathlib import Path

import numpy as np

from smkc.doctor import CHURN, KINDS, Diagnosis, Finding, Outcome
from smkc.errors import InputError
from smkc.plot.charts import Chart, line, score_chart
from smkc.plot.page import chart_box, page
from smkc.plot.sections import text
from smkc.plot.wording import percent, span
from smkc.version import VERSION

__all__ = ["doctor_page"]

SIZES = ("small", "medium", "large")

VERDICTS = {
    "yes": ("Yes", "it works on this recording"),
    "partly": ("Partly", "it works, with the limits below"),
    "no": ("No", "it does not work as things are"),
}
MARKS = {
    "no": '<span class="bad">stands in the way</span>',
    "partly": '<span class="bad">limits it</span>',
    "note": "worth knowing",
}


def doctor_page(
    path: str | Path, diagnosis: Diagnosis, *, title: str = "Does smkc work on this recording?"
) -> Path:
    """Write the page and return where it is; an existing file is replaced."""
    charts: dict[str, Chart] = {}
    body = [_headline(title, diagnosis), _findings(diagnosis)]
    if diagnosis.outcomes:
        charts["rates"] = _rate_chart(diagnosis)
        charts["score"] = score_chart(
            diagnosis.times, diagnosis.scores, diagnosis.threshold, [], []
        )
        body += [
            _caught(diagnosis),
            _rates(charts["rates"]),
            _false_alarms(diagnosis),
            _score(charts["score"], diagnosis),
        ]
    body += [
        _glossary(diagnosis),
        f"<footer>Made by smkc {text(VERSION)}. This page needs no network.</footer>",
    ]
    return _write(Path(path), page(title, "".join(body), charts))


def _headline(title: str, diagnosis: Diagnosis) -> str:
    word, meaning = VERDICTS[diagnosis.verdict]
    tiles = [(word, "does it work here?", meaning, diagnosis.verdict != "yes")]
    if diagnosis.untouched is not None:
        large = diagnosis.large
        caught, planted = sum(one.caught for one in large), sum(one.planted for one in large)
        delays = [one.delay for one in large if one.delay is not None]
        worst = max(diagnosis.churn, key=lambda one: one.rate)
        asked = percent(diagnosis.false_alarm_rate)
        tiles += [
            (f"{caught} of {planted}", "large anomalies caught", "all kinds together", False),
            (
                diagnosis.lasting(float(np.median(delays))) if delays else "-",
                "until the alarm",
                "half of those caught are sooner",
                False,
            ),
            (
                percent(diagnosis.untouched.rate),
                "of untouched rows alarm",
                f"{asked} was asked for",
                False,
            ),
            (percent(worst.rate), "at most under churn alone", f"with {worst.kind}", False),
        ]
    cells = "".join(
        f'<p class="card tile{" hot" * is_hot}"><b>{text(number)}</b>'
        f"<span>{text(what)}</span><small>{text(more)}</small></p>"
        for number, what, more, is_hot in tiles
    )
    when = text(span(diagnosis.times[0], diagnosis.times[-1])) if len(diagnosis.times) else ""
    zone = " UTC" if diagnosis.times.dtype.kind == "M" else ""
    tried = (
        f"Learned from the first {diagnosis.n_reference:,} of {diagnosis.n_rows:,} rows, tried on "
        f"{len(diagnosis.scores):,} after them, {when}{zone}."
        if diagnosis.outcomes
        else f"{diagnosis.n_rows:,} rows, {when}{zone}; nothing could be tried."
    )
    return (
        f'<header><h1>{text(title)}</h1><p class="sub">{tried}</p>'
        f'<div class="tiles">{cells}</div></header>'
    )


def _findings(diagnosis: Diagnosis) -> str:
    if not diagnosis.findings:
        return (
            '<section><h2>What to change</h2><p class="card">Nothing stands in the way.</p>'
            "</section>"
        )
    return f"<section><h2>What to change</h2>{''.join(map(_finding, diagnosis.findings))}</section>"


def _finding(one: Finding) -> str:
    return (
        f'<article class="card finding"><h3>{text(_capital(one.problem))}</h3>'
        f'<p class="note">{MARKS[one.weight]}</p>'
        f"<p>{text(_capital(one.evidence))}.</p>"
        f"<p><b>What to do:</b> {text(one.remedy)}.</p></article>"
    )


def _caught(diagnosis: Diagnosis) -> str:
    rows = []
    for kind, about in KINDS.items():
        ones = {one.size: one for one in diagnosis.outcomes if one.kind == kind}
        cells = "".join(_cell(ones.get(size), about.size_words(size)) for size in range(3))
        large = ones.get(2)
        late = "-" if large is None or large.delay is None else diagnosis.lasting(large.delay)
        named = f"{large.named} of {large.explained}" if large and large.explained else "-"
        rows.append(
            f'<tr><td><b>{text(kind)}</b><br><span class="detail">{text(about.story)}</span></td>'
            f'{cells}<td class="when" style="padding-left:14px">{text(late)}</td>'
            f'<td class="when">{text(named)}</td></tr>'
        )
    return (
        "<section><h2>What would be caught</h2>"
        '<p class="note">Anomalies of each kind were planted in copies of the later rows, where '
        f"they were quiet, for {text(diagnosis.lasting(diagnosis.length))} each (a spike shorter). "
        "One is caught if, while it lasts or as long again after it, a row is past the threshold "
        "that was not so before. Delay and first cause are those of the large ones.</p>"
        '<div class="card"><table><tr><th>kind</th><th>small</th><th>medium</th><th>large</th>'
        "<th style='padding-left:14px'>delay</th><th>right variable first</th></tr>"
        f"{''.join(rows)}</table></div></section>"
    )


def _cell(one: Outcome | None, words: str) -> str:
    """Write one cell of the table, the greener the more is caught."""
    if one is None:
        return '<td class="when">-</td>'
    part = round(100 * one.share)
    colour = f"color-mix(in srgb, var(--good) {part // 2}%, transparent)"
    return (
        f'<td class="when" style="background:{colour};padding-left:10px">'
        f'{one.caught} of {one.planted}<br><span class="detail">{text(words)}</span></td>'
    )


def _rates(chart: Chart) -> str:
    return (
        "<section><h2>With another false-alarm rate</h2>"
        '<p class="note">The share of all planted anomalies that is caught, by size, and the share '
        "of untouched rows that alarm, for each rate that may be asked for. The dashed line is "
        "the rate that was used.</p>"
        f'<div class="card">{chart_box("rates", chart, "share caught by false-alarm rate")}</div>'
        "</section>"
    )


def _rate_chart(diagnosis: Diagnosis) -> Chart:
    rates = diagnosis.rates
    lines = []
    for size, colour in enumerate(("--muted", "--planted", "--good")):
        shares = np.array([diagnosis.caught_share(size, at) for at in range(len(rates))])
        dashed = size == 0
        lines.append(
            line(f"{SIZES[size]} caught", shares, colour, has_points=True, is_dashed=dashed)
        )
    alarms = np.array(diagnosis.rate_alarms)
    lines.append(line("untouched rows that alarm", alarms, "--alert", has_points=True))
    return {
        "axis": "log",
        "x": list(rates),
        "along": "rate asked for",
        "height": 300,
        "low": -0.02,
        "high": 1.03,
        "is_share": True,
        "has_legend": True,
        "lines": lines,
        "used": diagnosis.false_alarm_rate,
    }


def _false_alarms(diagnosis: Diagnosis) -> str:
    rows = []
    for one in [*([diagnosis.untouched] if diagnosis.untouched else []), *diagnosis.churn]:
        story = CHURN.get(one.kind, "the later rows as they are")
        rows.append(
            f'<tr><td><b>{text(one.kind)}</b></td><td class="detail">{text(story)}</td>'
            f'<td class="when">{percent(one.rate)}</td><td class="when">{one.episodes:,}</td></tr>'
        )
    return (
        "<section><h2>False alarms</h2>"
        '<p class="note">Nothing was planted here. Churn alone should not alarm; '
        f"{percent(diagnosis.false_alarm_rate)} of the rows may.</p>"
        '<div class="card"><table><tr><th>churn</th><th>what changes</th><th>rows that alarm</th>'
        f"<th>stretches</th></tr>{''.join(rows)}</table></div></section>"
    )


def _score(chart: Chart, diagnosis: Diagnosis) -> str:
    return (
        "<section><h2>Score of the untouched rows</h2>"
        '<p class="note">If a peak here was real trouble, it is no false alarm: good to know '
        "before changing anything.</p>"
        f'<div class="card">{chart_box("score", chart, "score of the untouched rows")}</div>'
        "</section>"
    )


def _glossary(diagnosis: Diagnosis) -> str:
    words = {
        "spread": "The usual scatter of a variable around its middle, robustly estimated; of its "
        "rate, for a counter.",
        "variables struck": "A tenth of those observed at the time, where sizes are in spreads.",
        "relation": "Values are replaced by the variable's own of another time; only tried where "
        "variables move together.",
        "false-alarm rate": "The share of normal rows that may be past the threshold.",
        "detector": ", ".join(f"{key} = {value}" for key, value in diagnosis.settings.items()),
    }
    rows = "".join(f"<dt>{text(word)}</dt><dd>{text(what)}</dd>" for word, what in words.items())
    return f'<section><h2>How to read this</h2><div class="card"><dl>{rows}</dl></div></section>'


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _write(target: Path, content: str) -> Path:
    """Write the whole file or nothing."""
    draft = target.with_name(f".{target.name}.draft")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(content, "utf-8", newline="\n")
        draft.replace(target)
    except OSError as error:
        raise InputError(
            f"cannot write {target}: {error.strerror}; choose another place"
        ) from error
    return target
