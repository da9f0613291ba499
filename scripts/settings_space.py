"""The space of settings of the calibrated score that `choose_settings.py` searches."""

import random
from functools import cache
from typing import Union

from spacy_mcse.settings import ScoreSettings


def _tenths(first: int, last: int) -> tuple[float, ...]:
    return tuple(n / 10 for n in range(first, last + 1))


# The space: few numbers, and round ones. "missing" and "wrong" scale COSTS. A family
# joins near concepts that are yet different findings: above 0.7 the radiologists agree
# no better beyond noise, and reports with different labels come nearer each other.
GRID: dict[str, tuple[float, ...]] = {
    "devices": _tenths(0, 10),
    "family": _tenths(0, 7),
    "related": _tenths(0, 10),
    "min_similarity": _tenths(2, 6),
    "urgent": (1.0, 1.5, 2.0, 3.0),
    "minor": _tenths(3, 10),
    "expected": _tenths(1, 10),
    "uncertain": _tenths(5, 10),
    "missing": (0.5, 1.0, 1.5, 2.0),
    "wrong": (0.5, 0.75, 1.0, 1.25, 1.5),
}
# What an attribute costs that one report leaves out, and that differs.
COSTS = {
    "side": (0.2, 0.6),
    "location": (0.1, 0.4),
    "severity": (0.1, 0.5),
    "size": (0.05, 0.4),
    "quality": (0.05, 0.15),
    "change": (0.02, 0.05),
    "count": (0.03, 0.1),
}
# Values that spare a number: all findings weigh the same, only the word lists say
# which concepts are near (and these half), and the rest is left as it was.
# "expected" is plain where it is as "minor".
PLAIN: dict[str, tuple[float, ...]] = {
    "devices": (0.0, 1.0),
    "family": (0.0, 0.5),
    "related": (0.0,),
    "min_similarity": (0.3,),
    "urgent": (1.0,),
    "minor": (1.0,),
    "uncertain": (0.8,),
    "missing": (1.0,),
    "wrong": (1.0,),
}
# A point of the space: its values in the order of GRID.
Point = tuple[float, ...]
# Settings may be named by their point.
Choice = Union[Point, ScoreSettings]


def is_valid(point: Point) -> bool:
    """Whether what is more urgent never weighs less, and wrong costs more than missing.

    A side that differs must cost more than one that is left out, and so must the rest.
    """
    at = dict(zip(GRID, point, strict=True))
    return at["expected"] <= at["minor"] <= 1.0 <= at["urgent"] and all(
        at["wrong"] * wrong > at["missing"] * missing
        for missing, wrong in COSTS.values()
    )


@cache
def settings_of(point: Choice) -> ScoreSettings:
    """The settings of a valid point; other settings stay as they are."""
    if isinstance(point, ScoreSettings):
        return point
    at = dict(zip(GRID, point, strict=True))
    values = {name: at[name] for name in GRID if name not in ("missing", "wrong")}
    for kind, (missing, wrong) in COSTS.items():
        values[f"{kind}_missing"] = round(1 - at["missing"] * missing, 3)
        values[f"{kind}_wrong"] = round(1 - at["wrong"] * wrong, 3)
    weights = {at["urgent"], at["minor"], at["expected"]}
    return ScoreSettings(**values, significance=weights != {1.0})


def draw(number: int, seed: int) -> list[Point]:
    """Valid points drawn at random, half of their values plain ones."""
    rng = random.Random(seed)
    drawn: dict[Point, None] = {}
    while len(drawn) < number:
        at = {
            name: rng.choice(rng.choice((values, PLAIN.get(name, values))))
            for name, values in GRID.items()
        }
        if rng.random() < 0.5:
            at["expected"] = at["minor"]
        point = tuple(at.values())
        if is_valid(point):
            drawn[point] = None
    return list(drawn)


def moved(point: Point, **values: float) -> Point:
    """A point with other values."""
    return tuple({**dict(zip(GRID, point, strict=True)), **values}.values())


def neighbours(point: Point) -> list[Point]:
    """Points one step away in one value, and those with one value made plain."""
    found = plainer(point)
    for name, value in zip(GRID, point, strict=True):
        place = GRID[name].index(value)
        for step in GRID[name][max(place - 1, 0) : place + 2]:
            found.append(moved(point, **{name: step}))
    return [one for one in dict.fromkeys(found) if one != point and is_valid(one)]


def plainer(point: Point) -> list[Point]:
    """Points with one number fewer."""
    at = dict(zip(GRID, point, strict=True))
    found = [moved(point, **{name: v}) for name, vs in PLAIN.items() for v in vs]
    if at["expected"] == at["minor"]:
        found += [moved(point, minor=1.0, expected=1.0)]
    found += [moved(point, expected=at["minor"])]
    return [one for one in found if is_valid(one) and numbers(one) < numbers(point)]


def numbers(point: Point) -> int:
    """How many numbers of a point are not plain."""
    at = dict(zip(GRID, point, strict=True))
    return sum(at[name] not in PLAIN[name] for name in PLAIN) + (
        at["expected"] != at["minor"]
    )
