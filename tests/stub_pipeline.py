"""A pipeline of a few words, for tests of everything that comes after extraction.

It reads `FINDINGS` as findings, "no" in front as a denial, "possible" as doubt,
"left", "right", "mild" and "severe" as attributes, and "normal" as the statement
that all findings of `FINDINGS` are absent.
"""

import hashlib
from typing import Any

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_mcse.data import (
    Embedding,
    read_entities,
    write_embedding,
    write_entities,
)

FINDINGS = ("edema", "effusion", "fracture", "pneumothorax", "mass")
KINDS = {"left": "side", "right": "side", "mild": "severity", "severe": "severity"}
FAILS = "explode"


def vectors(texts: list[str]) -> np.ndarray:
    """Unit vectors that depend on nothing but the texts."""
    rows = np.zeros((len(texts), 16), dtype=np.float32)
    for i, text in enumerate(texts):
        digest = hashlib.sha256(text.encode("utf8")).digest()[:16]
        row = np.frombuffer(digest, dtype=np.uint8).astype(np.float32) - 127.5
        rows[i] = row / np.linalg.norm(row)
    return rows


@Language.component("mcse_stub_refiner")
def refine(doc: Doc) -> Doc:
    spans: list[Span] = []
    records: list[dict[str, Any]] = []
    normal: list[Span] = []
    before: list[str] = []
    for token in doc:
        word = token.lower_
        if word == FAILS:
            raise RuntimeError(f"cannot read {doc.text}")
        if word in FINDINGS:
            said = [w for w in before if w in KINDS]
            attributes: dict[str, list[dict[str, Any]]] = {}
            for value in said:
                item = {"text": value, "value": value, "start_char": 0, "end_char": 1}
                attributes.setdefault(KINDS[value], []).append(item)
            absent = "no" in before
            assertion = "uncertain" if "possible" in before else "present"
            name = str(token.i)
            spans.append(Span(doc, token.i, token.i + 1, "FINDING", span_id=name))
            records.append(
                {
                    "assertion": "absent" if absent else assertion,
                    "cue": None,
                    "attributes": attributes,
                    "mcse_text": " ".join(["no"] * absent + said + [word]),
                    "concept": word,
                }
            )
            before = []
        elif word == "normal":
            normal.append(Span(doc, token.i, token.i + 1, span_id=f"n{token.i}"))
        elif word == ".":
            before = []
        else:
            before.append(word)
    statement = {"mcse_text": "normal", "concept": "chest", "attributes": {}}
    denies = [{**statement, "denies": list(FINDINGS)} for _ in normal]
    write_entities(doc, spans, records, [], normal, denies, "stub")
    return doc


@Language.component("mcse_stub_embedder")
def embed(doc: Doc) -> Doc:
    entities = read_entities(doc)
    embedding = Embedding(
        texts=vectors([entity.mcse_text for entity in entities]),
        concepts=vectors([entity.concept for entity in entities]),
        encoder="stub",
        fingerprint="0123",
        calibration=(0.7, 0.95),
        pipeline="en_stub-0.0.0",
    )
    write_embedding(doc, embedding)
    return doc


def make_pipeline() -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("mcse_stub_refiner", name="mcse_entity_refiner")
    nlp.add_pipe("mcse_stub_embedder", name="mcse_embedder")
    return nlp
