"""What describes an entity: side, location, severity, size... with offsets."""

from collections.abc import Iterable
from typing import Any, Optional

from .comparisons import Comparison, read_comparison
from .data import ATTRIBUTES
from .following import ranges_behind
from .leading import change_in_front, leading_place
from .levels import follows_ribs, is_ordinal, read_levels
from .matching import Match
from .measures import after_bounds, read_size
from .phrases import (
    Phrase,
    counts_following,
    degree_start,
    is_degree_of_change,
    is_plural,
)
from .reading import Modifier, Reading
from .vocabulary import ANATOMY, FINDING

Found = dict[str, list[dict[str, Any]]]
_JOINS = frozenset(("and", "or", "to", "/", "and/or", ","))
_BOTH_SIDES = "bilateral"
_SINGLE_SIDES = frozenset(("left", "right"))
_COUNT_WHAT_FOLLOWS = frozenset(("both", "one"))
_BORDERLINE = ("severity", "borderline")
# Places that say nothing without a noun, and what they are called with it.
_PARTIAL_PLACES = frozenset(("upper", "lower", "mid"))
_WHOLE_PLACES = {"mid lobe": "middle lobe"}
_RIB = "rib"
# Letters in which an adjective and its noun agree: "aortic" and "aorta".
_STEM = 5


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
        *change_in_front(reading, phrase, first),
        *_in_span(reading, phrase, concept),
        *ranges_behind(reading, phrase.end, last),
    ]
    found: Found = {}
    if phrase.is_predicate:
        # "[mildly] increased" is how much, where the increase is the finding
        for at in range(degree_start(reading, phrase), phrase.predicate[0]):
            _add_modifier(reading, at, found)
    several = is_plural(reading.words.lower[phrase.head_end - 1])
    for start, end in ranges:
        _collect(reading, start, end, found, several)
    if "side" not in found or "location" not in found:
        leading = leading_place(reading, phrase, first)
        if leading is not None:
            for kind, items in place_of(reading, *leading).items():
                found.setdefault(kind, items)
    return _tidied(reading, found, _stems(concept))


def own_values(
    reading: Reading, phrase: Phrase, concept: str, attributes: Found
) -> dict[str, list[str]]:
    """The values that only name the concept, in one of its terms or in the key.

    "Pulmonary opacity" is listed as "opacity": a report that says the one and a report
    that says the other tell the same.

    reading (Reading): The marked words.
    phrase (Phrase): The phrase.
    concept (str): What it is about.
    attributes (dict): What `describe` gave.
    RETURNS (dict): Kind to values.
    """
    about = set(concept.split())
    names = [
        (located["start_char"], located["end_char"])
        for at in range(phrase.head_start, phrase.head_end)
        if (term := reading.term_of[at]) is not None
        and term.start == at
        and term.end <= phrase.head_end
        # The finding, or the structure it is one of: "prominent [hila]".
        and (term.value.category == FINDING or about & set(term.value.concept.split()))
        and (located := reading.words.located(at, term.end))
    ]
    own: dict[str, list[str]] = {}
    for kind, items in attributes.items():
        values = [
            str(item["value"])
            for item in items
            if str(item["value"]) in about
            or any(
                start <= item["start_char"] and item["end_char"] <= end
                for start, end in names
            )
        ]
        if values:
            own[kind] = values
    return own


def place_of(reading: Reading, start: int, end: int) -> dict[str, list[dict[str, Any]]]:
    """The sides and places that words[start:end] name, as `describe` gives them."""
    found: Found = {}
    _collect(reading, start, end, found)
    return {kind: found[kind] for kind in ("side", "location") if found.get(kind)}


def _tidied(reading: Reading, found: Found, about: set[str]) -> Found:
    """The kinds in their order, without values that say nothing beside the others."""
    places = found.get("location", [])
    has_rib = any(item["value"].startswith(f"{_RIB} ") for item in places)
    found["location"] = [
        item
        for item in places
        if not _stems(item["value"]) <= about
        and not (has_rib and item["value"] == _RIB)
    ]
    changes = found.get("change", [])
    # "Again seen" and "persistent" only say that it was there before.
    found["change"] = [c for c in changes if not _is_weak(reading, c)] or changes
    return {kind: found[kind] for kind in ATTRIBUTES if found.get(kind)}


