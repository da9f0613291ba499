"""What is written on a Doc and how it is read back: keys and records.

Everything lives in `doc.spans` and in the `attrs` of the span groups as plain
values, since only these survive a default `DocBin`, `to_bytes` and worker processes.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Span, SpanGroup

from .errors import Errors

CLINICAL_KEY = "clinical_entities"
NORMAL_KEY = "mcse_normal_statements"
DEVICES_KEY = "mcse_devices"
LABELS = ("FINDING", "ANATOMY", "DEVICE", "PROCEDURE", "CHEMICAL", "OTHER")
PRESENT, ABSENT, UNCERTAIN = ASSERTIONS = ("present", "absent", "uncertain")
# Classes of clinical significance; each has a weight in the settings of the score.
SIGNIFICANCES = ("urgent", "actionable", "minor", "expected")
ATTRIBUTES = ("side", "location", "severity", "size", "quality", "change", "count")
# The ids of spans tell their group and their place in it.
_LETTERS = ((CLINICAL_KEY, "e"), (NORMAL_KEY, "n"), (DEVICES_KEY, "d"))
_MEASURE = re.compile(r"(\d+(?:\.\d+)?)\s*(mm|cm)?")


@dataclass(frozen=True)
class Entity:
    """One clinical entity of a report, free of spaCy objects.

    text (str): The words of the span as they stand in the report.
    start_char (int): Offset of the first character in the report.
    end_char (int): Offset after the last character.
    label (str): One of `LABELS`.
    assertion (str): One of `ASSERTIONS`.
    cue (Optional[dict]): `text`, `start_char`, `end_char` of what decided it.
    attributes (dict): Kind to a list of `text`, `value`, `start_char`, `end_char`.
    mcse_text (str): The entity as the paper's Table 1 prints it.
    concept (str): Key shared by synonyms and inflections.
    known (bool): The word lists have the concept, with all its synonyms.
    significance (str): Clinical significance of the concept, '' where no list says.
    families (tuple): Names of the groups of near concepts that it belongs to.
    own (dict): Kind to the values among the attributes that only name the concept:
        "pulmonary" in "pulmonary opacity", which is a listed name of "opacity".
    """

    text: str
    start_char: int
    end_char: int
    label: str
    assertion: str
    cue: Optional[dict[str, Any]]
    attributes: dict[str, list[dict[str, Any]]]
    mcse_text: str
    concept: str
    known: bool = False
    significance: str = ""
    families: tuple[str, ...] = ()
    own: dict[str, list[str]] = field(default_factory=dict)

    @property
    def negated(self) -> bool:
        return self.assertion == ABSENT

    def values(self, kind: str) -> frozenset[str]:
        """The normal values of one kind of attribute, without order."""
        return frozenset(str(item["value"]) for item in self.attributes.get(kind, ()))

    @property
    def millimetres(self) -> Optional[float]:
        """The largest measure of its size; None where no number is given."""
        sizes = [largest_measure(i["value"]) for i in self.attributes.get("size", ())]
        return max(filter(None, sizes), default=None)


@dataclass(frozen=True)
class NormalStatement:
    """Something a report says is normal.

    text (str): The words of the statement.
    start_char (int): Offset of the first character in the report.
    end_char (int): Offset after the last character.
    mcse_text (str): The statement in lower case with plain white space.
    concept (str): What is normal ("heart", "lung").
    denies (tuple): Concepts of findings that it rules out.
    attributes (dict): `side` and `location` that it is confined to.
    """

    text: str
    start_char: int
    end_char: int
    mcse_text: str
    concept: str
    denies: tuple[str, ...]
    attributes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    known: bool = True  # structures come from the lists only


@dataclass(frozen=True)
class Embedding:
    """Vectors of a report's entities and what is needed to compare them.

    texts (NDArray): float32 (n, d), unit rows, of each entity's `mcse_text`.
    concepts (NDArray): float32 (n, d), unit rows, of each entity's `concept`.
    encoder (str): Name of the encoder.
    fingerprint (str): Hash of the encoder's weights and settings.
    calibration (tuple): Cosine of unrelated and of synonymous phrases.
    scoring (dict): The settings of the calibrated score.
    similarity (str): What `doc.similarity` returns, `mcse` or `f1`.
    pipeline (str): Name and version of the pipeline.
    """

    texts: NDArray[np.float32]
    concepts: NDArray[np.float32]
    encoder: str
    fingerprint: str
    calibration: tuple[float, float]
    scoring: dict[str, Any] = field(default_factory=dict)
    similarity: str = "mcse"
    pipeline: str = ""


@dataclass(frozen=True)
class ReportFacts:
    """All that scoring needs of one report; no Doc, no Vocab, cheap to keep.

    entities (tuple): The clinical entities.
    normal (tuple): What is said to be normal.
    embedding (Embedding): The vectors of the entities.
    refiner (str): Hash of the refiner's settings and lists.
    devices (tuple): Devices, which are no clinical entities.
    """

    entities: tuple[Entity, ...]
    normal: tuple[NormalStatement, ...]
    embedding: Embedding
    refiner: str
    devices: tuple[Entity, ...] = ()


def largest_measure(size: Any) -> float:
    """The largest measure in the value of a size, in millimetres.

    size (Any): A list of millimetres, a number of them, or text ("1.2 x 0.9 cm").
    RETURNS (float): The measure; 0 where there is none ("small").
    """
    values = size if isinstance(size, (list, tuple)) else [size]
    if all(isinstance(value, (int, float)) for value in values):
        return max((float(v) for v in values if 0 < v < math.inf), default=0.0)
    found = _MEASURE.findall(str(size).lower())
    unit = next((unit for _, unit in reversed(found) if unit), "mm")
    factors = {"mm": 1.0, "cm": 10.0}
    return max((float(n) * factors[own or unit] for n, own in found), default=0.0)


def write_entities(
    doc: Doc,
    spans: Sequence[Span],
    records: Sequence[dict[str, Any]],
    dropped: Sequence[dict[str, Any]],
    normal: Sequence[Span],
    normal_records: Sequence[dict[str, Any]],
    refiner: str,
    devices: Sequence[Span] = (),
    device_records: Sequence[dict[str, Any]] = (),
) -> None:
    """Store refined entities on a Doc, in place of any that were there.

    doc (Doc): The Doc to write on.
    spans (Sequence[Span]): The entities in text order, `id_` equal to the record's.
    records (Sequence[dict]): One plain dict for each entity. The offsets of its span
        are added, for `_fits`.
    dropped (Sequence[dict]): What was filtered out, with reasons.
    normal (Sequence[Span]): Normal statements in text order.
    normal_records (Sequence[dict]): One plain dict for each statement.
    refiner (str): Hash of the refiner's settings.
    devices (Sequence[Span]): Devices in text order.
    device_records (Sequence[dict]): One plain dict for each device.
    """
    doc.spans[CLINICAL_KEY] = SpanGroup(
        doc,
        name=CLINICAL_KEY,
        spans=list(spans),
        attrs={
            "records": _with_offsets(records, spans),
            "dropped": list(dropped),
            "refiner": refiner,
        },
    )
    doc.spans[NORMAL_KEY] = SpanGroup(
        doc,
        name=NORMAL_KEY,
        spans=list(normal),
        attrs={"records": _with_offsets(normal_records, normal)},
    )
    doc.spans[DEVICES_KEY] = SpanGroup(
        doc,
        name=DEVICES_KEY,
        spans=list(devices),
        attrs={"records": _with_offsets(device_records, devices)},
    )


def _with_offsets(
    records: Iterable[dict[str, Any]], spans: Iterable[Span]
) -> list[dict[str, Any]]:
    return [
        {**record, "start_char": span.start_char, "end_char": span.end_char}
        for record, span in zip(records, spans, strict=True)
    ]


def write_embedding(doc: Doc, embedding: Embedding) -> None:
    """Store the vectors of a Doc's entities, as bytes, beside their records."""
    _group(doc).attrs["embedding"] = {
        "texts": embedding.texts.astype("<f4").tobytes(),
        "concepts": embedding.concepts.astype("<f4").tobytes(),
        "shape": list(embedding.texts.shape),
        "encoder": embedding.encoder,
        "fingerprint": embedding.fingerprint,
        "calibration": list(embedding.calibration),
        "scoring": embedding.scoring,
        "similarity": embedding.similarity,
        "pipeline": embedding.pipeline,
    }


