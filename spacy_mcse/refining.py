"""From candidates to refined entities (paper, section 3.1), free of spaCy objects."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from .attributes import describe, own_values
from .candidates import Candidate, is_described
from .context import Assertion, assess_phrase
from .data import ABSENT, PRESENT
from .filters import IGNORED, REASONS, is_heading
from .phrases import LONGEST_PHRASE, Phrase, coordinated, whole_phrase
from .reading import Reading
from .vocabulary import ANATOMY, DEVICE, FINDING, OTHER
from .wording import concept_of, mcse_text, narrowed_concept, placed_concept

DECIDE_BY_WORDS = "?"
TRUSTED = ""  # a label that no list knows: the user's NER knows what it is
OVERLAP = "overlap"
RESOLVED, BETTER = "resolved", "better"
SECTION = "section"
# Candidates whose words a finding beside them may take.
_TAKES_NOTHING = frozenset((ANATOMY, IGNORED))
_PLACES = frozenset(("in", "at", "within", "on", "with", "from"))
_BREAKS = frozenset((",", "and", "or", "nor", "/", ";", "versus", "vs"))


@dataclass(frozen=True)
class Steps:
    """Which steps of the refining are on.

    reasons (frozenset): Reasons of `filters.REASONS` for which candidates go.
    modifiers (bool): Attach describing words.
    assertion (bool): Attach negation and uncertainty.
    """

    reasons: frozenset[str] = frozenset(REASONS)
    modifiers: bool = True
    assertion: bool = True


@dataclass
class Refined:
    """An entity with everything that is said of it, by word index.

    known (bool): The word lists have the concept.
    own (dict): The values among the attributes that only name the concept.
    """

    phrase: Phrase
    category: str
    concept: str
    known: bool
    assertion: Assertion
    attributes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    mcse_text: str = ""
    own: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Dropped:
    """A candidate that is no entity, and why."""

    start: int
    end: int
    category: str
    reason: str


def refine(
    reading: Reading,
    candidates: Sequence[Candidate],
    steps: Steps,
    counts: Callable[[int], bool],
) -> tuple[list[Refined], list[Refined], list[Dropped]]:
    """Filter candidates and attach what describes them.

    reading (Reading): The marked words.
    candidates (Sequence[Candidate]): Possible entities; the label may be of any NER.
    steps (Steps): The steps that are on.
    counts (Callable): Whether the word at an index is in a section that counts.
    RETURNS (tuple): Entities, devices and dropped candidates, each in text order.
        Devices that are dropped from the entities are among both of the others.
    """
    dropped: list[Dropped] = []
    heads: list[tuple[Phrase, str, str]] = []
    for candidate in candidates:
        for phrase, category, concept in _heads(reading, candidate):
            phrase.assertion = candidate.assertion
            if not counts(phrase.start):
                dropped.append(
                    Dropped(candidate.start, candidate.end, category, SECTION)
                )
            else:
                heads.append((phrase, category, concept))
    heads = _without_overlaps(heads, dropped)
    entities: list[Refined] = []
    devices: list[Refined] = []
    drops_anatomy = "anatomy" in steps.reasons
    for index, (phrase, category, concept) in enumerate(heads):
        # Of structures, the most of all candidates, nothing has to be known.
        if steps.modifiers and not (drops_anatomy and category == ANATOMY):
            floor, ceiling = _room(reading, heads, index)
            whole_phrase(reading, phrase, floor, ceiling)
        reason = next(
            (
                name
                for name, holds in REASONS.items()
                if name in steps.reasons and holds(reading, phrase, category)
            ),
            "",
        )
        if reason:
            dropped.append(
                Dropped(phrase.head_start, phrase.head_end, category, reason)
            )
            if category == DEVICE and reason == "device":
                device = assess(reading, phrase, category, concept, steps)
                if device.assertion.value == ABSENT or not is_heading(reading, phrase):
                    devices.append(device)
            continue
        category = OTHER if category == IGNORED else category
        if steps.modifiers:
            other = coordinated(reading, phrase, floor)
            if other is not None:
                entities.append(assess(reading, other, category, concept, steps))
        entities.append(assess(reading, phrase, category, concept, steps))
    covered = {at for e in entities for at in range(e.phrase.start, e.phrase.end)}
    dropped = [
        d
        for d in dropped
        if d.reason != "anatomy" or not covered.issuperset(range(d.start, d.end))
    ]
    entities.sort(key=_entity_position)
    devices.sort(key=_entity_position)
    dropped.sort(key=_dropped_position)
    return entities, devices, dropped


def assess(
    reading: Reading, phrase: Phrase, category: str, concept: str, steps: Steps
) -> Refined:
    """Assertion, attributes and wording of one phrase; filters nothing.

    An assertion that another component gave the phrase is taken as it is, without cue.
    """
    known = bool(concept)
    if known:
        concept = narrowed_concept(reading, phrase, concept)
    else:
        concept = concept_of(reading, phrase)
    assertion = Assertion(PRESENT, None)
    if steps.assertion and phrase.assertion:
        assertion = Assertion(phrase.assertion, None)
    elif steps.assertion:
        assertion = assess_phrase(
            reading, phrase.start, phrase.end, phrase.predicate[0]
        )
    attributes = describe(reading, phrase, concept) if steps.modifiers else {}
    if known and (placed := placed_concept(reading, concept, attributes)) != concept:
        concept = placed
        attributes = describe(reading, phrase, concept)
    if assertion.value != ABSENT:
        _not_all_gone(attributes)
    return Refined(
        phrase=phrase,
        category=category,
        concept=concept,
        known=known,
        assertion=assertion,
        attributes=attributes,
        mcse_text=mcse_text(reading, phrase, assertion.value == ABSENT),
        own=own_values(reading, phrase, concept, attributes) if known else {},
    )


# Behind a finding in the span of an NER: "effusion has resolved", "mass is present".
_BEHIND = ("copula", "finite_verb", "noticed", "determiner", "preposition")


def _not_all_gone(attributes: dict[str, list[dict[str, Any]]]) -> None:
    """What is still there has not resolved, but got better: "partly resolved"."""
    for item in attributes.get("change", ()):
        if item["value"] == RESOLVED:
            item["value"] = BETTER


def given_phrase(reading: Reading, start: int, end: int) -> Phrase:
    """The phrase of a span as it was given, without cues and articles at its edges."""
    start, end = _trim(reading, start, end)
    phrase = Phrase(start, end, start, end)
    if start < end:
        phrase.predicate = _predicate(reading, start, end) or phrase.predicate
        if not phrase.is_predicate:
            findings = [
                term
                for term in _terms_within(reading, start, end)
                if term.value.category == FINDING
            ]
            phrase.head_start = (
                findings[-1].start if findings else _head_word(reading, start, end)
            )
    return phrase


def head_concept(reading: Reading, phrase: Phrase) -> str:
    """The concept of the finding of the lists that begins a head, '' for none."""
    term = reading.term_of[phrase.head_start]
    if term is None or term.value.category != FINDING:
        return ""
    return term.value.concept


def _entity_position(entity: Refined) -> tuple[int, int]:
    return entity.phrase.start, entity.phrase.end


def _dropped_position(dropped: Dropped) -> tuple[int, int]:
    return dropped.start, dropped.end


def _heads(reading: Reading, candidate: Candidate) -> list[tuple[Phrase, str, str]]:
    """The findings within a candidate: a span of another NER may hold several."""
    start, end = _trim(reading, candidate.start, candidate.end)
    if start >= end:
        return []
    label = candidate.label
    may_find = label in (FINDING, DECIDE_BY_WORDS, TRUSTED)
    predicate = _predicate(reading, start, end) if may_find else None
    if predicate is not None:
        phrase = Phrase(start, end, start, end, predicate=predicate)
        return [(phrase, FINDING, candidate.concept)]
    if candidate.concept:
        return [(Phrase(start, end, start, end), label, candidate.concept)]
    terms = [
        term
        for term in _terms_within(reading, start, end)
        if term.value.category != ANATOMY
    ]
    findings = [term for term in terms if term.value.category == FINDING]
    if label in (DECIDE_BY_WORDS, TRUSTED, IGNORED, FINDING, OTHER) and findings:
        parts = _parts(reading, findings, start, end)
        return [
            (Phrase(min(s, t.start), e, t.start, t.end), FINDING, t.value.concept)
            for (s, e), t in parts
        ]
    category = label
    if label in (DECIDE_BY_WORDS, TRUSTED):
        category = _category_by_words(reading, start, end)
        if (
            category == OTHER
            and label == DECIDE_BY_WORDS
            and not is_described(reading, start, end)
        ):
            category = IGNORED
    head = _head_word(reading, start, end)
    return [(Phrase(start, end, head, end), category, "")]


def _terms_within(reading: Reading, start: int, end: int) -> list:
    found = []
    for at in range(start, end):
        term = reading.term_of[at]
        # "effusion" of an NER is "pleural effusion" where the report says so.
        begins = term is not None and (term.start == at or at == start)
        if term is not None and begins and term.end <= end:
            found.append(term)
    return found


def _parts(reading: Reading, findings: list, start: int, end: int) -> list:
    """Cut a span at joins between findings; each part keeps its last finding."""
    words = reading.words
    parts: list = []
    begin = start
    for index, term in enumerate(findings):
        following = findings[index + 1] if index + 1 < len(findings) else None
        if following is None:
            parts.append(((begin, end), term))
            break
        cut = next(
            (
                at
                for at in range(term.end, following.start)
                if words.lower[at] in _BREAKS
            ),
            None,
        )
        if cut is not None:
            parts.append(((begin, cut), term))
            begin = cut + 1
        elif any(words.lower[at] in _PLACES for at in range(term.end, following.start)):
            # "opacity with atelectasis": two findings.
            parts.append(((begin, term.end), term))
            begin = following.start
    return parts


def _category_by_words(reading: Reading, start: int, end: int) -> str:
    """Category of a span whose label says nothing: its last known word decides."""
    for at in range(end - 1, start - 1, -1):
        if reading.category(at):
            return reading.category(at)
        for form in reading.words.forms[at]:
            category = reading.vocabulary.suffix_category(form)
            if category:
                return category.upper()
    return OTHER


def _head_word(reading: Reading, start: int, end: int) -> int:
    """First word of the head: what stands behind the describing words."""
    at = start
    while at < end - 1 and reading.modifier_of[at] is not None:
        at += 1
    return at


def _predicate(reading: Reading, start: int, end: int) -> Optional[tuple[int, int]]:
    """The adjective of "heart is enlarged", None for any other phrase."""
    if reading.category(start) != ANATOMY:
        return None
    words, states = reading.words, reading.vocabulary.states
    term = reading.term_of[start]
    assert term is not None
    for at in range(term.end, end):
        match = states.longest(words.forms, at, end)
        if match is not None and match.end == end:
            return match.start, match.end
    return None


def _trim(reading: Reading, start: int, end: int) -> tuple[int, int]:
    """Leave cues, articles and punctuation at the edges out of a span."""
    words = reading.words
    if start < end:
        # A token of run-on text may reach into the next sentence.
        end = min(end, reading.sentence(start)[1])
    while (
        start < end
        and reading.term_of[start] is None
        and (
            not words.is_word[start]
            or reading.is_class(start, "determiner")
            or reading.is_class(start, "preposition")
            or reading.is_class(start, "conjunction")
            or (reading.in_cue[start] and reading.modifier_of[start] is None)
        )
    ):
        start += 1
    while end > start and _is_edge(reading, start, end):
        end -= 1
    return start, end


def _is_edge(reading: Reading, start: int, end: int) -> bool:
    """Whether the last word of a span only says what is said of it: "... not seen"."""
    last = end - 1
    if not reading.words.is_word[last]:
        return True
    if last == start or reading.term_of[last] is not None:
        return False
    if not reading.in_cue[last] and not any(
        reading.is_class(last, name) for name in _BEHIND
    ):
        return False
    # Of a structure it may be the finding itself: "costophrenic angle not seen".
    states, forms = reading.vocabulary.states, reading.words.forms
    return not any(
        reading.category(start) == ANATOMY
        and (match := states.longest(forms, at, end)) is not None
        and match.end == end
        for at in range(start, end)
    )


def _without_overlaps(
    heads: list[tuple[Phrase, str, str]], dropped: list[Dropped]
) -> list[tuple[Phrase, str, str]]:
    """Of two candidates for the same words keep the longer, then the earlier.

    Predicates of one structure ("calcified and tortuous aorta") may share it.
    """
    ordered = sorted(heads, key=_length_first)
    taken: set[int] = set()
    kept = []
    for phrase, category, concept in ordered:
        words = (
            range(*phrase.predicate)
            if phrase.is_predicate
            else range(phrase.head_start, phrase.head_end)
        )
        if taken.isdisjoint(words):
            taken.update(words)
            if phrase.is_predicate:
                taken.update(range(phrase.head_start, phrase.head_start + 1))
            kept.append((phrase, category, concept))
        else:
            dropped.append(
                Dropped(phrase.head_start, phrase.head_end, category, OVERLAP)
            )
    kept.sort(key=_head_position)
    return kept


def _length_first(head: tuple[Phrase, str, str]) -> tuple[bool, bool, int, int]:
    phrase, category, _ = head
    length = phrase.head_end - phrase.head_start
    return not phrase.is_predicate, category == ANATOMY, -length, phrase.head_start


def _head_position(head: tuple[Phrase, str, str]) -> tuple[int, int]:
    return head[0].head_start, head[0].head_end


def _room(
    reading: Reading, heads: list[tuple[Phrase, str, str]], index: int
) -> tuple[int, int]:
    """The words that a phrase may take: its sentence, up to the next findings."""
    phrase = heads[index][0]
    floor, ceiling = reading.sentence(phrase.head_start)
    floor = max(floor, phrase.start - LONGEST_PHRASE)
    ceiling = min(ceiling, phrase.end + LONGEST_PHRASE)
    for before in range(index - 1, -1, -1):
        other, category, _ = heads[before]
        if other.head_end <= floor:
            break
        if category not in _TAKES_NOTHING and other.head_end <= phrase.start:
            floor = other.head_end
            break
    for after in range(index + 1, len(heads)):
        other, category, _ = heads[after]
        if other.head_start >= ceiling:
            break
        if category not in _TAKES_NOTHING and other.head_start >= phrase.end:
            ceiling = other.head_start
            break
    return floor, ceiling
