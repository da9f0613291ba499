"""Why a candidate is no clinical entity: one pure function per reason (paper, 3.1)."""

from .history import HISTORY, HYPOTHETICAL, set_aside
from .phrases import Phrase, is_describing_word
from .reading import Reading
from .vocabulary import ANATOMY, CHEMICAL, DEVICE, FINDING, OTHER, PROCEDURE
from .words import is_nominal

IGNORED = "IGNORE"
_DIAGNOSTIC = "diagnostic"
_GENERIC = "generic"
_JOINS = frozenset(("/", "and", "&", ",", "or"))
_LONGEST_HEADING = 12  # words
_BEYOND_CHEST = frozenset(("abdomen", "limb", "other"))


def is_device(reading: Reading, phrase: Phrase, category: str) -> bool:
    """Lab equipment: "endotracheal tube", "sternotomy wires"."""
    return category == DEVICE


def is_heading(reading: Reading, phrase: Phrase) -> bool:
    """Whether a device only heads what is said of devices: "Lines/tubes: ..."."""
    words = reading.words
    first, last = reading.sentence(phrase.start)
    at, last = first, min(last, first + _LONGEST_HEADING)
    while at < last and (
        reading.is_class(at, "device_heading") or words.lower[at] in _JOINS
    ):
        at += 1
    return phrase.end <= at < last and words.lower[at] == ":"


def is_anatomy(reading: Reading, phrase: Phrase, category: str) -> bool:
    """A structure of which nothing is said: "right lung base"."""
    return category == ANATOMY


def is_diagnostic_procedure(reading: Reading, phrase: Phrase, category: str) -> bool:
    """ "CT", "comparison"; a treatment ("lobectomy") is none, but "surgery" alone says
    nothing of the chest."""
    if category != PROCEDURE:
        return False
    term = reading.term_of[phrase.head_start]
    if term is None or term.value.kind in ("", _DIAGNOSTIC):
        return True
    if term.value.kind == _GENERIC:  # "after surgery"
        return phrase.end - phrase.start == phrase.head_end - phrase.head_start
    following = reading.term_of[term.end] if term.end < len(reading.words) else None
    # "post thoracentesis film"
    return (
        following is not None
        and following.value.category == PROCEDURE
        and following.value.kind == _DIAGNOSTIC
    )


def is_change_only(reading: Reading, phrase: Phrase, category: str) -> bool:
    """Only words of change: "interval improvement"."""
    words = range(phrase.head_start, phrase.head_end)
    return all(
        reading.is_class(at, "change_noun") or reading.kinds(at) == {"change"}
        for at in words
    )


def is_single_adjective(reading: Reading, phrase: Phrase, category: str) -> bool:
    """Nothing but describing words: "patchy", "left basilar"."""
    if phrase.is_predicate or category in (DEVICE, ANATOMY, PROCEDURE, CHEMICAL):
        return False
    return all(
        is_describing_word(reading, at)
        and not is_nominal(reading.words.pos[at])
        and reading.category(at) == ""
        for at in range(phrase.head_start, phrase.head_end)
    )


def is_not_clinical(reading: Reading, phrase: Phrase, category: str) -> bool:
    """No finding: report words, people, times; a generic word with no description."""
    if category == IGNORED:
        return True
    head = phrase.head_end - 1
    term = reading.term_of[head]
    if category == FINDING and term is not None and term.value.category == FINDING:
        return (
            term.value.kind == _GENERIC
            and not phrase.is_predicate
            and phrase.end - phrase.start == phrase.head_end - phrase.head_start
            and not phrase.apart
            and not _is_named(reading, phrase)
        )
    if category == OTHER and term is None:
        return any(
            form in reading.vocabulary.not_clinical
            for form in reading.words.forms[head]
        )
    return False


def _is_named(reading: Reading, phrase: Phrase) -> bool:
    """Whether a cue or a place makes a generic word say something: "no lesion"."""
    first, last = reading.sentence(phrase.start)
    words = reading.words
    if phrase.start > first and reading.in_cue[phrase.start - 1]:
        return True
    at = phrase.end
    for name in ("copula", "noticed"):
        at = reading.after_class(at, last, name)
    after = reading.after_class(at, last, "place_preposition")
    return after > at and any(
        reading.category(at) == ANATOMY or reading.kinds(at) & {"side", "location"}
        for at in range(after, min(after + 4, last))
        if words.is_word[at]
    )


def is_history(reading: Reading, phrase: Phrase, category: str) -> bool:
    """Told of the past or of others: "history of asthma", "family history of"."""
    return set_aside(reading, phrase.start, phrase.end) == HISTORY


def is_hypothetical(reading: Reading, phrase: Phrase, category: str) -> bool:
    """Only looked for or thought of: "rule out pneumonia", "could obscure a nodule"."""
    return set_aside(reading, phrase.start, phrase.end) == HYPOTHETICAL


def is_beyond_chest(reading: Reading) -> bool:
    """Whether a report names structures, and nothing in or at the chest."""
    regions = {
        reading.vocabulary.regions.get(term.value.concept, "")
        for term in reading.terms
        if term.value.category == ANATOMY
    }
    if not regions or not regions <= _BEYOND_CHEST:
        return False
    # Words tell of the chest where no structure does: "stable chest".
    stems = tuple(reading.vocabulary.classes["chest_stem"])
    return not any(word.startswith(stems) for word in reading.words.lower)


# In the order in which they are asked; the first that holds names the reason.
REASONS = {
    "device": is_device,
    "procedure": is_diagnostic_procedure,
    "anatomy": is_anatomy,
    "change_only": is_change_only,
    "single_adjective": is_single_adjective,
    "not_clinical": is_not_clinical,
    HISTORY: is_history,
    HYPOTHETICAL: is_hypothetical,
}
