"""What may be an entity: terms of the lists, abnormal states, unknown noun phrases."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Optional

from .matching import Match
from .phrases import LONGEST_PHRASE
from .reading import Reading
from .vocabulary import ANATOMY, ANATOMY_MARK, ANY_ANATOMY, FINDING, OTHER, State, Term
from .words import is_nominal

_JOINS = frozenset((",", "and", "or", "to", "/", "&", "but"))
# "normal in size and contour, not widened", "shifted to the left, not enlarged"
_OUTLINES = frozenset(
    ("size", "contour", "contours", "shape", "width", "position", "in")
)
_WHICH = frozenset(("which", "that"))
_TOWARDS = frozenset(("to", "towards", "toward", "the"))
_DASHES = frozenset("-\u2013\u2014\u2212")
# Of a verb, and of the adjective made of it: "obscures", "obscured".
_VERB_ENDINGS = (("es", "ed"), ("s", "ed"), ("ing", "ed"))
_LONGEST_HEAD = 4  # words
_GENERIC = "generic"
# The `kb_id_` of spans whose `id_` is a concept of the word lists.
SOURCE_ID = "spacy-mcse"
_SHORTEST_NOUN = 3
# Taggers take such words for nouns now and then.
_NO_HEADS = (
    "light_noun",
    "determiner",
    "finite_verb",
    "copula",
    "adverb",
    "preposition",
)


class Candidate(NamedTuple):
    """words[start:end] as a possible entity.

    label (str): Category.
    concept (str): Key of the lists, '' for an unknown phrase.
    assertion (str): What another component says of it; '' where our rules decide.
    """

    start: int
    end: int
    label: str
    concept: str
    assertion: str = ""


def find_candidates(
    reading: Reading, noun_phrases: Sequence[tuple[int, int]] = ()
) -> list[Candidate]:
    """All candidates of a Doc in text order.

    reading (Reading): The marked words.
    noun_phrases (Sequence[tuple]): Word ranges of the parse's noun phrases, each
        ending with its head; empty without a parse.
    RETURNS (list[Candidate]): States such as "aorta is calcified and tortuous" may
        overlap; no two candidates share both start and end.
    """
    states = list(_states(reading))
    used = {at for state in states for at in range(state.start, state.end)}
    found = [
        Candidate(term.start, term.end, term.value.category, term.value.concept)
        for term in _terms(reading)
        if not used.issuperset(range(term.start, term.end))
        or term.value.category not in (ANATOMY, FINDING)
    ]
    covered = used | {at for c in found for at in range(c.start, c.end)}
    found += states
    found += _unknown_words(reading, covered)
    found += _unknown_phrases(reading, noun_phrases, found)
    unique = {(c.start, c.end): c for c in reversed(found)}
    return sorted(unique.values(), key=_position)


def _position(candidate: Candidate) -> tuple[int, int]:
    return candidate.start, candidate.end


def _terms(reading: Reading) -> Iterable[Match]:
    """The terms; one next to a generic one is joined with it: "mass lesion"."""
    words = reading.words
    previous: Optional[Match] = None
    for term in reading.terms:
        if all(reading.in_cue[term.start : term.end]) or reading.is_likened(term.end):
            continue  # "no sign of", "flu-like"
        if (
            previous is not None
            and previous.end == term.start
            and words.sentence_of[previous.start] == words.sentence_of[term.start]
            and previous.value.category == term.value.category == FINDING
            and _GENERIC in (previous.value.kind, term.value.kind)
        ):
            value = term.value if previous.value.kind == _GENERIC else previous.value
            previous = Match(previous.start, term.end, value)
            continue
        if previous is not None:
            yield previous
        previous = term
    if previous is not None:
        yield previous


def _states(reading: Reading) -> Iterable[Candidate]:
    """Structures with an abnormal adjective, in front or as a predicate."""
    for term in reading.terms:
        if term.value.category != ANATOMY:
            continue
        first, last = reading.sentence(term.start)
        anatomy = term.value.concept
        # In "dense right lung nodule" the adjective speaks of the nodule.
        goes_on = term.end < last and reading.category(term.end) == FINDING
        for match in _adjectives_in_front(reading, term.start, first):
            if goes_on:
                break
            concept = state_concept(match.value, anatomy)
            if concept:
                yield Candidate(match.start, term.end, FINDING, concept)
                break
        for match in _adjectives_behind(reading, term.end, last):
            concept = state_concept(match.value, anatomy)
            if concept:
                yield Candidate(term.start, match.end, FINDING, concept)
        verb = _verb_in_front(reading, term.start, first)
        if verb is not None:
            concept = state_concept(verb.value, anatomy)
            if concept:
                yield Candidate(verb.start, term.end, FINDING, concept)
        noun = _noun_of(reading, term, first, last)
        if noun is not None:
            concept = state_concept(noun.value, anatomy)
            if concept:
                start, end = min(noun.start, term.start), max(noun.end, term.end)
                yield Candidate(start, end, FINDING, concept)


def state_concept(states: Iterable[State], anatomy: str) -> str:
    """The finding that an adjective makes of a structure, '' where it makes none."""
    states = tuple(states)
    for state in states:
        if anatomy in state.anatomy:
            return state.concept
    for state in states:
        if ANY_ANATOMY in state.anatomy:
            return state.concept.replace(ANATOMY_MARK, anatomy)
    return ""


def _adjectives_in_front(
    reading: Reading, start: int, first: int
) -> Iterable[Match[tuple[State, ...]]]:
    words, states = reading.words, reading.vocabulary.states
    at = start - 1
    first = max(first, start - LONGEST_PHRASE)
    while at >= first:
        match = states.longest(words.forms, at, start)
        if match is not None and reading.category(at) in ("", ANATOMY):
            yield match
        if not (
            reading.modifier_of[at] is not None
            or reading.category(at) == ANATOMY
            or match is not None
        ):
            return
        at -= 1


def _adjectives_behind(
    reading: Reading, end: int, last: int
) -> Iterable[Match[tuple[State, ...]]]:
    """ "heart [is mildly] enlarged", "aorta is calcified and [tortuous]"."""
    words, states = reading.words, reading.vocabulary.states
    last = min(last, end + LONGEST_PHRASE)
    at = _after_place(reading, end, last)
    seen_verb = seen_state = guarded = False
    while at < last:
        match = states.longest(words.forms, at, last)
        if match is not None:
            # "heart enlarged" needs no verb, "lung calcified granuloma" and "Pleura:
            # calcified plaques" are none.
            if (not seen_verb or guarded) and _describes_what_follows(
                reading, match.end, last
            ):
                return
            yield match
            seen_state = True
            at = match.end
            continue
        copula = reading.after_class(at, last, "copula")
        is_colon = _is_colon(reading, at)
        if copula > at or (is_colon and not seen_verb):
            guarded = is_colon
            seen_verb = True  # "heart: enlarged"
            at = max(copula, at + 1)
            continue
        normal = reading.vocabulary.normal.longest(words.surface, at, last)
        if normal is not None and seen_verb and not reading.in_cue[at]:
            guarded = True  # "normal contour, not widened"
            at = normal.end
            continue
        is_joined = words.lower[at] in _JOINS and (seen_verb or seen_state)
        # "heart is not enlarged but tortuous aorta"
        guarded |= is_joined and words.lower[at] == "but"
        if (
            reading.is_class(at, "adverb")
            or reading.in_cue[at]
            or is_joined
            or reading.kinds(at) & {"severity", "change", "quality"}
            or (guarded and words.lower[at] in _OUTLINES)
            or (guarded and (words.is_number[at] or words.lower[at] == "("))
            or (guarded and reading.kinds(at) == {"side"})  # "Diaphragm: left obscured"
            or (
                words.lower[at] in _WHICH
                and reading.after_class(at + 1, last, "copula") > at + 1
            )
            or (seen_state and words.lower[at] in _TOWARDS)
            or (seen_state and reading.kinds(at) & {"side"})
        ):
            at += 1
            continue
        return


def _is_colon(reading: Reading, at: int) -> bool:
    """Whether a structure heads what follows: "heart: enlarged", "Heart - enlarged"."""
    words = reading.words
    if words.lower[at] == ":":
        return True
    first, _ = reading.sentence(at)
    return (
        words.lower[at] == ","
        and words.text[words.starts[at]] in _DASHES
        and 0 < at - first <= _LONGEST_HEAD
        and all(
            reading.category(i) == ANATOMY or reading.kinds(i) == {"side"}
            for i in range(first, at)
        )
    )


def _verb_in_front(
    reading: Reading, start: int, first: int
) -> Optional[Match[tuple[State, ...]]]:
    """ "[obscures] the heart border", "[displacing] the trachea": the state of what is
    obscured or displaced."""
    words = reading.words
    first = max(first, start - LONGEST_PHRASE)
    at = start - 1
    while at > first and (
        reading.is_class(at, "determiner")
        or reading.kinds(at) & {"side", "location"}
        or reading.category(at) == ANATOMY
    ):
        at -= 1
    if at < first or at == start - 1 or reading.category(at) or reading.kinds(at):
        return None
    word = words.lower[at]
    for ending, before in _VERB_ENDINGS:
        if word.endswith(ending):
            adjective = word[: -len(ending)] + before
            match = reading.vocabulary.states.longest([(adjective,)], 0, 1)
            if match is not None:
                return Match(at, at + 1, match.value)
    return None


def _noun_of(
    reading: Reading, anatomy: Match[Term], first: int, last: int
) -> Optional[Match[tuple[State, ...]]]:
    """ "hilar [prominence]", "[prominence] of the right hilum"."""
    words, nouns = reading.words, reading.vocabulary.state_nouns
    behind = anatomy.end
    if behind < last and words.lower[behind] == ":":
        behind += 1  # "Mediastinum: shift to the left"
    if behind < last and _is_open(reading, behind):
        match = nouns.longest(words.forms, behind, last)
        if match is not None:
            return match
    at = anatomy.start
    first = max(first, at - LONGEST_PHRASE)
    while at > first and (
        reading.modifier_of[at - 1] is not None
        or reading.is_class(at - 1, "determiner")
    ):
        at -= 1
    if at - 2 >= first and words.lower[at - 1] == "of" and _is_open(reading, at - 2):
        match = nouns.longest(words.forms, at - 2, at - 1)
        if match is not None and match.end == at - 1:
            return match
    return None


def _is_open(reading: Reading, at: int) -> bool:
    """Whether no finding of the lists claims a word already."""
    term = reading.term_of[at]
    return term is None or term.value.kind == _GENERIC


def _after_place(reading: Reading, end: int, last: int) -> int:
    """Skip "of the heart" or "size" behind a structure."""
    words = reading.words
    at = end
    while at < last and (
        words.lower[at] in ("of", "size")
        or reading.is_class(at, "determiner")
        or (at > end and (reading.category(at) == ANATOMY or reading.kinds(at)))
    ):
        if words.lower[at] not in ("of", "size") and at == end:
            break
        at += 1
    return at


def _describes_what_follows(reading: Reading, at: int, last: int) -> bool:
    return at < last and (
        reading.category(at) in (FINDING, ANATOMY)
        or reading.modifier_of[at] is not None
    )


def _unknown_words(reading: Reading, covered: set[int]) -> Iterable[Candidate]:
    """Words outside the lists with the ending of a medical noun: "lipomatosis"."""
    words = reading.words
    for at in range(len(words)):
        if at in covered or not words.is_word[at] or reading.modifier_of[at]:
            continue
        if reading.in_cue[at] or words.lower[at] in reading.vocabulary.not_clinical:
            continue
        if reading.is_likened(at + 1):
            continue
        for form in words.forms[at]:
            category = reading.vocabulary.suffix_category(form)
            if category:
                yield Candidate(at, at + 1, category.upper(), "")
                break


def has_unknown_noun(reading: Reading) -> bool:
    """Whether a Doc has nouns that no list knows; else its parse is of no use."""
    return any(
        is_nominal(pos) and _is_unknown(reading, at)
        for at, pos in enumerate(reading.words.pos)
    )


def _is_unknown(reading: Reading, at: int) -> bool:
    """Whether a word may be a finding that no list knows."""
    words, vocabulary = reading.words, reading.vocabulary
    return not (
        reading.term_of[at] is not None
        or reading.modifier_of[at] is not None
        or reading.in_cue[at]
        or not words.is_word[at]
        or words.is_number[at]
        or len(words.lower[at]) < _SHORTEST_NOUN
        or not vocabulary.not_clinical.isdisjoint(words.forms[at])
        or any(reading.is_class(at, name) for name in _NO_HEADS)
        or vocabulary.normal.longest(words.surface, at, at + 1) is not None
    )


def _unknown_phrases(
    reading: Reading,
    noun_phrases: Sequence[tuple[int, int]],
    known: Sequence[Candidate],
) -> Iterable[Candidate]:
    """Noun phrases outside the lists that something clinical describes."""
    taken = {at for c in known if c.label != ANATOMY for at in range(c.start, c.end)}
    for start, end in noun_phrases:
        head = end - 1
        if not taken.isdisjoint(range(start, end)) or not _is_unknown(reading, head):
            continue
        if is_described(reading, start, head):
            while reading.is_class(start, "determiner") and start < head:
                start += 1
            yield Candidate(start, end, OTHER, "")


def is_described(reading: Reading, start: int, end: int) -> bool:
    """Whether a structure, a side, a degree or the like stands in words[start:end]."""
    return any(
        reading.category(at) == ANATOMY
        or reading.kinds(at) & {"side", "location", "severity", "quality"}
        for at in range(start, end)
    )
