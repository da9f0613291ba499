"""Assertion of a phrase: which cue, if any, says that it is absent or uncertain.

The scope rules go word by word from the phrase to the ends of its sentence, in the
manner of NegEx (Chapman et al. 2001) and ConText (Harkema et al. 2009), with cues that
end, mask or carry a scope, and with the clause structure of report style.
"""

from dataclasses import dataclass
from typing import NamedTuple, Optional

from .data import ABSENT, PRESENT, UNCERTAIN
from .matching import Match
from .reading import Reading
from .vocabulary import ANATOMY, Cue

# Why a phrase is no finding of this study.
HISTORY = "history"
HYPOTHETICAL = "hypothetical"
_LONGEST_CUE = 6  # words
_LONGEST_ASIDE = 12
# No cue speaks of a phrase that is further away, however long a sentence without
# full stops goes on.
_REACH = 60
# "no large effusion", "no new opacity"
_DENIABLE = frozenset(("large", "severe", "new", "worse", "interval"))
_CONJUNCTIONS = frozenset(("or", "nor", "and", "/"))
_AFTER_CHANGE = frozenset(("in", "of", "to", "from", "since"))
_ASIDES = frozenset(
    ("which", "that", "seen", "noted", "previously", "described", "now")
)
_LINKS = frozenset(("or", "nor", "/", "and/or", "versus", "vs", "vs."))
_ALL = frozenset(("all", "both", "each"))
_PLURAL_VERBS = frozenset(("are", "were", "have"))
_EARLIER = frozenset(("prior", "previous", "earlier", "last", "old", "comparison"))
_AT_PRESENT = frozenset(("now", "today", "currently"))
_LIST_ENDS = frozenset(("or", "nor", "and/or", "versus", "vs", "vs."))


class Assertion(NamedTuple):
    """What a report says of a phrase; words[start:end] are the deciding cue."""

    value: str
    cue: Optional[tuple[int, int]]


class _Found(NamedTuple):
    polarity: str
    start: int
    end: int


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
    last = min(last, end + _REACH)
    inside = _inside(reading, start, inner_end)
    before = _before(reading, first, start)
    after = _after(reading, start, end, last)
    for polarity in (ABSENT, UNCERTAIN):
        for found in (inside, before, after):
            if found is not None and found.polarity == polarity:
                return Assertion(polarity, (found.start, found.end))
    return Assertion(PRESENT, None)


def set_aside(reading: Reading, start: int, end: int) -> str:
    """Why a phrase is told, but not as a finding of this study.

    "history of asthma", "CT to exclude a mass"; what is denied was looked for.

    reading (Reading): The marked words.
    start (int): First word of the phrase.
    end (int): Word after the phrase.
    RETURNS (str): `HISTORY`, `HYPOTHETICAL` or '' for a finding like any other.
    """
    if reading.words.sentence_of[start] not in reading.told_apart:
        return ""
    assertion = assess_phrase(reading, start, end)
    if assertion.value == ABSENT:
        return ""
    if assertion.cue is not None:
        cue = reading.cue_starting.get(assertion.cue[0])
        if cue is not None and any(m.polarity == HYPOTHETICAL for m in cue.value):
            return HYPOTHETICAL
    return HISTORY if _is_history(reading, start) else ""


def _is_history(reading: Reading, start: int) -> bool:
    first, _ = reading.sentence(start)
    between = _Between()
    for at in range(start - 1, max(first, start - _REACH) - 1, -1):
        if at + 1 in reading.history_ending:
            return True
        cue = reading.cue_ending.get(at + 1)
        if cue is not None and _meaning(cue, "end"):
            return False
        if reading.words.lower[at] in _AT_PRESENT:
            return False
        between.pass_word(reading, at, start)
        if between.clause_ended or between.denial_ended:
            return False
    return False


def _meaning(cue: Match[tuple[Cue, ...]], direction: str) -> Optional[Cue]:
    return next((m for m in cue.value if m.direction == direction), None)


