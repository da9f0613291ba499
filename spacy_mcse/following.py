"""What stands behind a finding and describes it: places, measures, predicates."""

from collections.abc import Iterable
from typing import NamedTuple, Optional

from .comparisons import read_comparison
from .levels import follows_ribs, read_levels
from .measures import after_bounds, is_distance, read_size
from .phrases import is_describing_word, place_end, skip_articles
from .reading import Reading
from .vocabulary import ANATOMY, DEVICE, FINDING, PROCEDURE

_PREDICATE_JOINS = frozenset(("and", "in", "size", "to"))
_LIST_JOINS = frozenset((",", "and"))
_PARTS_JOINS = frozenset(("and", "but", "or", "&"))
_ALTERNATIVES = frozenset(("or", "/", "versus", "vs", "and/or"))
_PRONOUNS = frozenset(("which", "that"))
# In words: how much behind a phrase, and how much of a predicate, is read.
_MAX_BEHIND = 40
_MAX_PREDICATE = 8


class _Step(NamedTuple):
    """Where to read on, and a range of words that describes the finding."""

    next: int
    found: Optional[tuple[int, int]] = None


def ranges_behind(reading: Reading, end: int, last: int) -> Iterable[tuple[int, int]]:
    """Ranges of words behind a phrase that describe it.

    reading (Reading): The marked words.
    end (int): The word after the phrase.
    last (int): The word after its sentence.
    YIELDS (tuple[int, int]): In text order, up to the next finding or clause.
    """
    at = end
    last = min(last, at + _MAX_BEHIND)
    if at + 1 < last and _next_in_list(reading, at):
        return
    while at < last:
        for read in _READERS:
            step = read(reading, at, last)
            if step is not None:
                break
        else:
            return
        if step.found is not None:
            yield step.found
        at = step.next


def _next_in_list(reading: Reading, at: int) -> bool:
    """Whether the next member of a list follows at once: ", [effusion]"."""
    return (
        reading.words.lower[at] in _LIST_JOINS
        and reading.category(at + 1) == FINDING
        and reading.modifier_of[at + 1] is None
    )


def _bracket(reading: Reading, at: int, last: int) -> Optional[_Step]:
    return _Step(at + 1) if reading.words.lower[at] == "(" else None


