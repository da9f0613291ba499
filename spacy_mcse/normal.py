"""Statements that something is normal: "heart size is normal", "lungs are clear"."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, NamedTuple, Optional

from .attributes import place_of
from .matching import Match
from .reading import Reading
from .scope import is_masked
from .vocabulary import ANATOMY, PROCEDURE

_JOINS = frozenset((",", "and", "or", "/", "of", "&"))
_JOINS_BETWEEN = ("and", "or", "/", "&")
# "negative for", "clear of": what follows is denied, nothing is called normal.
_TAKE_OBJECT = ("of", "from")
_TAKE_FOR = ("negative", "neg", "unremarkable")
_FILLERS = ("appearing", "appearance", "of", "the")
# Said only behind a structure: "trachea is central", but not in "central vessels".
_PREDICATIVE = "predicative"
# Those that describe findings too: "fine opacities", "free air".
_ALSO_DESCRIBE = frozenset(
    (
        *("central", "dry", "fine", "free", "benign", "regular", "smooth"),
        *("symmetric", "symmetrical", "defined"),
    )
)
_OUTLINES = frozenset(
    ("size", "contour", "contours", "visualized", "width", "shape", "position")
)
_WHOLE_LUNG = _LUNG = "lung"
_EXAMINATION = "examination"
# How far an adjective may stand from its structure in a list of structures.
_MAX_LIST = 14
_LONGEST_LINK = 4
_LONGEST_LINE = 60


class Normal(NamedTuple):
    """words[start:end] say that `concept` is normal, which denies findings.

    attributes (dict): The side and, for a part of a lung, the place that is meant.
    """

    start: int
    end: int
    concept: str
    denies: tuple[str, ...]
    attributes: dict[str, list[dict[str, Any]]]


def find_normal(reading: Reading) -> list[Normal]:
    """All normal statements in text order, one for each structure."""
    found: dict[tuple[int, int], Normal] = {}
    words, vocabulary = reading.words, reading.vocabulary
    for first, last in words.sentences:
        end_of_previous = first
        previous: list[Match] = []
        for match in vocabulary.normal.all(words.surface, first, last):
            following = words.lower[match.end] if match.end < last else ""
            if (
                _takes_object(reading, match, following)
                or _is_denied(reading, match, first)
                or _falls_short(reading, match, first)
                or _describes_finding(reading, match, last)
            ):
                continue
            structures = list(_subjects(reading, match, end_of_previous))
            if not structures and _goes_on_from(reading, end_of_previous, match):
                structures = previous  # "patent, midline"
            if structures and _shows_others(reading, structures, match, last):
                structures = []
            if structures:
                ranges = [
                    (_with_side(reading, term.start, first), match.end)
                    for term in structures
                ]
            else:
                structures = list(_objects(reading, match, last))
                if match.value == _PREDICATIVE:
                    structures = []
                ranges = [(match.start, term.end) for term in structures]
                if not structures:
                    structures, ranges = _under_heading(reading, match, first)
                if not structures:
                    structures = _distant_subject(reading, match, end_of_previous)
                    ranges = [(term.start, match.end) for term in structures]
            for term, (start, end) in zip(structures, ranges, strict=True):
                concept = (
                    term.value.concept
                    if term.value.category == ANATOMY
                    else _EXAMINATION
                )
                denies = vocabulary.denied_by(concept, match.value)
                attributes = _place(reading, start, end, last, concept)
                found[start, end] = Normal(start, end, concept, denies, attributes)
            previous = structures
            if not structures and _is_whole_sentence(reading, match, first, last):
                denies = vocabulary.denied_by(_EXAMINATION)
                start, end = match.start, match.end
                found[start, end] = Normal(start, end, _EXAMINATION, denies, {})
            end_of_previous = match.end
    return [found[key] for key in sorted(found)]


def _place(
    reading: Reading, start: int, end: int, last: int, concept: str
) -> dict[str, list[dict[str, Any]]]:
    """What a statement is confined to: "right upper lobe is clear", "on the left"."""
    while end < last and reading.kinds(end) & {"side"}:
        end += 1
    is_lung_part = concept != _WHOLE_LUNG and (
        reading.vocabulary.regions.get(concept) == _LUNG
    )
    if not is_lung_part and not any(
        "side" in reading.kinds(i) for i in range(start, end)
    ):
        return {}  # most statements: nothing to look for
    found = place_of(reading, start, end)
    if not is_lung_part:
        found.pop("location", None)
    return found


def _with_side(reading: Reading, start: int, first: int) -> int:
    """The word where "left" or the like in front of a structure begins."""
    while start > first and reading.kinds(start - 1) & {"side", "location"}:
        start -= 1
    return start


def _is_whole_sentence(
    reading: Reading, match: Match[str], first: int, last: int
) -> bool:
    """Whether a sentence, behind any heading, says nothing but "normal"."""
    words = reading.words
    if match.end < last and words.lower[match.end] == ":":
        last = match.end  # "Otherwise negative: no effusion"
    if any(reading.kinds(at) == {"side"} for at in range(first, match.start)):
        return False  # "Left: clear"
    return all(
        reading.is_class(at, "adverb") or not words.is_word[at]
        for at in (*range(first, match.start), *range(match.end, last))
        if not (at + 1 < match.start and ":" in words.lower[at : match.start])
    )


def _is_denied(reading: Reading, match: Match[str], first: int) -> bool:
    """Whether a negation stands right in front: "not normal"."""
    for back in (0, 1):
        cue = reading.cue_ending.get(match.start - back)
        if cue is not None and cue.start >= first and cue.end <= match.start:
            forward = any(m.direction == "forward" for m in cue.value)
            if forward and not is_masked(reading, cue, match.start):
                return True
    return False


def _distant_subject(reading: Reading, match: Match[str], floor: int) -> list[Match]:
    """The structure further in front that a verb speaks of: "heart size is hard to
    judge but appears [normal]", "the hilum keeps its [normal] shape"."""
    at = match.start
    while at > floor and (
        reading.is_class(at - 1, "adverb") or reading.is_class(at - 1, "determiner")
    ):
        at -= 1
    verb = at - 1
    if verb <= floor or not (
        reading.is_class(verb, "copula") or reading.is_class(verb, "keeping_verb")
    ):
        return []
    for at in range(verb - 1, max(floor, verb - _MAX_LIST) - 1, -1):
        term = reading.term_of[at]
        if term is not None and term.value.category != PROCEDURE:
            return [term] if term.value.category == ANATOMY else []
    return []


