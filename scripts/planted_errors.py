"""Errors planted in real reports, to see which of them a score notices.

An error is planted where the pipeline reads what is to be changed: scoring is looked
at here, and apart from extraction. Kinds of CHANGES must lower the score, kinds of
FORM must not change it; "side left out" is there to be compared with "side changed".
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from spacy_mcse.data import ABSENT, PRESENT, Entity, ReportFacts

LEFT_OUT, DENIED = "finding left out", "finding denied"
SIDE_WRONG, SIDE_MISSING = "side changed", "side left out"
CHANGES = (
    *(LEFT_OUT, DENIED, "denial turned round", "finding invented"),
    *(SIDE_WRONG, SIDE_MISSING, "severity changed", "size changed", "location changed"),
)
FORM = ("order", "capitals", "line breaks", "sentence repeated", "normal added")
# The score of the first must be lower than (or, not strictly, equal to) the second.
ORDERED = ((SIDE_WRONG, SIDE_MISSING, True), (DENIED, LEFT_OUT, False))

INVENTED = (
    ("pneumothorax", "There is a large right pneumothorax."),
    ("mass", "There is a 3 cm mass in the left upper lobe."),
    ("fracture", "There is an acute fracture of the left sixth rib."),
    ("effusion", "There is a moderate left pleural effusion."),
)
NORMAL = (
    "The visualized upper abdomen is unremarkable.",
    "The osseous structures are intact.",
)
SIDES = {"left": "right", "right": "left"}
SEVERITIES = {
    **dict.fromkeys(("minimal", "mild", "slight"), "severe"),
    **dict.fromkeys(("tiny", "trace", "small"), "large"),
    **dict.fromkeys(("moderate", "large"), "small"),
    **dict.fromkeys(("severe", "extensive"), "mild"),
}
PLACES = {
    **{"upper": "lower", "lower": "upper", "base": "apex", "bases": "apices"},
    **{"basilar": "apical", "basal": "apical", "apical": "basilar"},
    **{"apex": "base", "apices": "bases"},
}


STRICTLY, FORM_TOLERANCE = 1e-6, 0.02


class Planted(NamedTuple):
    """A changed report.

    report (int): Number of the report it was made of.
    kind (str): One of CHANGES or FORM.
    text (str): The changed report.
    """

    report: int
    kind: str
    text: str


def plant(
    texts: Sequence[str], facts: Sequence[ReportFacts], each: int, seed: int
) -> list[Planted]:
    """Plant errors in reports, at most `each` of one kind.

    texts (Sequence[str]): The reports.
    facts (Sequence[ReportFacts]): What the pipeline reads in them.
    each (int): Most errors of one kind, from reports drawn at random.
    seed (int): Seed of all that is random.
    RETURNS (list[Planted]): In order of the reports.
    """
    rng = random.Random(seed)
    # In random order, so that an early report is not in every kind.
    numbers = [i for i, found in enumerate(facts) if any(map(_stated, found.entities))]
    rng.shuffle(numbers)
    counts = dict.fromkeys((*CHANGES, *FORM), 0)
    planted: list[Planted] = []
    for number in numbers:
        made = dict(changes(texts[number], facts[number], rng))
        # Kinds that are compared with each other are made of the same reports.
        for first, second, _ in ORDERED:
            if first not in made or second not in made:
                made.pop(first, None)
                made.pop(second, None)
        for kind, text in made.items():
            if counts[kind] < each and text != texts[number]:
                counts[kind] += 1
                planted.append(Planted(number, kind, text))
    return sorted(planted)


def changes(
    text: str, facts: ReportFacts, rng: random.Random
) -> Iterator[tuple[str, str]]:
    """Each change that can be made in a report: (kind, new text)."""
    parts = sentences(text)
    shuffled = rng.sample(parts, len(parts))
    yield "order", "".join(part.strip() + " " for _, part in shuffled).strip()
    yield "capitals", text.upper()
    yield "line breaks", re.sub(r"((?:\S+ ){5}\S+) ", r"\1\n", text)
    yield "sentence repeated", f"{text} {rng.choice(parts)[1].strip()}"
    yield "normal added", f"{text} {rng.choice(NORMAL)}"
    invented = [said for word, said in INVENTED if word not in text.lower()]
    if invented:
        yield "finding invented", f"{text} {rng.choice(invented)}"
    entities = rng.sample(facts.entities, len(facts.entities))
    denied = {entity.concept for entity in entities if entity.assertion == ABSENT}
    stated = [entity for entity in entities if _stated(entity)]
    sure = [e for e in stated if e.concept not in denied and e.assertion == PRESENT]
    if sure:
        kept = without(parts, stated, sure[0].concept)
        yield LEFT_OUT, kept
        yield DENIED, f"{kept} There is no {sure[0].text.lower()}.".strip()
    turned = [e for e in entities if e.assertion == ABSENT]
    turned = [e for e in turned if e.concept not in {s.concept for s in stated}]
    if turned:
        kept = without(parts, entities, turned[0].concept)
        yield "denial turned round", f"{kept} There is {turned[0].text.lower()}."
    for kind, kinds, change in (
        (SIDE_WRONG, ("side",), _swap(SIDES)),
        (SIDE_MISSING, ("side",), _leave_out(SIDES)),
        ("severity changed", ("severity", "size"), _swap(SEVERITIES)),
        ("size changed", ("size",), _treble),
        ("location changed", ("location",), _swap(PLACES)),
    ):
        for entity in stated:
            new = changed(text, stated, entity.concept, kinds, change)
            if new is not None:
                yield kind, new
                break


def sentences(text: str) -> list[tuple[int, str]]:
    """Sentences with their offsets: all that stands between two full stops."""
    return [
        (match.start(), match.group())
        for match in re.finditer(r"\S.*?(?:[.!?](?=\s)|$)", text, re.DOTALL)
    ]


def without(
    parts: Sequence[tuple[int, str]], entities: Sequence[Entity], concept: str
) -> str:
    """A report without the sentences that speak of a concept."""
    places = [entity.start_char for entity in entities if entity.concept == concept]
    return " ".join(
        part
        for start, part in parts
        if not any(start <= place < start + len(part) for place in places)
    )


def changed(
    text: str,
    entities: Sequence[Entity],
    concept: str,
    kinds: Sequence[str],
    change: Callable[[str], Optional[str]],
) -> Optional[str]:
    """A report with an attribute changed in all mentions of a concept.

    change (Callable): Gives the new words for those of an attribute, or None.
    RETURNS (Optional[str]): The new report; None where there is nothing to change.
    """
    edits = {}
    items = [
        (kind, item)
        for entity in entities
        if entity.concept == concept
        for kind in kinds
        for item in entity.attributes.get(kind, ())
    ]
    if len({str(item["value"]) for kind, item in items if kind == "side"}) > 1:
        # Of "left effusion and right effusion" the swap says the same.
        return None
    for kind, item in items:
        place = item["start_char"], item["end_char"]
        words = change(text[slice(*place)])
        if words is not None:
            edits[place] = words
        elif kind == "side":
            # The side would still be said ("lingula").
            return None
    # From the end, so that the offsets still hold; what overlaps is changed once.
    new, last = text, len(text)
    for (start, end), words in sorted(edits.items(), reverse=True):
        if end <= last:
            new, last = new[:start] + words + new[end:], start
    return new if edits else None


def noticed(
    planted: Sequence[Planted], scores: NDArray[np.float64]
) -> dict[str, float]:
    """Which part of the planted changes of each kind is scored as it must be.

    The score of a report with itself is 1.
    """
    right: dict[str, list[bool]] = defaultdict(list)
    by_report: dict[tuple[str, int], float] = {}
    for one, score in zip(planted, scores, strict=True):
        by_report[one.kind, one.report] = score
        if one.kind in CHANGES:
            right[one.kind].append(score < 1.0 - STRICTLY)
        else:
            right[one.kind].append(score >= 1.0 - FORM_TOLERANCE)
    for first, second, strictly in ORDERED:
        for (kind, report), score in by_report.items():
            # An error that is not read at all says nothing about the order.
            if kind == first and score < 1.0 and (second, report) in by_report:
                bound = by_report[second, report] + (
                    -STRICTLY if strictly else STRICTLY
                )
                right[f"{first} under {second}"].append(score < bound)
    kinds = [*CHANGES, *FORM, *(f"{a} under {b}" for a, b, _ in ORDERED)]
    return {kind: float(np.mean(right[kind])) for kind in kinds if right[kind]}


def _stated(entity: Entity) -> bool:
    return entity.assertion != ABSENT


def _swap(words: dict[str, str]) -> Callable[[str], Optional[str]]:
    def change(said: str) -> Optional[str]:
        pattern = rf"\b({'|'.join(words)})\b"
        new = re.sub(pattern, lambda m: words[m.group().lower()], said, flags=re.I)
        # "left greater than right" has both sides before and after.
        both = [sorted(text.lower().split()) for text in (new, said)]
        return new if both[0] != both[1] else None

    return change


def _leave_out(words: dict[str, str]) -> Callable[[str], Optional[str]]:
    def change(said: str) -> Optional[str]:
        new = re.sub(rf"\b({'|'.join(words)})([ -]sided)?\b", "", said, flags=re.I)
        return new if new != said else None

    return change


def _treble(said: str) -> Optional[str]:
    new = re.sub(r"\d+(\.\d+)?", lambda m: f"{3 * float(m.group()):g}", said)
    return new if new != said else None
