"""What describes an entity: side, location, severity, size... with offsets."""

from collections.abc import Iterable
from typing import Any, Optional

from .data import ATTRIBUTES
from .following import ranges_behind
from .matching import Match
from .measures import read_size
from .phrases import LONGEST_PHRASE, Phrase, degree_start, place_end, skip_articles
from .reading import Modifier, Reading
from .vocabulary import ANATOMY, FINDING

_JOINS = frozenset(("and", "or", "/", "and/or"))
# Letters in which an adjective and its noun agree: "aortic" and "aorta".
_STEM = 5
# How many words a place at the start of a sentence may stand in front of its finding.
_MAX_LEAD = 40


def describe(
    reading: Reading, phrase: Phrase, concept: str
) -> dict[str, list[dict[str, Any]]]:
    """Find everything that describes a phrase.

    reading (Reading): The marked words.
    phrase (Phrase): The phrase.
    concept (str): What it is about; its own words do not describe it.
    RETURNS (dict): Kind to a list of `text`, `value`, `start_char`, `end_char`, in
        text order. `size` values are lists of millimetres, all others strings.
    """
    first, last = reading.sentence(phrase.start)
    ranges = [
        *phrase.apart,
        *_change_in_front(reading, phrase, first),
        *_in_span(reading, phrase, concept),
        *ranges_behind(reading, phrase.end, last),
    ]
    found: dict[str, list[dict[str, Any]]] = {}
    for start, end in ranges:
        _collect(reading, start, end, found)
    if "side" not in found and "location" not in found:
        leading = _leading_place(reading, phrase, first)
        if leading is not None:
            _collect(reading, *leading, found)
    about = _stems(concept)
    found["location"] = [
        item for item in found.get("location", ()) if not _stems(item["value"]) <= about
    ]
    return {kind: found[kind] for kind in ATTRIBUTES if found.get(kind)}


def place_of(reading: Reading, start: int, end: int) -> dict[str, list[dict[str, Any]]]:
    """The sides and places that words[start:end] name, as `describe` gives them."""
    found: dict[str, list[dict[str, Any]]] = {}
    _collect(reading, start, end, found)
    return {kind: found[kind] for kind in ("side", "location") if found.get(kind)}


def _stems(phrase: str) -> set[str]:
    return {word[:_STEM] for word in phrase.split()}


def _in_span(
    reading: Reading, phrase: Phrase, concept: str
) -> Iterable[tuple[int, int]]:
    """The describing words of the span.

    The head's own words describe it unless they are what its concept is about:
    "apical pneumothorax" is a pneumothorax that is apical.
    """
    yield phrase.start, phrase.skipped[0] or phrase.head_start
    if phrase.is_predicate:
        # "the heart is [mildly] enlarged", not "aorta is [calcified and] tortuous"
        start = degree_start(reading, phrase)
        yield start, phrase.predicate[0]
    else:
        about = _stems(concept)
        at = phrase.head_start
        while at < phrase.head_end:
            modifier = reading.modifier_of[at]
            stop = at + 1
            if modifier is not None and modifier.start == at:
                stop = min(modifier.end, phrase.head_end)
                words = " ".join(reading.words.lower[at:stop])
                if "side" in reading.kinds(at) or not _stems(words) & about:
                    yield at, stop
            at = stop
    yield phrase.head_end, phrase.end


def _collect(
    reading: Reading,
    start: int,
    end: int,
    found: dict[str, list[dict[str, Any]]],
) -> None:
    """Add what words[start:end] say to the attributes found so far."""
    at = start
    while at < end:
        size = read_size(reading, at, end)
        if size is not None:
            stop, millimetres = size
            _add(reading, found, "size", millimetres, at, stop)
            at = stop
            continue
        modifier = reading.modifier_of[at]
        if modifier is not None and modifier.start >= start and modifier.end <= end:
            for kind, value in modifier.value:
                if kind == "location":
                    value = _shared_noun(reading, modifier, value, end)
                _add(reading, found, kind, value, modifier.start, modifier.end)
            at = modifier.end
            continue
        term = reading.term_of[at]
        if term is not None and term.value.category == ANATOMY and term.end <= end:
            inner = any(
                kind == "location"
                for i in range(term.start, term.end)
                for kind in reading.kinds(i)
            )
            if not inner:
                _add(reading, found, "location", term.value.concept, at, term.end)
                at = term.end
                continue
        at += 1


def _shared_noun(
    reading: Reading, modifier: Match[tuple[Modifier, ...]], value: str, end: int
) -> str:
    """ "upper" in "upper and lower lobe" is the upper lobe."""
    if " " in value or modifier.end + 1 >= end:
        return value
    following = reading.modifier_of[modifier.end + 1]
    if reading.words.lower[modifier.end] not in _JOINS or following is None:
        return value
    nouns = [v.split()[-1] for k, v in following.value if k == "location" and " " in v]
    return f"{value} {nouns[0]}" if nouns else value


def _add(
    reading: Reading,
    found: dict[str, list[dict[str, Any]]],
    kind: str,
    value: Any,
    start: int,
    end: int,
) -> None:
    items = found.setdefault(kind, [])
    located = reading.words.located(start, end)
    if any(
        item["value"] == value or item["start_char"] == located["start_char"]
        for item in items
        if item["value"] == value or kind == "size"
    ):
        return
    items.append({"value": value, **located})


def _change_in_front(
    reading: Reading, phrase: Phrase, first: int
) -> Iterable[tuple[int, int]]:
    """Words of change before the span: "recurrent or new", "no change in the"."""
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
            words.lower[before] in ("of", "in")
            or reading.is_class(before, "determiner")
            or reading.is_class(before, "light_noun")
            or reading.is_class(before, "size_noun")
            or (words.lower[before] in ("or", "and", ",") and start < stop)
        ):
            at = before
        else:
            break
    if start < stop:
        yield start, stop


def _leading_place(
    reading: Reading, phrase: Phrase, first: int
) -> Optional[tuple[int, int]]:
    """A place at the start of the sentence: "In the right base, there is ..."."""
    words = reading.words
    if words.lower[first] not in ("in", "at", "within", "on", "along"):
        return None
    start = skip_articles(reading, first + 1, phrase.start)
    stop = place_end(reading, start, phrase.start)
    if stop == start:
        return None
    if phrase.start - stop > _MAX_LEAD:
        return None
    crossed = any(reading.category(at) == FINDING for at in range(stop, phrase.start))
    return None if crossed else (start, stop)