def _under_heading(
    reading: Reading, match: Match[str], first: int
) -> tuple[list[Match], list[tuple[int, int]]]:
    """The structure that heads the line, and the words that speak of it: "Lungs:
    hyperexpanded but [clear]", "Angles: left blunted, [right clear]", "[Left clear]."
    """
    words = reading.words
    start = match.start
    while start > first and (
        reading.kinds(start - 1) == {"side"} or reading.is_class(start - 1, "adverb")
    ):
        start -= 1
    line = first
    if start == first and start < match.start:
        line_start = words.text.rfind("\n", 0, words.starts[first]) + 1
        line = bisect_left(words.starts, line_start, 0, first)
    term = _heading_term(reading, line)
    if term is None or not 0 < start - term.end <= _LONGEST_LINE:
        return [], []
    if line == first and any(
        reading.category(at) != "" or reading.in_cue[at]
        for at in range(term.end, start)
    ):
        return [], []
    return [term], [(start, match.end)]


def _heading_term(reading: Reading, first: int) -> Optional[Match]:
    """The structure in front of a colon with which a line begins."""
    at = first
    while at < len(reading.words) and reading.kinds(at) == {"side"}:
        at += 1
    term = reading.term_of[at] if at < len(reading.words) else None
    if term is None or term.value.category != ANATOMY or term.start != at:
        return None
    is_heading = term.end < len(reading.words) and reading.words.lower[term.end] == ":"
    return term if is_heading else None


def _takes_object(reading: Reading, match: Match[str], following: str) -> bool:
    """Whether what follows is denied: "clear of", but not "normal width for age"."""
    if following == "/" and reading.words.lower[match.end - 1] == "n":
        return True  # "n/a"
    if following == "for":
        words = reading.words.lower
        of_age = words[match.end + 1 : match.end + 3]
        return words[match.end - 1] in _TAKE_FOR and "age" not in of_age
    return following in _TAKE_OBJECT


def _falls_short(reading: Reading, match: Match[str], first: int) -> bool:
    """Whether the word in front takes it back: "poorly inflated"."""
    return match.start > first and reading.is_class(match.start - 1, "falls_short")


