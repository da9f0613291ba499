"""Ribs and vertebrae by number: "left 4th through 7th ribs", "T7-T9", "rib 8".

Each rib and each vertebra is a place of its own, in one form whatever the wording:
"rib 4", "t8". A range is all of its members, so that "ribs 4-6" and "4th, 5th and 6th
ribs" are the same three places.
"""

import re
from functools import lru_cache
from typing import NamedTuple, Optional

from .measures import is_hyphenated
from .reading import Reading

_VERTEBRA = re.compile(r"^([ctls])(\d{1,2})$")
_SPINE = [
    f"{region}{number}"
    for region, last in (("c", 7), ("t", 12), ("l", 5), ("s", 5))
    for number in range(1, last + 1)
]
_SPINE_PLACE = {name: place for place, name in enumerate(_SPINE)}
_LAST_RIB = 12
_ORDINAL = re.compile(r"^(\d{1,2})(?:st|nd|rd|th)$")
_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)
_ORDINAL_WORDS = {word: number for number, word in enumerate(_ORDINALS, start=1)}
_RANGES = frozenset(("to", "through", "thru"))
_LISTS = frozenset(("and", "or", ",", "/", "&"))
_BEFORE_NUMBER = frozenset(("number", "numbers", "#", "no"))
_RIB = "rib"
# How many describing words may stand between a number and its rib, and how many
# words a list of levels may take.
_MAX_BETWEEN = 3
_MAX_LEVELS = 24


class Level(NamedTuple):
    """words[start:end] name a rib or vertebra, alone or as a member of a range."""

    value: str
    start: int
    end: int


class _Number(NamedTuple):
    """A level as written: the region of the spine, '' for a rib or bare number."""

    region: str
    number: int
    is_ordinal: bool


def read_levels(
    reading: Reading, at: int, end: int, of_ribs: bool = False
) -> Optional[tuple[int, list[Level]]]:
    """Read the ribs or vertebrae whose list begins at a word.

    reading (Reading): The marked words.
    at (int): The word where it must begin.
    end (int): No word from this one on is read, but for the noun "ribs".
    of_ribs (bool): Ribs are spoken of, so that bare numbers are ribs.
    RETURNS (Optional[tuple]): The word after the list and its levels in text order.
    """
    if at >= end:
        return None
    lower = reading.words.lower
    start = at
    if not of_ribs and _RIB in reading.words.forms[at]:
        of_ribs = True
        at += 1
        while at < end and lower[at] in _BEFORE_NUMBER:
            at += 1
    if at >= end or not lower[at][-1:].isalnum():
        return None
    first = _level(lower[at], "")
    if first is None:
        return None
    parts = [(first, at, at + 1)]
    ranges: set[int] = set()  # parts that end a range
    at += 1
    while at < end and len(parts) < _MAX_LEVELS:
        after, joins_range = _after_join(reading, at, end)
        following = _level(lower[after], first.region) if after < end else None
        if (
            after < 0
            or following is None
            or bool(following.region) != bool(first.region)
        ):
            break
        if joins_range:
            ranges.add(len(parts))
        parts.append((following, after, after + 1))
        at = after + 1
    if not first.region and not of_ribs:
        ordinal = any(part.is_ordinal for part, _, _ in parts)
        one_side = start > 0 and "side" in reading.kinds(start - 1)
        if not (ordinal or (ranges and one_side)) or not _rib_follows(reading, at):
            return None
    return at, _members(parts, ranges)


def levels_start(reading: Reading, at: int, floor: int) -> int:
    """The first word of the list of levels that ends with a word.

    RETURNS (int): `at` itself where no list ends with it.
    """
    if _level(reading.words.lower[at], "") is None:
        return at
    for start in range(max(floor, at - _MAX_LEVELS), at):
        found = read_levels(reading, start, at + 1)
        if found is not None and found[0] == at + 1:
            return start
    return at


def follows_ribs(reading: Reading, at: int) -> bool:
    """Whether a number at a word would be that of a rib: "rib fractures (4-7)"."""
    words = reading.words
    before = at - 1
    if at >= len(words) or _level(words.lower[at], "") is None:
        return False
    while before >= 0 and (
        words.lower[before] == "("
        or (words.lower[before] == "," and is_ordinal(words.lower[at]))
        or "side" in reading.kinds(before)
        or reading.is_class(before, "place_preposition")
    ):
        before -= 1
    term = reading.term_of[before] if before >= 0 else None
    return term is not None and any(
        _RIB in words.forms[word] for word in range(term.start, term.end)
    )


def is_ordinal(text: str) -> bool:
    """Whether a word counts in order: "4th", "fourth"."""
    level = _level(text, "")
    return level is not None and level.is_ordinal


@lru_cache(maxsize=10_000)
def _level(text: str, region: str) -> Optional[_Number]:
    """A word as a level; a bare number is one of the region in front: "T7-9"."""
    if text.isdecimal():
        number = int(text)
        if region:
            is_known = f"{region}{number}" in _SPINE_PLACE
            return _Number(region, number, False) if is_known else None
        return _Number("", number, False) if 0 < number <= _LAST_RIB else None
    spine = _VERTEBRA.match(text)
    if spine is not None:
        known = text in _SPINE_PLACE
        return _Number(spine[1], int(spine[2]), False) if known else None
    ordinal = _ORDINAL.match(text)
    number = int(ordinal[1]) if ordinal is not None else _ORDINAL_WORDS.get(text, 0)
    return _Number("", number, True) if 0 < number <= _LAST_RIB else None


def _after_join(reading: Reading, at: int, end: int) -> tuple[int, bool]:
    """The word after a join, and whether it makes a range; -1 for no join."""
    lower = reading.words.lower
    if is_hyphenated(reading, at):
        return at, True
    if lower[at] in _RANGES and at + 1 < end:
        return at + 1, True
    after = at
    while after < end and lower[after] in _LISTS:
        after += 1  # ", and"
    return (after, False) if at < after < end else (-1, False)


def _rib_follows(reading: Reading, at: int) -> bool:
    """Whether the noun of a list of numbers is "ribs": "4th [lateral] rib"."""
    words = reading.words
    for behind in range(at, min(at + _MAX_BETWEEN + 1, len(words))):
        if _RIB in words.forms[behind]:
            return True
        if not reading.kinds(behind) & {"side", "location", "quality"}:
            return False
    return False


def _members(parts: list[tuple[_Number, int, int]], ranges: set[int]) -> list[Level]:
    found: list[Level] = []
    for index, (level, start, end) in enumerate(parts):
        place = _place(level)
        if index in ranges and found:
            before, first, _ = parts[index - 1]
            found.pop()
            found += [
                Level(_name(level, member), first, end)
                for member in range(_place(before), place + 1)
            ] or [Level(_name(level, place), start, end)]
        else:
            found.append(Level(_name(level, place), start, end))
    return found


def _place(level: _Number) -> int:
    if level.region:
        return _SPINE_PLACE[f"{level.region}{level.number}"]
    return level.number


def _name(level: _Number, place: int) -> str:
    return _SPINE[place] if level.region else f"{_RIB} {place}"