def _inside(reading: Reading, start: int, end: int) -> Optional[_Found]:
    """A negation within the phrase: "heart is not enlarged"."""
    for at in range(start + 1, end):
        cue = reading.cue_starting.get(at)
        if cue is not None and cue.end <= end:
            meaning = _meaning(cue, "forward")
            if meaning is not None and not is_masked(reading, cue, end):
                return _Found(meaning.polarity, cue.start, cue.end)
    return None


@dataclass
class _Between:
    """What stands between a phrase and the word where a search in front of it is.

    closed (bool): A cue that reaches the next phrase only does not reach over it.
    clause_ended (bool): No cue reaches over it.
    denial_ended (bool): No negation reaches over it.
    crossed_phrase (bool): Another phrase or a comma is there.
    doubt (Optional[_Found]): The nearest uncertain cue.
    carried (bool): That cue passes a negation on: "no opacity to suggest pneumonia".
    """

    closed: bool = False
    clause_ended: bool = False
    denial_ended: bool = False
    crossed_phrase: bool = False
    doubt: Optional[_Found] = None
    carried: bool = False

    def denial_reaches(self, cue: Cue) -> bool:
        """Whether a negation in front of all this speaks of the phrase."""
        if self.clause_ended or self.denial_ended:
            return False
        if cue.scope == "phrase" and self.closed:
            return False
        # "no mass, possible effusion": a doubt of its own, unless it is carried on.
        return self.doubt is None or not self.crossed_phrase or self.carried

    def doubt_reaches(self, cue: Cue) -> bool:
        """Whether an uncertain cue in front of all this speaks of the phrase."""
        return not (
            self.doubt is not None
            or self.clause_ended
            or (cue.scope == "phrase" and self.closed)
        )

    def pass_word(self, reading: Reading, at: int, start: int) -> None:
        """Take a word that is no cue into account.

        reading (Reading): The marked words.
        at (int): The word.
        start (int): First word of the phrase.
        """
        words = reading.words
        word = words.lower[at]
        if word == ",":
            if at in reading.cue_ending:
                return  # "less likely, pneumonia"
            self.crossed_phrase = True
            self.closed |= not _is_in_or_list(reading, at)
            self.clause_ended |= _comma_ends_clause(reading, at)
            self.denial_ended |= _comma_ends_denial(reading, at)
        elif word in _LINKS:
            return
        elif word == "and" or not words.is_word[at]:
            self.closed = True
        elif word == "with" and _opens_finding(reading, at):
            self.denial_ended = True
        elif reading.is_class(at, "showing_verb"):
            self.closed = True  # "none of the films shows a fracture"
        elif reading.is_class(at, "finite_verb"):
            self.closed = self.clause_ended = True
        elif reading.category(at) not in ("", ANATOMY):
            self.crossed_phrase = True
            following = words.lower[at + 1] if at + 1 < start else "or"
            if following != "," and following not in _LINKS:
                self.closed = True


def _before(reading: Reading, first: int, start: int) -> Optional[_Found]:
    """The nearest cue in front whose scope reaches the phrase."""
    overlapping = _cue_into(reading, first, start)
    if overlapping is not None:
        return overlapping
    between = _Between()
    floor = max(first, start - _REACH)
    at = start
    while at > floor:
        cue = reading.cue_ending.get(at)
        if cue is None or cue.start < first:
            at -= 1
            between.pass_word(reading, at, start)
            continue
        at = cue.start
        forward, backward = _meaning(cue, "forward"), _meaning(cue, "backward")
        if forward is not None:
            if is_masked(reading, cue, start):
                continue
            if forward.polarity == ABSENT:
                if forward.scope == "phrase" and _is_not_whole(reading, cue):
                    return between.doubt
                if not between.denial_reaches(forward):
                    return between.doubt
                return _Found(ABSENT, cue.start, cue.end)
            if between.doubt_reaches(forward):
                between.doubt = _Found(forward.polarity, cue.start, cue.end)
                between.carried = _meaning(cue, "carrier") is not None
                between.crossed_phrase = False
        elif _meaning(cue, "carrier") or _meaning(cue, "mask"):
            continue
        elif _meaning(cue, "end"):
            return between.doubt
        elif backward is not None and backward.scope == "phrase":
            continue  # "mass or possibly pneumonia": a list goes on
        elif backward is not None:
            if cue.start == first and reading.is_class(cue.end, "copula"):
                # "No longer seen is the effusion": nothing stands before it.
                return _Found(backward.polarity, cue.start, cue.end)
            # "effusion has resolved and atelectasis ...": another clause.
            between.clause_ended = True
    return between.doubt


