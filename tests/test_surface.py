"""What users import: the names each room lists are there, in order and explained."""

import importlib
import inspect
import pkgutil

import pytest

import benchmarks
import smkc

# Scripts of their own, some of which need a GPU.
SCRIPTS = ("benchmarks.claims", "benchmarks.speed")

ROOMS = sorted(
    module.name
    for package in (benchmarks, smkc)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.rsplit(".", 1)[1].startswith("_") and not module.name.startswith(SCRIPTS)
)


def rank(name):
    """The linter's order: constants, classes, functions, each by name."""
    return (not name.isupper(), not name[0].isupper(), name)


@pytest.mark.parametrize("name", ["smkc", *ROOMS])
def test_listed_names_exist_in_order(name):
    room = importlib.import_module(name)
    listed = getattr(room, "__all__", [])
    assert list(listed) == sorted(set(listed), key=rank)
    for public in listed:
        assert hasattr(room, public), f"{name}.{public}"


@pytest.mark.parametrize("name", ["smkc", *ROOMS])
def test_what_is_public_is_explained(name):
    room = importlib.import_module(name)
    assert room.__doc__, name
    for public in getattr(room, "__all__", []):
        thing = getattr(room, public)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), f"{name}.{public}"
        if inspect.isclass(thing) and thing.__module__.startswith("smkc"):
            for method, function in vars(thing).items():
                if not method.startswith("_") and callable(function):
                    assert inspect.getdoc(function), f"{name}.{public}.{method}"


def test_the_front_door():
    assert smkc.__all__ == [
        "Alert",
        "Cause",
        "Detector",
        "Diagnosis",
        "Identity",
        "Recording",
        "Scored",
        "WindowScores",
        "diagnose",
        "load",
        "read",
    ]
    assert set(smkc.__all__) <= set(dir(smkc))
    assert dir(smkc) == sorted(dir(smkc))
    assert smkc.__version__
    assert smkc._HOME.keys() == set(smkc.__all__)


def test_an_unknown_name_is_no_surprise():
    with pytest.raises(AttributeError, match="no attribute 'Detektor'"):
        _ = smkc.Detektor