def _describes_finding(reading: Reading, match: Match[str], last: int) -> bool:
    """Whether a word is no normal one here: "lungs: [fine] reticular opacities"."""
    words = reading.words.lower
    if words[match.end - 1] not in _ALSO_DESCRIBE:
        return False
    at = match.end
    while at < last and (
        words[at] in _FILLERS or (reading.category(at) == "" and reading.kinds(at))
    ):
        at += 1
    # "free air" begins before the word ends.
    return any(
        reading.category(i) not in ("", ANATOMY)
        for i in (match.start, *range(at, min(at + 1, last)))
    )


def _goes_on_from(reading: Reading, end: int, match: Match[str]) -> bool:
    """Whether a normal word goes on from another: "normal size, normal contours"."""
    words = reading.words
    between = range(end, match.start)
    return 0 < len(between) <= _LONGEST_LINK and all(
        words.lower[at] in (",", "and")
        or words.lower[at] in _OUTLINES
        or reading.is_class(at, "adverb")
        for at in between
    )


def _is_structure(term: Match) -> bool:
    return term.value.category == ANATOMY or (
        term.value.category == PROCEDURE and term.value.kind == "diagnostic"
    )


def _subjects(reading: Reading, match: Match[str], floor: int) -> Iterable[Match]:
    """The structures in front of a predicate, the whole list of them."""
    words = reading.words
    at = match.start
    while at > floor and (
        reading.is_class(at - 1, "adverb")
        or reading.is_class(at - 1, "copula")
        or words.lower[at - 1] == ":"
        or reading.kinds(at - 1) & {"change"}
        or (at - 1 > floor and words.lower[at - 1] in ("and", ",") and at < match.start)
    ):
        if words.lower[at - 1] in ("and", ","):
            break
        at -= 1
    found: list[Match] = []
    apart = at == match.start and at > floor and words.lower[at - 1] == ","
    while at > max(floor, match.start - _MAX_LIST):
        term = reading.term_of[at - 1]
        if term is not None and _is_structure(term):
            if apart and not found and _is_place(reading, term.start, floor):
                break  # "catheter along the chest wall, intact"
            found.append(term)
            at = term.start
        elif (
            words.lower[at - 1] in _JOINS
            or reading.is_class(at - 1, "determiner")
            or reading.modifier_of[at - 1] is not None
            or words.lower[at - 1] in _OUTLINES
        ):
            at -= 1
        else:
            break
    return reversed(found)


def _is_place(reading: Reading, start: int, floor: int) -> bool:
    """Whether a structure only tells where something is."""
    at = start
    while at > floor and (
        reading.is_class(at - 1, "determiner") or reading.kinds(at - 1)
    ):
        at -= 1
    return at > floor and (
        reading.is_class(at - 1, "place_preposition")
        or reading.is_class(at - 1, "preposition")
    )


def _shows_others(
    reading: Reading, structures: list[Match], match: Match[str], last: int
) -> bool:
    """Whether an examination shows structures: "the film shows normal hila"."""
    verb = match.start - 1
    return (
        structures[-1].value.category == PROCEDURE
        and reading.is_class(verb, "showing_verb")
        and next(iter(_objects(reading, match, last)), None) is not None
    )


def _objects(reading: Reading, match: Match[str], last: int) -> Iterable[Match]:
    """The structures behind an attribute: "normal heart size and mediastinum"."""
    words = reading.words
    at = match.end
    found = []
    while at < last:
        term = reading.term_of[at]
        if term is not None and _is_structure(term):
            found.append(term)
            at = term.end
        elif (
            (found and _goes_on(reading, at, last))
            or reading.modifier_of[at] is not None
            or words.lower[at] in (_JOINS_BETWEEN if found else _FILLERS)
            # "normal hilar and mediastinal contours"
            or (words.lower[at] in _JOINS_BETWEEN and reading.kinds(at - 1))
        ):
            at += 1
        else:
            break
    return found


def _goes_on(reading: Reading, comma: int, last: int) -> bool:
    """Whether a list of structures goes on at a comma: "normal heart, hila and aorta".

    What follows the next structure must end the phrase or join on: in "normal heart,
    left lung nodule" something else begins.
    """
    if reading.words.lower[comma] != ",":
        return False
    at = comma + 1
    term = reading.term_of[at] if at < last else None
    if term is None or term.value.category != ANATOMY:
        return False
    at = term.end
    return at >= last or reading.words.lower[at] in (*_JOINS_BETWEEN, ",")