def _after(reading: Reading, start: int, end: int, last: int) -> Optional[_Found]:
    """The nearest cue behind the phrase that speaks of it."""
    words = reading.words
    joined = False  # "and", "or" since the last comma: the cue speaks of the list
    commas = crossed = 0
    at = end
    while at < last:
        cue = reading.cue_starting.get(at)
        if cue is not None:
            backward = _meaning(cue, "backward")
            if backward is not None:
                forward = _meaning(cue, "forward")
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
                if backward.scope == "phrase" and at != end:
                    return None
                if crossed and not joined and not in_list:
                    return None
                if reaches_on and cue.start > end:
                    return None
                if any(reading.is_class(i, "partial") for i in range(end, cue.end)):
                    return None  # "has almost resolved"
                return _Found(backward.polarity, cue.start, cue.end)
            if _meaning(cue, "mask") or _meaning(cue, "carrier"):
                if _meaning(cue, "carrier"):
                    return None
                at = cue.end
                continue
            forward = _meaning(cue, "forward")
            if forward is not None and cue.end == last and at == end:
                # "Effusion: no", with nothing behind that it could speak of.
                return _Found(forward.polarity, cue.start, cue.end)
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
        elif reading.category(at) not in ("", ANATOMY):
            crossed += 1
        at += 1
    return None


def _is_of_the_past(reading: Reading, at: int, last: int) -> bool:
    """Whether a cue speaks of another study: "not present [on the prior film]"."""
    words = reading.words
    return (
        at < last
        and words.lower[at] in ("on", "in")
        and not _EARLIER.isdisjoint(words.lower[at + 1 : min(at + 4, last)])
    )


def _cue_into(reading: Reading, first: int, start: int) -> Optional[_Found]:
    """A cue that begins in front of the phrase and shares its first words."""
    for at in range(max(first, start - _LONGEST_CUE), start):
        cue = reading.cue_starting.get(at)
        if cue is not None and cue.end > start:
            # "no" of "[no increase] in heart size": the mask must not hide the cue
            # where the phrase itself begins within it.
            cues, surface = reading.vocabulary.cues, reading.words.surface
            cue = cues.longest(surface, at, start) or cue
            forward = _meaning(cue, "forward")
            if forward is not None and not is_masked(reading, cue, start):
                return _Found(forward.polarity, cue.start, start)
    return None


def _is_not_whole(reading: Reading, cue: Match[tuple[Cue, ...]]) -> bool:
    """Whether a resolution is denied or partial: "not yet resolved", "nearly"."""
    for back in (0, 1):
        before = reading.cue_ending.get(cue.start - back)
        if before is not None and _meaning(before, "forward"):
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


