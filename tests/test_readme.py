"""What the README and other pages say of figures, targets, rooms and defaults is so.

That their code runs is tested by test_pages.
"""

import json
import re
import tomllib
from pathlib import Path

import pytest

import smkc
from smkc.paper import KnnDetector

ROOT = Path(__file__).parents[1]
PAGES = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "results/paper/README.md"),
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def blocks(page: str = "README.md") -> list[tuple[str, str]]:
    """Fenced blocks in order: their language and their content."""
    return BLOCK.findall((ROOT / page).read_text("ascii"))


def shell_lines(page: str = "README.md") -> list[str]:
    lines = [line for kind, text in blocks(page) if kind == "sh" for line in text.splitlines()]
    return [line.partition("#")[0].strip() for line in lines if line.strip()]


def test_the_averages_are_those_that_were_recorded() -> None:
    table = json.loads((ROOT / "results/paper/average.json").read_text())
    rows = table["rows"]
    by_protocol = {
        protocol: {row["name"]: row["cells"][0] for row in rows if row["group"] == protocol}
        for protocol in ("holdout_C", "in_dist_C")
    }
    expected = []
    for name in by_protocol["holdout_C"]:
        cells = [by_protocol[protocol].get(name, {}) for protocol in by_protocol]
        figures = [cell.get(key) for cell in cells for key in ("value", "paper")]
        texts = ["" if figure is None else f"{figure:.3f}" for figure in figures]
        expected.append(" | ".join([name.replace("|", "\\|"), *texts]))
    lines = (ROOT / "docs/results.md").read_text().splitlines()
    heading = "| AUPRC at anomaly rate 0.10 | holdout_C | paper | in_dist_C | paper |"
    first = lines.index(heading) + 2
    assert [line.strip("| ") for line in lines[first : lines.index("", first)]] == [
        line.strip("| ") for line in expected
    ]


def test_the_figures_on_real_data_are_those_that_were_recorded() -> None:
    recorded = json.loads((ROOT / "results/real/main.json").read_text())
    columns = recorded["columns"][:12]  # the last is hostwatch, which is not in the mean
    expected = {
        row["name"]: [f"{cell['value']:.3f}".lstrip("0") for cell in row["cells"][:12]]
        for row in recorded["rows"]
        if row["group"] == "VUS-PR, tsb_ad" and None not in [c["value"] for c in row["cells"][:12]]
    }
    lines = (ROOT / "docs/results.md").read_text().splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("| VUS-PR (tsb_ad) |"))
    assert len(lines[first].split("|")) == len(columns) + 3
    shown = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines[first + 2 : lines.index("", first)]
    ]
    assert len(shown) >= 10
    for name, *figures in shown:
        assert figures == expected[name], name


def test_the_means_over_more_datasets_are_those_that_were_recorded() -> None:
    recorded = json.loads((ROOT / "results/real/more/main.json").read_text())
    means = {
        (row["name"], cell["column"]): f"{cell['value']:.3f}".lstrip("0")
        for row in recorded["rows"]
        for cell in row["cells"]
        if row["group"] == "VUS-PR, tsb_ad" and cell["column"].startswith("mean of")
    }
    lines = (ROOT / "docs/results.md").read_text().splitlines()
    first = next(at for at, line in enumerate(lines) if "results/real/more/main.md" in line)
    ours, knn, z = "smkc evidence", "windowed kNN", "plain z, mean"
    assert re.findall(r"\.\d{3}", " ".join(lines[first : lines.index("", first)])) == [
        means[ours, "mean of 15"],
        means[knn, "mean of 15"],
        means[ours, "mean of 17"],
        means[knn, "mean of 17"],
        means[ours, "mean of 7 of our own"],
        means[z, "mean of 7 of our own"],
    ]


def test_the_figures_on_alerts_are_those_that_were_recorded() -> None:
    recorded = json.loads((ROOT / "results/alerts/summary.json").read_text())
    of_default = next(row for row in recorded["rows"] if row["name"] == "smkc, default")
    value = {cell["column"]: cell["value"] for cell in of_default["cells"]}
    recall = f"{100 * value['recall, mean of 15']:.0f}%"
    false = f"{value['false per 1,000 rows, median of 17']:.1f} false"
    for page, figures in (("README.md", (recall, false)), ("tutorials/false-alarms.md", (false,))):
        text = " ".join((ROOT / ("" if page == "README.md" else "docs") / page).read_text().split())
        for figure in figures:
            assert figure in text, f"{page} does not say {figure!r}, as results/alerts does"


