"""What stands behind a finding and describes it: places, measures, predicates."""

from collections.abc import Iterable
from typing import NamedTuple, Optional

from .measures import read_size
from .phrases import place_end, skip_articles
from .reading import Reading
from .vocabulary import FINDING

_MEASURING = frozenset(("measuring", "measures", "measured", "measure", "sized"))
# Between "measuring" and its number, beside adverbs and prepositions.
_UP_TO = frozenset(("up", "to", "approximately", "about"))
_PREDICATE_JOINS = frozenset(("and", "in", "size", "to"))
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
    while at < last:
        step = next(
            (step for read in _READERS if (step := read(reading, at, last))), None
        )
        if step is None:
            return
        if step.found is not None:
            yield step.found
        at = step.next


def _bracket(reading: Reading, at: int, last: int) -> Optional[_Step]:
    return _Step(at + 1) if reading.words.lower[at] == "(" else None


def _measure(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "12 x 9 mm", "measuring up to 12 mm"."""
    words = reading.words
    size = read_size(reading, at, last)
    if size is not None:
        return _Step(size[0], (at, size[0]))
    if words.lower[at] not in _MEASURING:
        return None
    at += 1
    while at < last and (
        reading.is_class(at, "preposition")
        or reading.is_class(at, "adverb")
        or words.lower[at] in _UP_TO
    ):
        at += 1
    return _Step(at if at < last and words.is_number[at] else last)


def _side(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "effusions [bilaterally]", "effusion [on the left]"."""
    if not reading.kinds(at) & {"side", "location"}:
        return None
    stop = place_end(reading, at, last)
    if stop < last and reading.category(stop) == FINDING:
        return _Step(last)
    return _Step(stop, (at, stop))


def _place(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "in the left lower lobe"; "of 5 mm" is left to the measure."""
    after = reading.after_class(at, last, "place_preposition")
    if after == at:
        return None
    after = skip_articles(reading, after, last)
    stop = place_end(reading, after, last)
    if stop > after:
        return _Step(stop, (after, stop))
    return _Step(last if read_size(reading, after, last) is None else after)


def _afterthought(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ ", stable", ", larger than before", "(5 mm) in the left base"."""
    words = reading.words
    lower = words.lower[at]
    if lower not in (")", ","):
        return None
    at += 1
    if at >= last:
        return _Step(last)
    if lower == ")" and reading.after_class(at, last, "place_preposition") > at:
        return _Step(at)
    size = read_size(reading, at, last)
    if words.lower[at] in _MEASURING or (
        size is not None and (size[0] >= last or not words.is_word[size[0]])
    ):
        return _Step(at)
    # Only what stands alone: in ", left nodule" another phrase begins.
    stop = predicate_end(reading, at, last)
    if stop == at or not _stands_alone(reading, stop, last):
        return _Step(last)
    return _Step(stop, (at, stop))


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
    """ "Effusion: small"."""
    if reading.words.lower[at] != ":":
        return None
    stop = predicate_end(reading, at + 1, last)
    return _Step(last, (at + 1, stop) if stop > at + 1 else None)


def _loose_word(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "now", "seen": nothing by itself, something may follow."""
    if reading.is_class(at, "adverb"):
        return _Step(at + 1)
    noticed = reading.after_class(at, last, "noticed")
    return _Step(noticed) if noticed > at else None


def _verb(reading: Reading, at: int, last: int) -> Optional[_Step]:
    """ "is now slightly larger", "is noted in the left base"."""
    copula = reading.after_class(at, last, "copula")
    if copula == at:
        return None
    stop = predicate_end(reading, copula, last)
    if stop > copula:
        return _Step(stop, (copula, stop))
    leads_on = any(
        reading.after_class(copula, last, name) > copula
        for name in ("place_preposition", "noticed")
    )
    return _Step(copula if leads_on else last)


# In the order in which they are tried.
_READERS = (
    _bracket,
    _measure,
    _side,
    _place,
    _afterthought,
    _change,
    _colon,
    _loose_word,
    _verb,
)


def predicate_end(reading: Reading, start: int, last: int) -> int:
    """The word after what is said of a subject: "now slightly larger".

    RETURNS (int): `start` itself where nothing describing begins there.
    """
    at = start
    while at < min(last, start + _MAX_PREDICATE):
        if reading.in_cue[at]:
            return start
        if reading.category(at) == FINDING and "change" not in reading.kinds(at):
            break
        if (
            reading.modifier_of[at] is not None
            or reading.is_class(at, "adverb")
            or reading.words.lower[at] in _PREDICATE_JOINS
        ):
            at += 1
        else:
            break
    while at > start and reading.modifier_of[at - 1] is None:
        at -= 1
    # What directly precedes a finding describes that one: "has small effusion".
    return start if at < last and reading.category(at) == FINDING else at


def _stands_alone(reading: Reading, at: int, last: int) -> bool:
    """Whether describing words end here: at a stop, a place or a loose word."""
    return (
        at >= last
        or not reading.words.is_word[at]
        or reading.after_class(at, last, "place_preposition") > at
        or (reading.category(at) == "" and not reading.in_cue[at])
    )
