import json

from benchmarks.real.methods import METHODS, STAGES
from benchmarks.real.peers import PEERS


def test_every_peer_has_a_row_and_says_how_it_meets_churn():
    assert set(PEERS) <= {method.name for method in METHODS.values()}
    for key, method in METHODS.items():
        assert key == method.key
        assert method.workaround
        assert set(method.stages) <= set(STAGES)
    assert len({method.name for method in METHODS.values()}) == len(METHODS)


def test_chance_is_declared_where_it_is():
    for method in METHODS.values():
        is_seeded = json.dumps(method.settings(0), default=repr) != json.dumps(
            method.settings(1), default=repr
        )
        assert is_seeded == method.uses_seed, method.name


def test_settings_are_told_with_their_defaults():
    told = METHODS["smkc-knn"].settings(3)
    assert told["settings"]["neighbours"] == 20
    assert told["settings"]["seed"] == 3
    assert not {"epochs", "identity", "learn"} & told["settings"].keys(), "of no use to kNN"
    assert METHODS["smkc-recon"].settings(0)["settings"]["epochs"] == 10
    assert METHODS["windowed-knn"].settings(0)["reference_size"] == 4000


def test_rows_of_the_registry_and_of_the_library_are_the_same_method():
    for key in ("randproj-knn", "smkc-knn"):
        method = METHODS[key]
        assert method.make(2).settings == PEERS[method.name](2).settings


def test_quick_ones_leave_out_what_compiles_or_trains():
    quick = {method.key for method in METHODS.values() if method.is_quick}
    assert set(METHODS) - quick == {"stumpy", "smkc-recon", "smkc-ens"}
