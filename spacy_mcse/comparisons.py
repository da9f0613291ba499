"""Sides that are compared with each other: "right greater than left"."""

from typing import NamedTuple, Optional

from .phrases import place_end, skip_articles
from .reading import Reading
from .vocabulary import ANATOMY

_THAN = "than"
_SYMBOLS = frozenset((">", "<"))
# Words such as "marked" in "more marked on the right".
_MAX_ADJECTIVES = 2
# How many words the first place may take.
_MAX_PLACE = 10


class Comparison(NamedTuple):
    """Sides that are compared.

    end (int): The word after it.
    places (list): The ranges of words that name the places.
    """

    end: int
    places: list[tuple[int, int]]

    @property
    def names_both(self) -> bool:
        return len(self.places) > 1


def read_comparison(reading: Reading, at: int, end: int) -> Optional[Comparison]:
    """Read a comparison of sides that begins at a word.

    "left lower lobe greater than right", "more on the right than on the left", "worse
    on the left".

    reading (Reading): The marked words.
    at (int): The word where it must begin.
    end (int): No word from this one on is read.
    RETURNS (Optional[Comparison]): None where nothing is compared.
    """
    lower = reading.words.lower
    comparatives = reading.vocabulary.classes["comparative"]
    if comparatives.isdisjoint(lower[at : min(end, at + _MAX_PLACE)]):
        return None  # nearly always
    first = _place(reading, at, end)
    if first is not None:
        at = first[1]
    while at < end and reading.is_class(at, "adverb") and not _compares(reading, at):
        at += 1
    after = reading.after_class(at, end, "comparative")
    if after == at:
        return None
    is_symbol = lower[at] in _SYMBOLS
    at = after
    if first is None:
        for _ in range(_MAX_ADJECTIVES):
            if at < end and _is_adjective(reading, at):
                at += 1
        first = _place(reading, at, end)
        if first is None or is_symbol:
            return None
        at = first[1]
        if not (at < end and lower[at] == _THAN):
            return Comparison(at, [first])
        is_symbol = False
    if not is_symbol:
        if not (at < end and lower[at] == _THAN):
            return None
        at += 1
    other = _place(reading, at, end)
    return None if other is None else Comparison(other[1], [first, other])


def _compares(reading: Reading, at: int) -> bool:
    return reading.after_class(at, at + 1, "comparative") > at


def _place(reading: Reading, at: int, end: int) -> Optional[tuple[int, int]]:
    """A place with a side, prepositions and articles in front left out."""
    start = at
    if at < end and _compares(reading, at):
        return None
    if at < end and "side" not in reading.kinds(at):  # "on the left" is a side
        start = reading.after_class(at, end, "place_preposition")
        start = skip_articles(reading, start, end)
    if start >= end or not (
        reading.kinds(start) & {"side", "location"}
        or reading.category(start) == ANATOMY
    ):
        return None
    stop = place_end(reading, start, end)
    has_side = any("side" in reading.kinds(word) for word in range(start, stop))
    return (start, stop) if has_side else None


def _is_adjective(reading: Reading, at: int) -> bool:
    words = reading.words
    return (
        words.is_word[at]
        and words.lower[at] != _THAN
        and reading.after_class(at, at + 1, "place_preposition") == at
        and not reading.kinds(at) & {"side", "location"}
        and not reading.in_cue[at]
    )
