"""Assertion of a phrase: which cue, if any, says that it is absent or uncertain.

The scope rules go word by word from the phrase to the ends of its sentence, in the
manner of NegEx (Chapman et al. 2001) and ConText (Harkema et al. 2009), with cues that
end, mask or carry a scope, and with the clause structure of report style.
"""

from typing import NamedTuple, Optional

from .data import ABSENT, PRESENT, UNCERTAIN
from .matching import Match
from .reading import Reading
from .scope import REACH, Between, Found, is_masked, meaning_of
from .vocabulary import ANATOMY, DEVICE, FINDING, PROCEDURE, Cue

_LONGEST_CUE = 6  # words
_LONGEST_ASIDE = 12
_ASIDES = frozenset(
    ("which", "that", "seen", "noted", "previously", "described", "now")
)
# Of the cues that carry a negation on, those that say more than "suggestive of".
_AFFIRMING = frozenset(("consistent", "compatible", "representing", "keeping", "in"))
_ALL = frozenset(("all", "both", "each"))
_PLURAL_VERBS = frozenset(("are", "were", "have"))
_EARLIER = frozenset(("prior", "previous", "earlier", "last", "old", "comparison"))


class Assertion(NamedTuple):
    """What a report says of a phrase; words[start:end] are the deciding cue."""

    value: str
    cue: Optional[tuple[int, int]]


def assess_phrase(
    reading: Reading, start: int, end: int, inner_end: int = 0
) -> Assertion:
    """Decide the assertion of words[start:end].

    reading (Reading): The marked words of the Doc.
    start (int): First word of the phrase.
    end (int): Word after the phrase.
    inner_end (int): In a phrase that is a whole clause, "heart is not enlarged", a cue
        in front of this word speaks of the phrase; 0 for all others.
    RETURNS (Assertion): 'present' without a cue where nothing speaks against it.
    """
    first, last = reading.sentence(start)
    last = min(last, end + REACH)
    inside = _inside(reading, start, inner_end)
    before = _before(reading, first, start)
    after = _after(reading, start, end, last)
    for polarity in (ABSENT, UNCERTAIN):
        for found in (inside, before, after):
            if found is not None and found.polarity == polarity:
                return Assertion(polarity, (found.start, found.end))
    return Assertion(PRESENT, None)


def _inside(reading: Reading, start: int, end: int) -> Optional[Found]:
    """A negation within the phrase: "heart is not enlarged"."""
    for at in range(start + 1, end):
        cue = reading.cue_starting.get(at)
        if cue is not None and cue.end <= end:
            meaning = meaning_of(cue, "forward")
            if meaning is None or is_masked(reading, cue, end):
                continue
            if "but" not in reading.words.lower[cue.end : end]:  # "not big but shifted"
                return Found(meaning.polarity, cue.start, cue.end)
    return None


def _before(reading: Reading, first: int, start: int) -> Optional[Found]:
    """The nearest cue in front whose scope reaches the phrase."""
    overlapping = _cue_into(reading, first, start)
    if overlapping is not None:
        return overlapping
    between = Between()
    floor = max(first, start - REACH)
    at = start
    while at > floor:
        cue = reading.cue_ending.get(at)
        if cue is None or cue.start < first:
            at -= 1
            between.pass_word(reading, at, start)
            continue
        at = cue.start
        forward, backward = meaning_of(cue, "forward"), meaning_of(cue, "backward")
        if forward is not None:
            if is_masked(reading, cue, start):
                continue
            if backward is not None and _ends_item(reading, cue, first):
                return between.doubt
            if forward.polarity == ABSENT:
                if _denies_state(reading, cue, start):
                    return between.doubt
                if forward.scope == "phrase" and _is_not_whole(reading, cue):
                    return between.doubt
                if not between.denial_reaches(forward):
                    return between.doubt
                return Found(ABSENT, cue.start, cue.end)
            if between.doubt_reaches(forward):
                between.doubt = Found(forward.polarity, cue.start, cue.end)
                between.carried = meaning_of(cue, "carrier") is not None
                between.crossed_phrase = False
        elif meaning_of(cue, "carrier") or meaning_of(cue, "mask"):
            between.affirming |= reading.words.lower[cue.start] in _AFFIRMING
            continue
        elif meaning_of(cue, "end"):
            return between.doubt
        elif backward is not None and backward.scope == "phrase":
            continue  # "mass or possibly pneumonia": a list goes on
        elif backward is not None:
            if cue.start == first and reading.is_class(cue.end, "copula"):
                # "No longer seen is the effusion": nothing stands before it.
                return Found(backward.polarity, cue.start, cue.end)
            # "effusion has resolved and atelectasis ...": another clause.
            between.clause_ended = True
    return between.doubt


