"""The scope of a cue: what stands between it and a phrase, and what that lets pass."""

from dataclasses import dataclass
from typing import NamedTuple, Optional

from .data import ABSENT, UNCERTAIN
from .matching import Match
from .reading import Reading
from .vocabulary import ANATOMY, Cue

# No cue speaks of a phrase that is further away (in words), however long a sentence
# without full stops goes on.
REACH = 60
_LONGEST_CUE = 6  # words
# "no large effusion", "no new opacity"
_DENIABLE = frozenset(("large", "severe", "new", "worse", "interval"))
_SMALL_DEGREES = frozenset(("minimal", "mild", "small", "moderate"))
_CONJUNCTIONS = frozenset(("or", "nor", "and", "/"))
_AFTER_CHANGE = frozenset(("in", "of", "to", "from", "since"))
_LINKS = frozenset(("or", "nor", "/", "and/or", "versus", "vs", "vs."))
_LIST_ENDS = frozenset(("or", "nor", "and/or", "versus", "vs", "vs."))


class Found(NamedTuple):
    polarity: str
    start: int
    end: int


def meaning_of(cue: Match[tuple[Cue, ...]], direction: str) -> Optional[Cue]:
    return next((m for m in cue.value if m.direction == direction), None)


@dataclass
class Between:
    """What stands between a phrase and the word where a search in front of it is.

    closed (bool): A cue that reaches the next phrase only does not reach over it.
    clause_ended (bool): No cue reaches over it.
    denial_ended (bool): No negation reaches over it.
    crossed_phrase (bool): Another phrase or a comma is there.
    affirming (bool): "consistent with" or the like is there.
    affirmed (bool): ... behind a comma: no doubt reaches over both, "suggestive of
        adenopathy, consistent with sarcoidosis".
    doubt (Optional[Found]): The nearest uncertain cue.
    carried (bool): That cue passes a negation on: "no opacity to suggest pneumonia".
    """

    closed: bool = False
    clause_ended: bool = False
    denial_ended: bool = False
    crossed_phrase: bool = False
    affirming: bool = False
    affirmed: bool = False
    doubt: Optional[Found] = None
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
            or self.affirmed
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
            if _is_doubt_aside(reading, at):
                return  # "less likely, pneumonia"
            self.affirmed |= self.affirming
            self.crossed_phrase = True
            self.closed |= not is_in_or_list(reading, at)
            self.clause_ended |= _comma_ends_clause(reading, at)
            self.denial_ended |= _comma_ends_denial(reading, at)
        elif word in _LINKS:
            return
        elif word == "and" or not words.is_word[at]:
            self.closed = True
            self.denial_ended |= word == "and" and _opens_degree(reading, at + 1)
        elif word == "with" and (
            _opens_finding(reading, at) or _opens_degree(reading, at + 1)
        ):
            self.denial_ended = True
        elif reading.is_class(at, "showing_verb"):
            self.closed = True  # "none of the films shows a fracture"
        elif reading.is_class(at, "finite_verb"):
            self.closed = self.clause_ended = True
        elif reading.category(at) not in ("", ANATOMY):
            self.crossed_phrase = True
            # "no effusion mild edema": two statements without a full stop.
            self.denial_ended |= _opens_degree(reading, at + 1)
            following = words.lower[at + 1] if at + 1 < start else "or"
            if following != "," and following not in _LINKS:
                self.closed = True


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
    for i in range(at, min(last, at + REACH)):
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
        return not is_in_or_list(reading, comma)
    if _opens_degree(reading, comma + 1):
        return True
    match = reading.modifier_of[comma + 1] if comma + 1 < last else None
    if match is None or not any(
        kind in ("change", "severity") and value not in _DENIABLE
        for kind, value in match.value
    ):
        return False
    return not any(
        reading.words.lower[i] in _CONJUNCTIONS
        for i in range(comma + 1, min(last, comma + REACH))
    )


def _opens_degree(reading: Reading, at: int) -> bool:
    """Whether a small degree or a size begins at a word: nobody denies "a mild" one.

    "No pneumothorax and small effusion", "no mass, 5 mm nodule"; a list with "or" goes
    on behind it.
    """
    words = reading.words
    _, last = reading.sentence(at - 1)
    match = reading.modifier_of[at] if at < last else None
    is_degree = (
        match is not None
        and match.start == at
        and any(k == "severity" and v in _SMALL_DEGREES for k, v in match.value)
    )
    is_size = (
        at + 1 < last and words.is_number[at] and words.lower[at + 1] in ("mm", "cm")
    )
    return (is_degree or is_size) and "or" not in words.lower[
        at : min(last, at + REACH)
    ]


def _is_doubt_aside(reading: Reading, comma: int) -> bool:
    cue = reading.cue_ending.get(comma)
    return cue is not None and any(m.polarity == UNCERTAIN for m in cue.value)


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


def is_in_or_list(reading: Reading, comma: int) -> bool:
    """Whether a comma joins members of a list that ends with "or"."""
    words = reading.words
    _, last = reading.sentence(comma)
    for at in range(comma + 1, min(last, comma + REACH)):
        if words.lower[at] in _LIST_ENDS:
            return True
        if words.lower[at] == "and" or reading.is_class(at, "finite_verb"):
            return False
        if not words.is_word[at] and words.lower[at] != ",":
            return False
    return False
