"""How an entity is worded: the paper's text of it and the key of its concept."""

from typing import Any

from .phrases import Phrase, degree_start
from .reading import Reading
from .vocabulary import ANATOMY

_OUT_OF_PHRASE = frozenset(("determiner",))
_JOINS = frozenset(("and", "or", "to", ",", "/"))


def mcse_text(reading: Reading, phrase: Phrase, absent: bool) -> str:
    """The entity as Table 1 of the paper prints it.

    Lower case, hyphens and white space normalised, describing modifiers in front of
    the head, no words of change or time, 'no' in front of an absent one.

    reading (Reading): The marked words.
    phrase (Phrase): The phrase.
    absent (bool): Whether the report denies it.
    RETURNS (str): "mild to moderate pulmonary edema", "no enlarged heart".
    """
    if phrase.is_predicate:
        words = _predicate_words(reading, phrase)
    else:
        words = _plain_words(reading, phrase.start, phrase.end, phrase)
    front: list[str] = []
    for start, end in phrase.apart:
        front += _plain_words(reading, start, end, phrase)
    text = " ".join([*front, *words])
    return f"no {text}" if absent else text


def concept_of(reading: Reading, phrase: Phrase) -> str:
    """A key for a phrase outside the lists: its head in the singular.

    RETURNS (str): "rib notching" for "rib notchings".
    """
    words = reading.words
    forms = [
        words.lower[at]
        for at in range(phrase.head_start, phrase.head_end)
        if words.is_word[at]
    ]
    if not forms:
        return ""
    last = phrase.head_end - 1
    forms[-1] = _singular(words.forms[last])
    return " ".join(forms)


def narrowed_concept(reading: Reading, phrase: Phrase, concept: str) -> str:
    """The concept of a finding of a structure that the phrase names.

    RETURNS (str): "clavicle fracture" for "fracture of the right clavicle", where the
        lists have it, else the concept as it was.
    """
    for at in range(phrase.start, phrase.end):
        term = reading.term_of[at]
        if term is not None and term.start == at and term.value.category == ANATOMY:
            narrower = f"{term.value.concept} {concept}"
            if narrower in reading.vocabulary.finding_concepts:
                return narrower
    return concept


def placed_concept(
    reading: Reading, concept: str, attributes: dict[str, list[dict[str, Any]]]
) -> str:
    """The concept of a finding at the one place that is said of it.

    RETURNS (str): "perihilar opacity" for an opacity "in the left perihilar region",
        where the lists have it, else the concept as it was.
    """
    places = attributes.get("location", ())
    if len(places) != 1:
        return concept
    name = f"{places[0]['value']} {concept}"
    return reading.vocabulary.finding_names.get(name, concept)


def _singular(forms: tuple[str, ...]) -> str:
    """The singular of a word as English makes it: "edema" is no Latin plural."""
    word = forms[0]
    return forms[1] if word.endswith("s") and len(forms) > 1 else word


def _plain_words(reading: Reading, start: int, end: int, phrase: Phrase) -> list[str]:
    """The words of a range without those of change, and without loose joins."""
    kept: list[int] = []
    at = start
    while at < end:
        if phrase.skipped[0] <= at < phrase.skipped[1]:
            at += 1
            continue
        in_head = phrase.head_start <= at < phrase.head_end
        kinds = reading.kinds(at)
        if kinds and kinds <= {"change"} and not in_head:
            at += 1
            continue
        if not in_head and any(reading.is_class(at, c) for c in _OUT_OF_PHRASE):
            # "enlargement of the heart" keeps its article, as in the report.
            if at > start and reading.words.lower[at - 1] == "of":
                kept.append(at)
            at += 1
            continue
        kept.append(at)
        at += 1
    words = reading.words
    while kept and words.lower[kept[0]] in _JOINS:
        kept.pop(0)
    texts = []
    for index, at in enumerate(kept):
        lower = words.lower[at]
        loose = index + 1 < len(kept) and words.lower[kept[index + 1]] in _JOINS
        if lower in _JOINS and (loose or index + 1 == len(kept)):
            continue
        if words.is_word[at] or lower == "/":
            texts.append(lower)
    return texts


def _predicate_words(reading: Reading, phrase: Phrase) -> list[str]:
    """ "the heart is mildly enlarged" gives "mildly enlarged heart"."""
    words = reading.words
    end = phrase.predicate[1]
    degree = degree_start(reading, phrase)
    said = [words.lower[at] for at in range(degree, end) if words.is_word[at]]
    structure_end = phrase.head_start
    while structure_end < degree and reading.category(structure_end) == ANATOMY:
        structure_end += 1
    structure = _plain_words(reading, phrase.start, structure_end, phrase)
    return said + structure