def _is_weak(reading: Reading, change: dict[str, Any]) -> bool:
    first = change["text"].lower().replace("-", " ").split()[0]
    return first in reading.vocabulary.classes["known_before"]


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
        # "the heart is mildly enlarged", not "aorta is [calcified and] tortuous"
        yield from _in_predicate(reading, phrase)
        # "the middle lobe is collapsed" is a collapse of the middle lobe
        last = min(phrase.predicate[0], phrase.head_end)
        for at, stop in _in_head(reading, phrase.head_start, last, _stems(concept)):
            # ... but "pulmonary vasculature" is one name
            term = reading.term_of[at]
            if term is None or term.end <= stop or "side" in reading.kinds(at):
                yield at, stop
    else:
        about = _stems(concept)
        yield from _in_head(reading, phrase.head_start, phrase.head_end, about)
    yield phrase.head_end, phrase.end


def _in_predicate(reading: Reading, phrase: Phrase) -> Iterable[tuple[int, int]]:
    """What an adjective brings along: "[borderline] enlarged"."""
    start, end = phrase.predicate
    for at in range(start, end):
        modifier = reading.modifier_of[at]
        if modifier is None or modifier.start != at or modifier.end > end:
            continue
        kinds = reading.kinds(at)
        is_whole = modifier.end - at == end - start
        if "side" in kinds or (
            "severity" in kinds and (not is_whole or _BORDERLINE in modifier.value)
        ):
            yield at, modifier.end


def _in_head(
    reading: Reading, start: int, end: int, about: set[str]
) -> Iterable[tuple[int, int]]:
    at = start
    while at < end:
        modifier = reading.modifier_of[at]
        stop = at + 1
        if modifier is not None and modifier.start == at:
            stop = min(modifier.end, end)
            kinds = reading.kinds(at)
            words = " ".join(reading.words.lower[at:stop])
            # "Increased density" is a density, not one that has increased,
            term = reading.term_of[at]
            # and a "large heart" or "small airways disease" is not large or small.
            is_name = (
                kinds in ({"change"}, {"severity"})
                and term is not None
                and term.value.category == FINDING
                and term.end > stop
            )
            if "side" in kinds or not (is_name or _stems(words) & about):
                yield at, stop
        at = stop


def _collect(
    reading: Reading, start: int, end: int, found: Found, several: bool = False
) -> None:
    """Add what words[start:end] say to the attributes found so far.

    several (bool): The finding is in the plural.
    """
    at = start
    while at < end:
        compared = read_comparison(reading, at, end)
        if compared is not None and (
            compared.names_both or several or _is_bilateral(found)
        ):
            _add_compared(reading, at, compared, found)
            at = compared.end
            continue
        number = after_bounds(reading, at, end)
        size = read_size(reading, number, end)
        if size is not None:
            stop, millimetres = size
            _add(reading, found, "size", millimetres, number, stop)
            at = stop
            continue
        levels = read_levels(reading, at, end, of_ribs=follows_ribs(reading, at))
        if levels is not None:
            at, named = levels
            for level in named:
                _add(reading, found, "location", level.value, level.start, level.end)
            continue
        if counts_following(reading, at):
            _add(reading, found, "count", reading.words.lower[at], at, at + 1)
        at = _collect_term(reading, at, start, end, found)


def _collect_term(reading: Reading, at: int, start: int, end: int, found: Found) -> int:
    """Add the modifier or structure at a word.

    RETURNS (int): The word after it.
    """
    modifier = reading.modifier_of[at]
    if modifier is not None and modifier.start >= start and modifier.end <= end:
        if _describes_nothing(reading, at):
            return modifier.end
        _add_modifier(reading, at, found, end)
        return modifier.end
    term = reading.term_of[at]
    if term is not None and term.value.category == ANATOMY and term.end <= end:
        inner = any(
            kind == "location"
            for i in range(term.start, term.end)
            for kind in reading.kinds(i)
        )
        if not inner:
            _add(reading, found, "location", term.value.concept, at, term.end)
            return term.end
    return at + 1