def read_entities(doc: Doc) -> tuple[Entity, ...]:
    """The clinical entities of a Doc as plain dataclasses, in text order.

    RAISES (ValueError): E201 for a Doc that was not refined, E202 for a group or
        tokens that were changed afterwards.
    """
    return _entities(_located(_group(doc), CLINICAL_KEY))


def read_devices(doc: Doc) -> tuple[Entity, ...]:
    """The devices of a Doc as plain dataclasses, in text order."""
    if DEVICES_KEY not in doc.spans:
        return ()
    return _entities(_located(doc.spans[DEVICES_KEY], DEVICES_KEY))


def _entities(located: Iterable[tuple[Span, dict[str, Any]]]) -> tuple[Entity, ...]:
    return tuple(
        Entity(
            text=span.text,
            start_char=span.start_char,
            end_char=span.end_char,
            label=span.label_,
            assertion=record["assertion"],
            cue=record["cue"],
            attributes=record["attributes"],
            mcse_text=record["mcse_text"],
            concept=record["concept"],
            known=record.get("known", False),
            significance=record.get("significance", ""),
            families=tuple(record.get("families", ())),
            own=record.get("own", {}),
        )
        for span, record in located
    )


def read_normal(doc: Doc) -> tuple[NormalStatement, ...]:
    """The normal statements of a Doc as plain dataclasses, in text order."""
    if NORMAL_KEY not in doc.spans:
        return ()
    return tuple(
        NormalStatement(
            text=span.text,
            start_char=span.start_char,
            end_char=span.end_char,
            mcse_text=record["mcse_text"],
            concept=record["concept"],
            denies=tuple(record["denies"]),
            attributes=record["attributes"],
        )
        for span, record in _located(doc.spans[NORMAL_KEY], NORMAL_KEY)
    )


