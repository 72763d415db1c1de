"""The rows of the tables: all of the paper's are there, by its names."""

import pytest

from benchmarks.paper.methods import ABLATIONS, METHODS, SCALING_METHODS, TUNED_ABLATIONS
from benchmarks.paper.reported import reported_rows
from smkc.paper.kernel import Representation


def test_every_row_of_the_paper_is_there():
    ours = {method.name for method in METHODS.values()}
    assert set(reported_rows("average", "holdout_C")) <= ours
    assert {"TranAD(gseq)", "USAD(gseq)", "LOF(stats)", "OneClassSVM(stats)"} <= ours
    scaled = [method.name for method in SCALING_METHODS.values()]
    assert scaled == list(reported_rows("scaling"))
    ablated = [method.name for method in ABLATIONS.values()]
    assert ablated == list(reported_rows("ablation"))
    tuned = [method.name for method in TUNED_ABLATIONS.values()]
    assert tuned == [*ablated, "full_tokens_float32", "no_expected_errors"], "two are ours"


def test_dimensions_are_the_papers():
    from benchmarks.paper.reported import reported

    for method in SCALING_METHODS.values():
        representation = Representation.parse(method.representation)
        assert representation.n_features(64, 256) == reported("scaling", method.name, "feature_dim")


def test_costs_are_the_papers():
    from benchmarks.paper.reported import reported
    from benchmarks.paper.scaling import relative_cost

    for method in SCALING_METHODS.values():
        cost = relative_cost(Representation.parse(method.representation), 64)
        assert cost == pytest.approx(reported("scaling", method.name, "relative_cost"), abs=6e-5)
