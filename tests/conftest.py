"""Pipelines for the tests: the default one, a blank one, and a tiny encoder."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.util import is_package, registry

import spacy_mcse
from spacy_mcse.pipelines import BASES

HASH_ENCODER = "spacy-mcse-test.HashEncoder.v1"
WIDTH = 24


class HashEncoder:
    """Unit vectors that depend on nothing but the words of a phrase; no weights.

    calls (int): How often `encode` was called.
    texts (list[str]): All phrases that were encoded, in order.
    """

    name = "hash-test"
    fingerprint = "5eed"
    calibration = (0.35, 0.95)

    def __init__(self) -> None:
        self.calls = 0
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.calls += 1
        self.texts += texts
        rows = np.zeros((len(texts), WIDTH), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.split() or [""]:
                digest = hashlib.sha256(word.encode("utf8")).digest()[:WIDTH]
                row += np.frombuffer(digest, dtype=np.uint8).astype("f4") - 127.5
            row /= np.linalg.norm(row)
        return rows

    def to_disk(self, path: Path) -> None: ...

    def from_disk(self, path: Path) -> None: ...

    def to_bytes(self) -> bytes:
        return b""

    def from_bytes(self, data: bytes) -> None: ...


if HASH_ENCODER not in registry.misc:

    @registry.misc(HASH_ENCODER)
    def make_hash_encoder() -> HashEncoder:
        return HashEncoder()


TERMS = ("effusion", "edema", "pneumothorax", "cardiomegaly", "opacity", "fracture")


def make_blank(**refiner: Any) -> Language:
    """A blank pipeline: a few terms as entities, no parser, no tagger."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns(
        [{"label": "FINDING", "pattern": [{"LOWER": term}]} for term in TERMS]
    )
    nlp.add_pipe("mcse_entity_refiner", config=refiner)
    nlp.add_pipe("mcse_embedder", config={"encoder": {"@misc": HASH_ENCODER}})
    return nlp


@pytest.fixture(scope="session")
def nlp() -> Language:
    """The default pipeline."""
    if not any(is_package(base) for base in BASES):
        pytest.skip("spaCy's small English pipeline is not installed (extra 'cxr')")
    return spacy_mcse.load()


@pytest.fixture(scope="session")
def blank_nlp() -> Language:
    """A blank pipeline with both components; do not change it."""
    return make_blank()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of public data that MCSE_DATA names."""
    folder = os.environ.get("MCSE_DATA")
    if not folder:
        pytest.skip("MCSE_DATA is not set: the folder with the public data")
    return Path(folder)