def read_embedding(doc: Doc) -> Optional[Embedding]:
    """The stored vectors of a Doc, or None where no embedder has seen it."""
    stored = _group(doc).attrs.get("embedding")
    if stored is None:
        return None
    shape = tuple(stored["shape"])
    return Embedding(
        texts=np.frombuffer(stored["texts"], "<f4").reshape(shape),
        concepts=np.frombuffer(stored["concepts"], "<f4").reshape(shape),
        encoder=stored["encoder"],
        fingerprint=stored["fingerprint"],
        calibration=(stored["calibration"][0], stored["calibration"][1]),
        scoring=dict(stored["scoring"]),
        similarity=stored["similarity"],
        pipeline=stored["pipeline"],
    )


def read_facts(doc: Doc) -> ReportFacts:
    """All that scoring needs of one Doc.

    RAISES (TypeError): E203 for anything but a Doc. (ValueError): E201, E202, E405.
    """
    if not isinstance(doc, Doc):
        raise TypeError(Errors.E203.format(got=type(doc).__name__))
    embedding = read_embedding(doc)
    if embedding is None:
        raise ValueError(Errors.E405)
    return ReportFacts(
        entities=read_entities(doc),
        normal=read_normal(doc),
        embedding=embedding,
        refiner=_group(doc).attrs["refiner"],
        devices=read_devices(doc),
    )


def is_refined(doc: Doc) -> bool:
    """Whether 'mcse_entity_refiner' has processed the Doc."""
    return CLINICAL_KEY in doc.spans


def _group(doc: Doc) -> SpanGroup:
    if not is_refined(doc):
        raise ValueError(Errors.E201)
    return _checked(doc.spans[CLINICAL_KEY], CLINICAL_KEY)


def _checked(group: SpanGroup, key: str) -> SpanGroup:
    records = len(group.attrs.get("records", ()))
    # Joining Docs and assigning a list to the key both lose the attrs.
    if records != len(group) or "records" not in group.attrs:
        raise _misfit(key, f"{records} records, {len(group)} spans")
    return group


def _located(group: SpanGroup, key: str) -> list[tuple[Span, dict[str, Any]]]:
    """The spans of a group with their records; E202 where they do not fit."""
    records = _checked(group, key).attrs["records"]
    return [(_span(group, key, i), record) for i, record in enumerate(records)]


def _span(group: SpanGroup, key: str, number: int) -> Span:
    """One span of a group with checked records; E202 where it does not fit its own."""
    record = group.attrs["records"][number]
    try:
        span = group[number]
    except IndexError:
        pass  # the tokens that are left do not reach so far
    else:
        if _fits(span, record.get("start_char"), record.get("end_char")):
            return span
    raise _misfit(key, f"span {number} is not where its record says")


def _fits(span: Span, start_char: Optional[int], end_char: Optional[int]) -> bool:
    """Whether the tokens and the offsets of a span are those of its record.

    Merging and splitting tokens leaves both the offsets and the token numbers of a
    span as they were, so that they are no longer the same place.
    """
    if (span.start_char, span.end_char) != (start_char, end_char):
        return False
    if not 0 <= span.start < span.end <= len(span.doc):
        return False
    first, last = span.doc[span.start], span.doc[span.end - 1]
    return (first.idx, last.idx + len(last)) == (start_char, end_char)


def _misfit(key: str, problem: str) -> ValueError:
    return ValueError(Errors.E202.format(key=key, problem=problem))


def stored_spans(doc: Doc, key: str) -> list[Span]:
    """The spans of one of our groups, empty without it; E202 where it was changed."""
    if key not in doc.spans:
        return []
    return [span for span, _ in _located(doc.spans[key], key)]


def span_record(span: Span) -> dict[str, Any]:
    """The record of a span: by its id, else by its offsets, else empty."""
    same_place: dict[str, Any] = {}
    for key, letter in _LETTERS:
        if key not in span.doc.spans:
            continue
        group = _checked(span.doc.spans[key], key)
        if len(span) and not _fits(span, span.start_char, span.end_char):
            raise _misfit(key, "the span was made before its tokens were changed")
        records = group.attrs["records"]
        # An id tells the place in the group, which is far quicker than a search.
        number = span.id_[1:]
        if span.id_[:1] == letter and number.isdecimal() and int(number) < len(group):
            own = _span(group, key, int(number))
            if (own.id_, own.start, own.end) == (span.id_, span.start, span.end):
                return records[int(number)]
        for other, record in _located(group, key):
            if (other.start, other.end) == (span.start, span.end):
                same_place = same_place or record
    return same_place
