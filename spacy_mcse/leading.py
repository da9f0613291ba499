"""What stands in front of a phrase and describes it: places, words of change."""

from collections.abc import Iterable
from typing import Optional

from .phrases import LONGEST_PHRASE, Phrase, place_end, skip_articles
from .reading import Reading
from .vocabulary import ANATOMY, DEVICE, FINDING, PROCEDURE

# How many words a place at the start of the sentence may stand in front of its finding.
_MAX_LEAD = 40
_PLACE_KINDS = frozenset(("side", "location"))
_LEADING_PREPOSITIONS = frozenset(("in", "at", "within", "on", "along"))


def change_in_front(
    reading: Reading, phrase: Phrase, first: int
) -> Iterable[tuple[int, int]]:
    """Words of change before the span: "recurrent or new", "again seen is a".

    reading (Reading): The marked words.
    phrase (Phrase): The phrase.
    first (int): First word of its sentence.
    YIELDS (tuple[int, int]): One range of words, or none.
    """
    words = reading.words
    stop = phrase.apart[0][0] if phrase.apart else phrase.start
    at = start = stop
    first = max(first, stop - LONGEST_PHRASE)
    while at > first:
        before = at - 1
        if reading.kinds(before) & {"change"}:
            match = reading.modifier_of[before]
            at = start = match.start if match is not None else before
        elif (
            words.lower[before] in ("of", "in", ":")
            or any(reading.is_class(before, name) for name in _LEADS_TO_PHRASE)
            or (words.lower[before] in ("or", "and", ",") and start < stop)
        ):
            at = before
        elif at == start < stop and _describes(reading, before):
            at = start = before  # "[small] residual effusion"
        else:
            break
    if start < stop:
        yield start, stop


def _describes(reading: Reading, at: int) -> bool:
    kinds = reading.kinds(at)
    match = reading.modifier_of[at]
    return (
        match is not None
        and match.end == match.start + 1
        and bool(kinds & {"severity", "quality", "count", "side"})
        and reading.category(at) == ""
        and not reading.in_cue[at]
    )


_LEADS_TO_PHRASE = ("determiner", "light_noun", "size_noun", "be")


def leading_place(
    reading: Reading, phrase: Phrase, first: int
) -> Optional[tuple[int, int]]:
    """A place in front of a phrase that is its own.

    "In the right base, there is ...", "the left lung shows ...", "left lung: ...",
    "noted in the left base is ...".

    reading (Reading): The marked words.
    phrase (Phrase): The phrase.
    first (int): First word of its sentence.
    RETURNS (Optional[tuple[int, int]]): The words of the place.
    """
    limit = phrase.apart[0][0] if phrase.apart else phrase.start
    at = first
    while at < limit and not _starts_place(reading, at):
        if not _leads_to_place(reading, at):
            return None
        at += 1
    start = skip_articles(reading, at, limit)
    stop = place_end(reading, start, limit)
    if stop < limit and reading.category(stop) in (DEVICE, PROCEDURE):
        return None  # "the lateral view shows"
    if stop == start or not any(
        reading.kinds(word) & _PLACE_KINDS for word in range(start, stop)
    ):
        return None
    if _is_preposition(reading, first):
        if limit - stop > _MAX_LEAD:
            return None
        crossed = any(reading.category(word) == FINDING for word in range(stop, limit))
    else:
        before = at
        while before > first and reading.is_class(before - 1, "determiner"):
            before -= 1
        is_adverbial = _is_preposition(reading, at) or (
            before > first and _is_preposition(reading, before - 1)
        )
        crossed = not _bridges(reading, stop, limit, is_adverbial)
    return None if crossed else (start, stop)


def _starts_place(reading: Reading, at: int) -> bool:
    return bool(reading.kinds(at) & _PLACE_KINDS) or reading.category(at) == ANATOMY


def _is_preposition(reading: Reading, at: int) -> bool:
    """Whether "in", "at" or "on" stands at a word, alone or in "on the left"."""
    return reading.words.lower[at] in _LEADING_PREPOSITIONS


def _leads_to_place(reading: Reading, at: int) -> bool:
    """Whether a word may stand in front of a leading place: "also noted in the"."""
    words = reading.words
    return (
        reading.category(at) == ""
        and not reading.in_cue[at]
        and (
            not words.is_word[at]
            or reading.kinds(at) == {"change"}
            or any(
                reading.is_class(at, name)
                for name in (
                    "determiner",
                    "place_preposition",
                    "noticed",
                    "adverb",
                    "be",
                )
            )
            or words.lower[at] == "there"
        )
    )


def _bridges(reading: Reading, start: int, stop: int, is_adverbial: bool) -> bool:
    """Whether words[start:stop] lead from a place to the finding that is there."""
    words = reading.words
    if start < stop and words.lower[start] == ":":
        return True  # a heading of all that follows
    shows = is_adverbial
    for at in range(start, stop):
        shows = shows or reading.is_class(at, "showing_verb")
        if reading.category(at) or not (
            not words.is_word[at]
            or words.lower[at] in ("there", "a", "an", "of")
            or (reading.in_cue[at] and shows)
            or reading.kinds(at) == {"change"}
            or any(reading.is_class(at, name) for name in _BRIDGES)
        ):
            return False
    return shows


_BRIDGES = ("determiner", "adverb", "noticed", "showing_verb", "be")
