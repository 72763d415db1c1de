from dataclasses import replace

from tests.smkc.serve.incidents.parts import alert, cause

from smkc.serve.incidents.names import Dependencies
from smkc.serve.incidents.story import EARLY_MILLISECONDS, story_of

TABLE = Dependencies({"web": ["shop"], "shop": ["postgres", "redis"]})
NOTHING = Dependencies({})


def told(alerts, dependencies=TABLE):
    """Return who is blamed, and why."""
    story = story_of(sorted(alerts, key=lambda one: (one.start, one.id)), dependencies)
    return story.blamed, story.reason


def test_the_timeline_says_what_moved_first_and_what_those_after_it_share():
    first = alert("web", 0, 600, 'latency{service="web"}')
    second = alert("shop/cart", 30, 600, "x")
    third = alert("hosts/a", 90, None, "x")
    steps = story_of([first, second, third], TABLE).timeline
    assert [step.alert.id for step in steps] == [first.id, second.id, third.id]
    assert [step.after for step in steps] == [0, 30_000, 90_000]
    assert [step.place for step in steps] == ["web", "", ""]
    assert [step.shared for step in steps] == [(), ("postgres", "redis", "shop"), ("x",)]


def test_the_deepest_dependency_is_blamed_though_others_alerted_before_it():
    web, shop = alert("web", 0, 600), alert("shop/cart", 15, 600)
    database = alert("postgres", 45, 600)
    assert told([web, shop, database]) == (
        database,
        "web and shop / cart depend on it, and it alerted 45s after the first",
    )
    assert told([web, shop]) == (
        shop,
        "web depends on it, and it alerted 15s after the first",
    )


def test_a_dependency_is_known_by_the_place_of_its_cause():
    shop = alert("shop/cart", 0, 600)
    database = alert("hosts/h7", 15, 600, 'locks{job="postgres"}')
    assert told([shop, database])[0] == database


def test_a_dependency_that_alerted_long_after_is_not_blamed():
    late = EARLY_MILLISECONDS // 1000 + 15
    shop, database = alert("shop/cart", 0, 900), alert("postgres", late, 900)
    blamed, reason = told([shop, database])
    assert blamed == shop
    assert reason.startswith("it alerted first, 315s before the next")


def test_without_dependencies_the_first_to_move_is_blamed():
    first, second = alert("a", 0, 600), alert("b", 15, 600)
    assert told([first, second], NOTHING) == (
        first,
        "it alerted first, 15s before the next, and no known dependency alerted within 5m",
    )


def test_of_those_that_moved_together_the_one_with_the_largest_share_is_blamed():
    first = replace(alert("a", 0, 600), causes=(cause("x", 0.4),))
    second = replace(alert("b", 0, 600), causes=(cause("y", 0.7),))
    third = replace(alert("c", 15, 600), causes=())
    blamed, reason = told([first, second, third], NOTHING)
    assert blamed == second
    assert reason.startswith("it alerted first, together with 1 other, and")


def test_one_alert_is_to_blame_for_itself():
    one = alert("a", 0)
    assert told([one]) == (one, "it is the only one that alerted")


def test_a_circle_of_dependencies_blames_the_first_in_it():
    circle = Dependencies({"a": ["b"], "b": ["a"]})
    first, second = alert("a", 0, 600), alert("b", 15, 600)
    assert told([second, first], circle)[0] == first


def test_many_dependents_are_counted():
    clients = [alert(f"shop/{name}", 0, 600) for name in "abcde"]
    _, reason = told([*clients, alert("postgres", 0, 600)])
    assert reason.startswith("shop / ")
    assert " and 2 more depend on it, and it alerted first, together with 5 others" in reason


def test_a_lane_does_not_depend_on_itself():
    """The table says that all of the shop depends on the database, which is a part of it."""
    table = Dependencies({"shop": ["postgres"]})
    parts = [alert("shop/cart", 0, 60), alert("shop/postgres", 15, 60)]
    again = alert("shop/postgres", 200, 260)
    assert told([*parts, again], table) == (
        parts[1],
        "shop / cart depends on it, and it alerted 15s after the first",
    )