def _denies_state(reading: Reading, cue: Match[tuple[Cue, ...]], start: int) -> bool:
    """Whether a negation speaks of a structure, and what follows stands apart: "heart
    [not] enlarged, tortuous aorta"."""
    words = reading.words
    return (
        words.lower[cue.start : cue.end] == ["not"]
        and cue.start > 0
        and (
            reading.category(cue.start - 1) == ANATOMY
            or reading.is_class(cue.start - 1, "copula")
        )
        and reading.vocabulary.states.longest(words.forms, cue.end, start) is not None
        and "," in words.lower[cue.end : start]
    )


def _after(reading: Reading, start: int, end: int, last: int) -> Optional[Found]:
    """The nearest cue behind the phrase that speaks of it."""
    words = reading.words
    joined = False  # "and", "or" since the last comma: the cue speaks of the list
    commas = crossed = 0
    at = end
    while at < last:
        cue = reading.cue_starting.get(at)
        if cue is not None:
            backward = meaning_of(cue, "backward")
            if backward is not None:
                forward = meaning_of(cue, "forward")
                in_list = commas + (start > 0 and words.lower[start - 1] == ",") > 1
                reaches_on = forward is not None and _has_phrase(reading, cue.end, last)
                afterthought = cue.start == end + 1 and (
                    cue.end == last or words.lower[cue.end] == ","
                )
                if commas and not joined and not afterthought:
                    # "edema, effusion, masses were absent": one list without "and".
                    if not in_list or words.lower[cue.start] not in _PLURAL_VERBS:
                        return None
                elif _is_of_the_past(reading, cue.end, last):
                    return None
                if backward.scope != "list" and at != end:
                    return None
                if backward.scope == "device" and reading.category(end - 1) != DEVICE:
                    return None  # "tube out", but "pass out"
                if crossed and not joined and not in_list:
                    return None
                if reaches_on and cue.start > end:
                    return None
                if (
                    backward.polarity == UNCERTAIN
                    and backward.scope == "list"
                    and not reading.is_class(cue.end - 1, "preposition")
                    and _leads_to_phrase(reading, cue.end, last)
                ):
                    return None  # "the density [is likely] atelectasis"
                if any(reading.is_class(i, "partial") for i in range(end, cue.end)):
                    return None  # "has almost resolved"
                return Found(backward.polarity, cue.start, cue.end)
            if meaning_of(cue, "mask") or meaning_of(cue, "carrier"):
                if meaning_of(cue, "carrier"):
                    return None
                at = cue.end
                continue
            forward = meaning_of(cue, "forward")
            behind = at == end or (at == end + 1 and words.lower[end] in (",", "|"))
            if forward is not None and cue.end == last and behind:
                # "Effusion: no", with nothing behind that it could speak of.
                return Found(forward.polarity, cue.start, cue.end)
            return None
        word = words.lower[at]
        if word == ":":
            end = at + 1 if at == end else end
        elif word == ",":
            aside = _aside_end(reading, at, last)
            if aside > at:
                at = aside
                continue
            commas += 1
            joined = False
        elif word in ("and", "or", "nor", "/"):
            joined = True
        elif reading.is_class(at, "finite_verb") and not _leads_to_cue(
            reading, at, last
        ):
            return None
        elif reading.category(at) not in ("", ANATOMY, PROCEDURE):
            crossed += 1  # "the nodule of the prior study is not seen"
        at += 1
    return None


