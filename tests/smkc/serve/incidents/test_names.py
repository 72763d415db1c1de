from dataclasses import replace

from tests.smkc.serve.incidents.parts import alert, cause

from smkc.serve.incidents.names import (
    TOGETHER_MILLISECONDS,
    Dependencies,
    aliases,
    names_of,
    place_of,
    shown,
)

NOTHING = Dependencies({})
TABLE = {"web": ["shop"], "shop": ["postgres", "redis"], "postgres": ["disk"], "disk": ["postgres"]}


def test_an_alert_has_its_lane_and_the_variables_and_places_of_its_causes():
    one = alert("shop/cart", 0, 60, 'errors{pod="a",service="cart-api",node="n1"}')
    assert set(shown(names_of(one, NOTHING))) == {
        "cart",
        "cart-api",
        "n1",
        'errors{pod="a",service="cart-api",node="n1"}',
    }
    assert place_of(one) == "cart-api"


def test_what_many_lanes_have_anyway_is_no_common_name():
    """A split watch and a job are common to lanes that have nothing to do with each other."""
    one = alert("hosts/a", 0, 60, 'load{job="node"}')
    assert set(shown(names_of(one, NOTHING))) == {"a", 'load{job="node"}'}
    assert place_of(one) == "node"
    assert aliases(one) == {"hosts", "a", "node"}
    assert names_of(one, Dependencies({"shop": ["node"]})) >= {"node"}
    assert "hosts" in names_of(one, Dependencies({"hosts": ["switch"]}))


def test_an_unsplit_watch_is_a_lane():
    assert "postgres" in names_of(alert("postgres", 0, 60), NOTHING)


def test_small_causes_do_not_count_unless_there_is_no_other():
    small = (cause("a", 0.5), cause("b", 0.1), cause('c{service="x"}', 0.09))
    one = replace(alert("shop/cart", 0, 60), causes=small)
    assert set(shown(names_of(one, NOTHING))) == {"cart", "a", "b"}
    assert names_of(replace(one, causes=small[2:]), NOTHING) >= {"x"}
    none = replace(one, causes=())
    assert (names_of(none, NOTHING), place_of(none)) == ({"cart"}, "")


def test_dependencies_reach_through_others_and_may_go_in_a_circle():
    dependencies = Dependencies(TABLE)
    assert dependencies.of(["web"]) == {"shop", "postgres", "redis", "disk"}
    assert dependencies.of(["disk"]) == {"postgres", "disk"}
    assert dependencies.of(["redis", "nobody"]) == set()
    assert set(shown(names_of(alert("shop/cart", 0, 60), dependencies))) == {
        "cart",
        "only_shop_cart",
        "shop",
        "postgres",
        "redis",
        "disk",
    }


def test_a_name_that_is_not_a_variable_of_prometheus_does_no_harm():
    one = alert("shop/cart", 0, 60, 'odd{"}')
    assert set(shown(names_of(one, NOTHING))) == {"cart", 'odd{"}'}


def test_variables_of_a_split_watch_relate_only_what_begins_together():
    """Without the label of the entity, the load of one machine is called as that of another."""

    def common(first, second, later_ms):
        one, other = alert(first, 0, 600, "load"), alert(second, 0, 600, "load")
        other = replace(other, start=one.start + later_ms)
        return shown(names_of(one, NOTHING) & names_of(other, NOTHING))

    assert common("hosts/a", "hosts/b", TOGETHER_MILLISECONDS) == ["load"]
    assert common("hosts/a", "hosts/b", 2 * TOGETHER_MILLISECONDS) == []
    assert common("one", "another", 2 * TOGETHER_MILLISECONDS) == ["load"]
