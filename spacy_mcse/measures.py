"""Measures in a report, in millimetres."""

import re
from typing import Optional

from .reading import Reading

MM_PER_UNIT = {
    **dict.fromkeys(
        ["mm", "mms", "millimeter", "millimetre", "millimeters", "millimetres"], 1.0
    ),
    **dict.fromkeys(
        ["cm", "cms", "centimeter", "centimetre", "centimeters", "centimetres"], 10.0
    ),
}
TIMES = frozenset(("x", "by", "×"))
_RANGE = frozenset(("to", "-", "–"))
_BOTH = frozenset(("and", "or"))
_HYPHENS = ("-", "‐", "‑", "–", "−")
_MAX_MEASURES = 6
# "~5", ".5", "1,2"; the second: "12x9" as one word.
_NUMBER = re.compile(r"^[~<>≤≥]?(\d+(?:[.,]\d+)?|[.,]\d+)$")
_PRODUCT = re.compile(r"^\d+(?:[.,]\d+)?(?:[x×]\d+(?:[.,]\d+)?){1,2}$")
# How many words "increased in size from" and a measure may take.
_LONGEST_CHANGE = 5
_LONGEST_MEASURE = 6


def is_number(text: str) -> bool:
    """Whether a word is a number in digits: "12", "1.2", "1,2", "~5"."""
    return text[-1:].isdecimal() and _NUMBER.match(text) is not None


def is_hyphenated(reading: Reading, at: int) -> bool:
    """Whether a hyphen joins a word to the one before it: "4-5"."""
    words = reading.words
    if at == 0:
        return False
    if words.tokens[at] == words.tokens[at - 1]:
        return True  # cut there
    between = words.text[words.ends[at - 1] : words.starts[at]]
    return between.strip() in _HYPHENS


def read_size(reading: Reading, at: int, end: int) -> Optional[tuple[int, list[float]]]:
    """Read a measure that begins at a word: "12 x 9 mm", "1.2 cm", "4 to 5 mm".

    A range is read as its two ends; of something that has changed "from 5 mm to 8 mm"
    only what it is now is read.

    reading (Reading): The marked words.
    at (int): The word where it must begin.
    end (int): No word from this one on is read.
    RETURNS (Optional[tuple]): The word after it and the measures in millimetres.
    """
    lower = reading.words.lower
    start = at
    measures: list[tuple[float, float]] = []  # a number and its unit, 0 for none yet
    range_end = 0  # where in `measures` the second end of a range begins
    while at < end and len(measures) < _MAX_MEASURES:
        numbers = _numbers(lower[at])
        if not numbers:
            break
        at += 1
        unit = MM_PER_UNIT.get(lower[at], 0.0) if at < end else 0.0
        measures += [(number, unit) for number in numbers]
        at += unit > 0
        after = _after_join(reading, at, end)
        if after is None:
            break
        if lower[at] not in TIMES:
            if range_end:
                break
            range_end = len(measures)
        at = after
    if not measures:
        return None
    # "12 x 9 mm": the last unit is that of the numbers in front of it too.
    last = measures[-1][1]
    if not last and len(measures) == 1 and at < end and lower[at] in _BOTH:
        following = read_size(reading, at + 1, end)  # "[5] and 7 mm"
        shared = lower[following[0] - 1] if following is not None else ""
        last = MM_PER_UNIT.get(shared, 0.0)
    if not last:
        return None
    sizes = [round(number * (unit or last), 3) for number, unit in measures]
    if _was_so(reading, start):
        return (at, sizes[range_end:]) if range_end else None
    return at, sizes


def after_bounds(reading: Reading, at: int, end: int) -> int:
    """The word after "about", "up to", "greater than" and the like.

    RETURNS (int): `at` itself where none stands there or no measure follows.
    """
    after = at
    while after < end:
        following = reading.after_class(after, end, "measure_bound")
        if following == after:
            break
        after = following
    if after == at or after >= end:
        return at
    return after if read_size(reading, after, end) is not None else at


def is_distance(reading: Reading, at: int, end: int) -> bool:
    """Whether the words after a measure make it a distance: "4 cm above"."""
    return at < end and reading.is_class(at, "distance_word")


def measure_start(reading: Reading, at: int, floor: int) -> int:
    """The first word of the measure in which a word stands.

    RETURNS (int): `at` itself where the word belongs to no measure.
    """
    stop = min(len(reading.words), at + _LONGEST_MEASURE)
    for start in range(max(floor, at - _LONGEST_MEASURE), at + 1):
        size = read_size(reading, start, stop)
        if size is not None and size[0] > at:
            return start
    return at


def in_measure(reading: Reading, at: int) -> bool:
    """Whether a word belongs to a measure: a number, a unit or what joins them."""
    lower = reading.words.lower[at]
    if not (lower[-1:].isdecimal() or lower in MM_PER_UNIT or lower in TIMES):
        return False
    start = measure_start(reading, at, 0)
    return start < at or read_size(reading, at, len(reading.words)) is not None


def _numbers(text: str) -> list[float]:
    if not text[-1:].isdecimal():
        return []
    if is_number(text):
        return [_number(text.lstrip("~<>≤≥"))]
    if _PRODUCT.match(text) is not None:
        return [_number(number) for number in re.split("[x×]", text)]
    return []


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _after_join(reading: Reading, at: int, end: int) -> Optional[int]:
    """The number that a word or hyphen joins to the one before it, None for none."""
    lower = reading.words.lower
    if at < end and _numbers(lower[at]) and is_hyphenated(reading, at):
        return at
    if at + 1 >= end or lower[at] not in TIMES | _RANGE:
        return None
    after = at + 1
    if lower[at] not in TIMES:
        while after < end and reading.is_class(after, "adverb"):
            after += 1  # "to now 8 mm"
    return after if after < end and _numbers(lower[after]) else None


def _was_so(reading: Reading, at: int) -> bool:
    """Whether a measure is what a size was: "increased in size from"."""
    words = reading.words
    before = at - 1
    first = max(0, at - _LONGEST_CHANGE)
    if before < first or words.lower[before] != "from":
        return False
    while before > first:
        before -= 1
        if "change" in reading.kinds(before):
            return True
        if not (
            reading.is_class(before, "size_noun")
            or reading.is_class(before, "preposition")
            or reading.is_class(before, "adverb")
        ):
            return False
    return False