def _ends_item(reading: Reading, cue: Match[tuple[Cue, ...]], first: int) -> bool:
    """Whether a cue speaks of what is in front of it: "pneumothorax none, ..."."""
    words = reading.words
    before = cue.start - 1
    if words.lower[cue.end] != "," or before < first:
        return False
    is_label = words.lower[before] == ":" and before > first
    return reading.category(before - is_label) not in ("", ANATOMY)


def _is_of_the_past(reading: Reading, at: int, last: int) -> bool:
    """Whether a cue speaks of another study: "not present [on the prior film]"."""
    words = reading.words
    return (
        at < last
        and words.lower[at] in ("on", "in")
        and not _EARLIER.isdisjoint(words.lower[at + 1 : min(at + 4, last)])
    )


def _cue_into(reading: Reading, first: int, start: int) -> Optional[Found]:
    """A cue that begins in front of the phrase and shares its first words."""
    for at in range(max(first, start - _LONGEST_CUE), start):
        cue = reading.cue_starting.get(at)
        if cue is not None and cue.end > start:
            # "no" of "[no increase] in heart size": the mask must not hide the cue
            # where the phrase itself begins within it.
            cues, surface = reading.vocabulary.cues, reading.words.surface
            cue = cues.longest(surface, at, start) or cue
            forward = meaning_of(cue, "forward")
            if forward is not None and not is_masked(reading, cue, start):
                return Found(forward.polarity, cue.start, start)
    return None


def _is_not_whole(reading: Reading, cue: Match[tuple[Cue, ...]]) -> bool:
    """Whether a resolution is denied or partial: "not yet resolved", "nearly"."""
    for back in (0, 1):
        before = reading.cue_ending.get(cue.start - back)
        if before is not None and meaning_of(before, "forward"):
            return True
        if cue.start - back > 0 and reading.is_class(cue.start - back - 1, "partial"):
            return True
    return False


def _aside_end(reading: Reading, comma: int, last: int) -> int:
    """The word after ", seen earlier on the left,"; the comma itself where none is."""
    words = reading.words
    if comma + 1 >= last or words.lower[comma + 1] not in _ASIDES:
        return comma
    for at in range(comma + 1, min(last, comma + _LONGEST_ASIDE)):
        if words.lower[at] == ",":
            return at + 1
        if reading.category(at) not in ("", ANATOMY):
            break
    return comma


def _leads_to_cue(reading: Reading, at: int, last: int) -> bool:
    """Whether only a verb group stands between a finite verb and a cue."""
    words = reading.words
    for i in range(at + 1, min(at + 4, last)):
        cue = reading.cue_starting.get(i)
        if cue is not None and meaning_of(cue, "backward"):
            return True
        if not (
            reading.is_class(i, "adverb")
            or reading.is_class(i, "copula")
            or words.lower[i] in _ALL
            or words.lower[i].endswith("ly")
        ):
            return False
    return False


def _leads_to_phrase(reading: Reading, at: int, last: int) -> bool:
    """Whether a finding follows with nothing but descriptions in front of it."""
    while at < last and (
        reading.is_class(at, "determiner")
        or (reading.category(at) in ("", ANATOMY) and reading.kinds(at))
        or reading.category(at) == ANATOMY
    ):
        at += 1
    return at < last and reading.category(at) == FINDING


def _has_phrase(reading: Reading, at: int, last: int) -> bool:
    return any(
        reading.category(i) not in ("", ANATOMY, PROCEDURE)
        for i in range(at, min(at + 4, last))
    )