def of_default(path: str) -> dict[str, dict[str, float]]:
    """Return dataset -> column -> value of the default detector in a file of results/alerts."""
    table = json.loads((ROOT / "results/alerts" / path).read_text())
    return {
        row["name"]: {cell["column"]: cell["value"] for cell in row["cells"]}
        for row in table["rows"]
        if row["group"] == "smkc, default"
    }


def test_the_tables_of_our_own_recordings_are_those_that_were_recorded() -> None:
    latest = of_default("datasets.json") | of_default("held_back/datasets.json")
    first = of_default("held_back/first.json")
    rows = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in (ROOT / "results/alerts/README.md").read_text().splitlines()
        if re.match(r" *\| (hostwatch|[a-z]+-[12])", line)
    ]
    assert len(rows) == 4 + 2 * 3
    for name, found, begun, false, *percentages in rows:
        value = (first if name.endswith(", first") else latest)[re.split("[ ,]", name)[0]]
        assert int(found.removesuffix(f" of {value['events']:.0f}")) == value["found"], name
        assert int(begun) == round(value["begun at it"] * value["events"]), name
        assert int(false) == value["false alerts"], name
        columns = ("normal rows alerted", "named first", "among three")
        for column, percentage in zip(columns, percentages, strict=True):
            # Recorded values have three digits: a half may have been rounded to either side.
            shown = float(percentage.removesuffix("%"))
            assert shown == pytest.approx(100 * value[column], abs=0.551), (name, column)


def test_the_figures_with_a_shorter_reference_are_those_that_were_recorded() -> None:
    table = json.loads((ROOT / "results/alerts/shorter_reference.json").read_text())
    text = " ".join((ROOT / "results/alerts/README.md").read_text().split())
    told = text[text.index("**A shorter reference**") :].partition(" - **")[0]
    for row in table["rows"][1:]:
        value = {cell["column"]: cell["value"] for cell in row["cells"]}
        assert f"{value['recall, mean of 15']:.0%}" in told
        assert f"at {value['false per 1,000 rows, median of 17']:.2f}".replace("0.", ".") in told
        assert f"(worst {value['worst']:.1f})" in told
        assert f"{value['R1k, mean']:.2f}".removeprefix("0") in told
    assert f"{value['demo: false']:.0f} false alerts in 20 days" in told


def test_the_share_of_normal_rows_marked_is_that_which_was_recorded() -> None:
    recorded = (ROOT / "results/default_alarms.md").read_text()
    shares = re.findall(r"\*\*all rows\*\* .* ([\d.]+) \|  \|", recorded)
    assert len(shares) == 2  # without churn, and with it
    told = f"marks {float(shares[0]):.1f}% of the rows of real references where .2%"
    assert told in (ROOT / "docs/results.md").read_text()


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    lines = [line for page in ("README.md", "CONTRIBUTING.md") for line in shell_lines(page)]
    targets = [line.split()[1] for line in lines if line.startswith("make ")]
    assert {"docs", "test", "check"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_rooms_are_listed_in_the_order_that_is_linted() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    rooms = [layer.removeprefix("smkc.") for layer in reversed(layers)]
    lines = (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    first = lines.index("| room | holds |") + 2
    cells = [line.split("|")[1] for line in lines[first : lines.index("", first)]]
    told = [room for cell in cells for room in re.findall(r"`(\w+)(?:\.py|/)`", cell)]
    assert sorted(told) == sorted(rooms)
    big = [room for room in told if (ROOT / "src/smkc" / room).is_dir()]
    assert big == [room for room in rooms if room in big]


def test_the_defaults_and_the_version_are_as_told() -> None:
    readme, paper, results = (
        (ROOT / page).read_text() for page in ("README.md", "docs/paper.md", "docs/results.md")
    )
    rate = smkc.Detector().false_alarm_rate
    assert f"false alerts per row that normal data may raise; {rate} by default" in readme
    assert f"{KnnDetector().buckets} buckets per stream by default" in paper
    assert f"`{KnnDetector().representation}`" in paper
    assert f"smkc {smkc.__version__} `Detector`" in results


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_ascii_and_their_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text("ascii")
    for target in LINK.findall(text):
        assert ((ROOT / page).parent / target).exists(), target