def _add_modifier(
    reading: Reading, at: int, found: Found, end: Optional[int] = None
) -> None:
    modifier = reading.modifier_of[at]
    if modifier is None:
        return
    for kind, value in modifier.value:
        if kind == "location" and end is not None:
            value = _with_shared_noun(reading, modifier, value, end)
        _add(reading, found, kind, value, modifier.start, modifier.end)


def _describes_nothing(reading: Reading, at: int) -> bool:
    """Words that only look like descriptions where they stand.

    Degrees of change, superlatives ("most pronounced at"), "both" and "one" of several
    findings, "to the right of midline", ordinals that number no structure ("first
    seen").
    """
    lower = reading.words.lower
    if is_degree_of_change(reading, at):
        return True
    if at > 0 and lower[at - 1] == "most":
        return bool(reading.kinds(at) & {"severity", "quality"})
    match = reading.modifier_of[at]
    behind = match.end if match is not None else at + 1
    noun = reading.category(behind) if behind < len(lower) else ""
    if lower[at] == "midline" and lower[max(0, at - 2) : at].count("of"):
        return True
    if lower[at] in _COUNT_WHAT_FOLLOWS and behind == at + 1:
        return not _leads_to_noun(reading, behind)
    return is_ordinal(lower[at]) and behind == at + 1 and noun != ANATOMY


def _leads_to_noun(reading: Reading, at: int) -> bool:
    """Whether a place or finding follows, described or not: "both [lower lobes]"."""
    last = len(reading.words)
    while at < last and reading.modifier_of[at] is not None:
        if reading.kinds(at) & {"side", "location"}:
            return True
        at += 1
    return at < last and reading.category(at) != ""


def _is_bilateral(found: Found) -> bool:
    return any(item["value"] == _BOTH_SIDES for item in found.get("side", ()))


def _add_compared(
    reading: Reading, at: int, compared: Comparison, found: Found
) -> None:
    """ "Right greater than left" is both sides, and no change."""
    named: Found = {}
    for start, end in compared.places:
        _collect(reading, start, end, named)
    sides = {item["value"] for item in named.get("side", ())}
    if len(compared.places) == 1 or sides >= _SINGLE_SIDES:
        _add(reading, found, "side", _BOTH_SIDES, at, compared.end)
        named.pop("side", None)
    for kind in ("side", "location"):
        known = found.setdefault(kind, [])
        values = [item["value"] for item in known]
        known += [item for item in named.get(kind, ()) if item["value"] not in values]


def _with_shared_noun(
    reading: Reading, modifier: Match[tuple[Modifier, ...]], value: str, end: int
) -> str:
    """ "upper" in "upper and lower lobe" is the upper lobe."""
    lower = reading.words.lower
    at = modifier.end
    while value in _PARTIAL_PLACES and at < end:
        while at < end and lower[at] in _JOINS:
            at += 1
        following = reading.modifier_of[at] if at < end else None
        if following is None:
            break
        places = [v for k, v in following.value if k == "location"]
        nouns = [place.split()[-1] for place in places if " " in place]
        if nouns:
            whole = f"{value} {nouns[0]}"
            return _WHOLE_PLACES.get(whole, whole)
        if not any(place in _PARTIAL_PLACES for place in places):
            break
        at = following.end
    return value


def _add(
    reading: Reading, found: Found, kind: str, value: Any, start: int, end: int
) -> None:
    items = found.setdefault(kind, [])
    located = reading.words.located(start, end)
    if any(
        item["value"] == value
        or (kind == "size" and item["start_char"] == located["start_char"])
        for item in items
    ):
        return
    items.append({"value": value, **located})