def _comparison(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "right greater than left", ", worse on the left"."""
    compared = read_comparison(reading, at, last)
    if compared is None:
        return None
    # "Is larger on the left" may speak of change.
    if not compared.names_both and reading.words.is_word[at - 1]:
        return None
    return _Step(compared.end, (at, compared.end))


def _measure(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "12 x 9 mm", "up to 12 mm", "measuring 12 mm"."""
    number = after_bounds(reading, at, last)
    size = read_size(reading, number, last)
    if size is not None:
        stop = size[0]
        return (
            _Step(last) if is_distance(reading, stop, last) else _Step(stop, (at, stop))
        )
    after = reading.after_class(at, last, "measuring")
    if after == at:
        return None
    while after < last and (
        reading.is_class(after, "preposition") or reading.is_class(after, "adverb")
    ):
        after += 1
    after = after_bounds(reading, after, last)
    size = read_size(reading, after, last) if after < last else None
    if size is not None:
        return _Step(size[0], (after, size[0]))
    return _Step(at + 1 if reading.is_class(at, "size_noun") else last)


def _earlier(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "from 5 mm to 8 mm"; "previously 5 mm" says nothing of what is there now."""
    words = reading.words
    if words.lower[at] == "from":
        size = read_size(reading, at + 1, last)
        return _Step(size[0], (at + 1, size[0])) if size is not None else None
    after = reading.after_class(at, last, "formerly")
    if after == at:
        return None
    after = max(after, reading.after_class(after, last, "measuring"))
    number = after_bounds(reading, after, last)
    size = read_size(reading, number, last)
    stop = size[0] if size is not None else predicate_end(reading, after, last)
    return _Step(stop) if stop > after else None


def _levels(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "rib fractures [4-7]"."""
    levels = read_levels(reading, at, last, of_ribs=follows_ribs(reading, at))
    return _Step(levels[0], (at, levels[0])) if levels is not None else None


def _side(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "effusions [bilaterally]", "effusion [on the left]"."""
    if not reading.kinds(at) & {"side", "location"}:
        return None
    stop = place_end(reading, at, last)
    if stop < last and (
        reading.category(stop) == FINDING or _names_other(reading, stop, last)
    ):
        return _Step(last)
    return _Step(stop, (at, stop)) if stop > at else None


def _names_other(reading: Reading, stop: int, last: int) -> bool:
    """Whether a place is that of a device or view: "on the lateral [view]"."""
    return stop < last and reading.category(stop) in (DEVICE, PROCEDURE)


def _place(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "in the left lower lobe"; "of 5 mm" is left to the measure."""
    after = _after_preposition(reading, at, last)
    if after == at:
        return None
    levels = read_levels(reading, after, last, follows_ribs(reading, after))
    if levels is not None and read_size(reading, after, last) is None:
        stop = max(levels[0], place_end(reading, after, last))
        return _Step(stop, (after, stop))
    stop = place_end(reading, after, last)
    if _names_other(reading, stop, last):
        return _Step(last)
    if stop > after:
        return _Step(stop, (after, stop))
    if after < last and reading.is_class(after, "size_noun"):
        return _Step(after + 1)  # "increased in size"
    number = after_bounds(reading, after, last)
    return _Step(last if read_size(reading, number, last) is None else after)


def _after_preposition(reading: Reading, at: int, last: int) -> int:
    """The word after "in the", "to the" in front of a side, and the like.

    RETURNS (int): `at` itself where none stands there.
    """
    after = at
    while (following := reading.after_class(after, last, "place_preposition")) > after:
        after = following
    if after > at:
        return skip_articles(reading, after, last)
    if not reading.is_class(at, "direction"):
        return at
    after = skip_articles(reading, at + 1, last)
    return after if after < last and "side" in reading.kinds(after) else at


def _afterthought(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ ", stable", ", larger than before", ", 5 mm, left lung"."""
    words = reading.words
    lower = words.lower[at]
    if lower == ")":
        return _Step(at + 1)
    if lower != ",":
        return None
    at += 1
    if at < last and words.lower[at] in _PARTS_JOINS:
        at += 1
    if at >= last:
        return _Step(last)
    if (
        words.lower[at] in _PRONOUNS
        or reading.after_class(at, last, "copula") > at
        or read_comparison(reading, at, last) is not None
        or reading.after_class(at, last, "formerly") > at
        or _is_loose_measure(reading, at, last)
    ):
        return _Step(at)
    place = _loose_place(reading, at, last) or _levels(reading, at, last)
    if place is not None:
        return place
    # Only what stands alone: in ", left nodule" another phrase begins.
    stop = predicate_end(reading, at, last)
    if stop == at or not _stands_alone(reading, stop, last):
        return _Step(last)
    return _Step(stop, (at, stop))


def _is_loose_measure(reading: Reading, at: int, last: int) -> bool:
    """Whether ", now 8 mm" or ", measuring 8 mm" stands there, not ", 8 mm nodule"."""
    while at < last and reading.is_class(at, "adverb"):
        at += 1
    if at < last and reading.after_class(at, last, "measuring") > at:
        return True
    size = read_size(reading, after_bounds(reading, at, last), last)
    return size is not None and (
        size[0] >= last
        or not reading.words.is_word[size[0]]
        or reading.is_class(size[0], "conjunction")
        or reading.after_class(size[0], last, "place_preposition") > size[0]
    )


def _loose_place(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ ", left lung", "and in the left base", where nothing follows."""
    while at < last and reading.is_class(at, "adverb"):
        at += 1  # ", mostly in the left base"
    after = _after_preposition(reading, at, last)
    if after == at and not _continues_places(reading, at, last):
        return None
    stop = place_end(reading, after, last)
    if stop == after or not (stop >= last or not reading.words.is_word[stop]):
        return None
    return _Step(stop, (after, stop))


def _continues_places(reading: Reading, at: int, last: int) -> bool:
    """Whether a place at a word needs no preposition: ", left lung", not "or left"."""
    if at >= last or not (
        reading.kinds(at) & {"side", "location"} or reading.category(at) == ANATOMY
    ):
        return False
    before = at - 1
    if reading.words.lower[before] not in _PARTS_JOINS:
        return True
    before -= reading.words.lower[before - 1] == ","
    return bool(
        reading.kinds(before - 1) & {"side", "location"}
        or reading.category(before - 1) == ANATOMY
    )


def _another_part(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "and large on the right", "and 7 mm", "and has increased"."""
    words = reading.words
    if words.lower[at] not in _PARTS_JOINS or at + 1 >= last:
        return None
    at += 1
    if reading.after_class(at, last, "copula") > at or _is_loose_measure(
        reading, at, last
    ):
        return _Step(at)
    place = _loose_place(reading, at, last)
    if place is not None:
        return place
    stop = predicate_end(reading, at, last)
    if stop == at or not (
        _ends(reading, stop, last) or _leads_place(reading, stop, last)
    ):
        return _Step(last)
    return _Step(stop, (at, stop))


def _alternative(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "atelectasis [or scarring] at the left base": of both the same is said."""
    if reading.words.lower[at] not in _ALTERNATIVES:
        return None
    at += 1
    while at < last and is_describing_word(reading, at):
        if reading.kinds(at) & {"side", "location"}:
            return None
        at += 1
    term = reading.term_of[at] if at < last else None
    if term is None or term.value.category != FINDING or reading.in_cue[at]:
        return None
    if term.end >= last:
        return None
    place = _side(reading, term.end, last) or _place(reading, term.end, last)
    return place if place is not None and place.found is not None else None


def _change(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "unchanged", "has increased", "remains small"."""
    if reading.kinds(at) != {"change"}:
        return None
    match = reading.modifier_of[at]
    stop = match.end if match is not None else at + 1
    if stop < last and reading.category(stop):
        return _Step(last)
    further = predicate_end(reading, stop, last)
    if further > stop and _stands_alone(reading, further, last):
        stop = further
    return _Step(stop, (at, stop))


def _colon(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "Effusion: small, left"."""
    if reading.words.lower[at] != ":":
        return None
    at += 1
    if at >= last:
        return _Step(last)
    if _is_loose_measure(reading, at, last):
        return _Step(at)
    place = _loose_place(reading, at, last)
    if place is not None:
        return place
    stop = predicate_end(reading, at, last)
    return _Step(stop, (at, stop)) if stop > at else _Step(last)


def _loose_word(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "now", "seen", "which": nothing by itself, something may follow."""
    if reading.is_class(at, "adverb"):
        return _Step(at + 1)
    noticed = reading.after_class(at, last, "noticed")
    if noticed > at:
        return _Step(noticed)
    is_clause = (
        reading.words.lower[at] in _PRONOUNS
        and reading.after_class(at + 1, last, "copula") > at + 1
    )
    return _Step(at + 1) if is_clause else None


def _verb(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "is now slightly larger", "is noted in the left base", "is 6 mm"."""
    copula = reading.after_class(at, last, "copula")
    if copula == at:
        return None
    compared = read_comparison(reading, copula, last)
    if compared is not None and compared.names_both:
        return _Step(copula)
    stop = predicate_end(reading, copula, last)
    if stop > copula:
        return _Step(stop, (copula, stop))
    while copula < last and reading.is_class(copula, "adverb"):
        copula += 1
    leads_on = (
        any(
            reading.after_class(copula, last, name) > copula
            for name in ("place_preposition", "noticed", "measuring", "copula")
        )
        or read_size(reading, after_bounds(reading, copula, last), last) is not None
    )
    return _Step(copula if leads_on else last)


def _bare_predicate(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "EFFUSION SMALL", "Effusion - small": telegraphic, without a verb."""
    if not reading.kinds(at) & {"severity", "quality", "count"}:
        return None
    stop = predicate_end(reading, at, last)
    ends = _ends(reading, stop, last) or _leads_place(reading, stop, last)
    return _Step(stop, (at, stop)) if stop > at and ends else None


# In the order in which they are tried.
_READERS = (
    _bracket,
    _comparison,
    _measure,
    _earlier,
    _levels,
    _side,
    _place,
    _afterthought,
    _alternative,
    _another_part,
    _change,
    _colon,
    _loose_word,
    _verb,
    _bare_predicate,
)


def predicate_end(reading: Reading, start: int, last: int) -> int:
    """The word after what is said of a subject: "now slightly larger".

    RETURNS (int): `start` itself where nothing describing begins there.
    """
    at = start
    while at < min(last, start + _MAX_PREDICATE):
        if reading.in_cue[at] and reading.kinds(at) != {"change"}:
            return start
        if reading.category(at) == FINDING and "change" not in reading.kinds(at):
            break
        modifier = reading.modifier_of[at]
        if modifier is not None:
            at = max(at + 1, min(modifier.end, last))
        elif (
            reading.is_class(at, "adverb")
            or reading.words.lower[at] in _PREDICATE_JOINS
        ):
            at += 1
        else:
            break
    while at > start and reading.modifier_of[at - 1] is None:
        at -= 1
    # What directly precedes a finding describes that one: "has small effusion".
    return start if at < last and reading.category(at) == FINDING else at


def _ends(reading: Reading, at: int, last: int) -> bool:
    return at >= last or not reading.words.is_word[at]


def _leads_place(reading: Reading, at: int, last: int) -> bool:
    return reading.after_class(at, last, "place_preposition") > at


def _stands_alone(reading: Reading, at: int, last: int) -> bool:
    """Whether describing words end here: at a stop, a place or a loose word."""
    return (
        _ends(reading, at, last)
        or _leads_place(reading, at, last)
        or (reading.category(at) == "" and not reading.in_cue[at])
    )
