"""What the refiner found, as it is written on a Doc: span groups with plain records."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spacy.tokens import Doc, Span

from .data import ABSENT, write_entities
from .filters import IGNORED
from .normal import Normal
from .reading import Reading
from .refining import Dropped, Refined
from .vocabulary import OTHER


@dataclass
class Refinement:
    """What the refiner found in a Doc, before anything is written on it."""

    reading: Reading
    entities: list[Refined]
    devices: list[Refined]
    dropped: list[Dropped]
    normal: list[Normal]


def write_refinement(doc: Doc, refinement: Refinement, refiner: str) -> None:
    """Write a refinement on its Doc.

    doc (Doc): The Doc that was refined.
    refinement (Refinement): What was found in it.
    refiner (str): Hash of the refiner's settings and lists.
    """
    words = refinement.reading.words
    spans, records = _located(doc, refinement.reading, refinement.entities, "e")
    devices = _located(doc, refinement.reading, refinement.devices, "d")
    dropped = [
        {
            "label": OTHER if item.category == IGNORED else item.category,
            "reason": item.reason,
            **words.located(item.start, item.end),
        }
        for item in refinement.dropped
    ]
    normal: list[Span] = []
    normal_records: list[dict[str, Any]] = []
    for number, statement in enumerate(refinement.normal):
        start, end = words.token_range(statement.start, statement.end)
        key = f"n{number}"
        normal.append(Span(doc, start, end, "NORMAL", span_id=key))
        normal_records.append(
            {
                "id": key,
                "assertion": ABSENT,
                "cue": None,
                "attributes": statement.attributes,
                "mcse_text": " ".join(words.lower[statement.start : statement.end]),
                "concept": statement.concept,
                "denies": list(statement.denies),
            }
        )
    write_entities(
        doc, spans, records, dropped, normal, normal_records, refiner, *devices
    )


def entity_record(reading: Reading, entity: Refined) -> dict[str, Any]:
    """What a pipeline gives of a phrase: assertion, cue, attributes and wording."""
    cue = entity.assertion.cue
    return {
        "assertion": entity.assertion.value,
        "cue": reading.words.located(*cue) if cue is not None else None,
        "attributes": entity.attributes,
        "mcse_text": entity.mcse_text,
    }


def _located(
    doc: Doc, reading: Reading, found: Sequence[Refined], letter: str
) -> tuple[list[Span], list[dict[str, Any]]]:
    """The spans of entities or devices, and one record for each."""
    vocabulary = reading.vocabulary
    spans, records = [], []
    for number, entity in enumerate(found):
        start, end = reading.words.token_range(entity.phrase.start, entity.phrase.end)
        key = f"{letter}{number}"
        spans.append(Span(doc, start, end, entity.category, span_id=key))
        records.append(
            {
                "id": key,
                **entity_record(reading, entity),
                "concept": entity.concept,
                "known": entity.known,
                "significance": vocabulary.significance_of(entity.concept),
                "families": sorted(vocabulary.families.get(entity.concept, ())),
                "own": entity.own,
            }
        )
    return spans, records