def is_masked(reading: Reading, cue: Match[tuple[Cue, ...]], stop: int) -> bool:
    """Whether a negation speaks of a change: "no interval increase in effusion".

    reading (Reading): The marked words.
    cue (Match): The cue.
    stop (int): Where the phrase begins: a phrase may itself be a change.
    """
    if not any(m.polarity == ABSENT for m in cue.value):
        return False
    words = reading.words
    last = min(stop, reading.sentence(cue.start)[1])
    at = cue.end
    # "no appreciable", "not much", "has not been any": whatever stands in front of it.
    while at < min(last, cue.end + _LONGEST_CUE) and not (
        reading.is_class(at, "change_noun")
        or not words.is_word[at]
        or reading.category(at) not in ("", ANATOMY)
        or words.lower[at] in _AFTER_CHANGE
    ):
        at += 1
    while at < last and reading.is_class(at, "change_noun"):
        at += 1
        if at < last and words.lower[at] in _AFTER_CHANGE:
            return True
        if (
            at < last
            and not reading.is_class(at, "change_noun")
            and reading.category(at) not in ("", ANATOMY)
        ):
            return False
    return False


def _leads_to_cue(reading: Reading, at: int, last: int) -> bool:
    """Whether only a verb group stands between a finite verb and a cue."""
    words = reading.words
    for i in range(at + 1, min(at + 4, last)):
        cue = reading.cue_starting.get(i)
        if cue is not None and _meaning(cue, "backward"):
            return True
        if not (
            reading.is_class(i, "adverb")
            or reading.is_class(i, "copula")
            or words.lower[i] in _ALL
            or words.lower[i].endswith("ly")
        ):
            return False
    return False


def _comma_ends_clause(reading: Reading, comma: int) -> bool:
    """Whether a new clause starts behind a comma: ", the heart is enlarged".

    A last member of a list ("..., or pneumothorax is seen") starts none.
    """
    words = reading.words
    _, last = reading.sentence(comma)
    at = comma + 1
    if at >= last or words.lower[at] in ("or", "nor", "and", "/"):
        return False
    if words.lower[at] in ("the", "there", "with"):
        return words.lower[at] != "with"
    for i in range(at, min(last, at + _REACH)):
        if words.lower[i] == "," or words.lower[i] in _CONJUNCTIONS:
            return False
        if reading.is_class(i, "finite_verb"):
            return True
    return False


def _comma_ends_denial(reading: Reading, comma: int) -> bool:
    """Whether a denial ends at a comma: "no effusion, mild edema".

    Nobody denies a degree or a change, but for "no large effusion" and in lists that
    go on with "or".
    """
    first, last = reading.sentence(comma)
    if comma > first + 1 and reading.is_class(comma - 1, "noticed"):
        # "no effusion seen, calcified hila": that was all that was looked for.
        return not _is_in_or_list(reading, comma)
    match = reading.modifier_of[comma + 1] if comma + 1 < last else None
    if match is None or not any(
        kind in ("change", "severity") and value not in _DENIABLE
        for kind, value in match.value
    ):
        return False
    return not any(
        reading.words.lower[i] in _CONJUNCTIONS
        for i in range(comma + 1, min(last, comma + _REACH))
    )


def _opens_finding(reading: Reading, at: int) -> bool:
    """Whether "with" tells of a finding by its side or degree: "with small left".

    Nobody denies one finding together with such a one: "no cardiomegaly with ...".
    """
    kinds = {
        kind
        for i in range(at + 1, min(at + 4, len(reading.words)))
        for kind in reading.kinds(i)
    }
    return bool(kinds & {"side", "count"}) and "severity" in kinds


def _is_in_or_list(reading: Reading, comma: int) -> bool:
    """Whether a comma joins members of a list that ends with "or"."""
    words = reading.words
    _, last = reading.sentence(comma)
    for at in range(comma + 1, min(last, comma + _REACH)):
        if words.lower[at] in _LIST_ENDS:
            return True
        if words.lower[at] == "and" or reading.is_class(at, "finite_verb"):
            return False
        if not words.is_word[at] and words.lower[at] != ",":
            return False
    return False


def _has_phrase(reading: Reading, at: int, last: int) -> bool:
    return any(
        reading.category(i) not in ("", ANATOMY) for i in range(at, min(at + 4, last))
    )
