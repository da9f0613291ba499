"""Between which cosines the similarities of an encoder lie: floor and ceiling."""

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Optional

import numpy as np

from .errors import Errors
from .unit_vectors import FloatArray

if TYPE_CHECKING:
    from .encoders import Encoder

Calibration = tuple[float, float]


def calibrate(
    encoder: "Encoder",
    unrelated_pairs: Sequence[tuple[str, str]],
    synonym_pairs: Sequence[tuple[str, str]],
) -> Calibration:
    """Measure between which cosines the similarities of an encoder lie.

    encoder (Encoder): The encoder.
    unrelated_pairs (Sequence[tuple[str, str]]): Phrases with nothing in common.
    synonym_pairs (Sequence[tuple[str, str]]): Phrases that say the same.
    RETURNS (Calibration): The 95th percentile of the cosines of unrelated phrases and
        the median of those of synonyms.
    RAISES (ValueError): E305 where either list is empty.
    """
    if not len(unrelated_pairs) or not len(synonym_pairs):
        raise ValueError(
            Errors.E305.format(
                unrelated=len(unrelated_pairs), synonyms=len(synonym_pairs)
            )
        )
    floor = np.percentile(_cosines(encoder, unrelated_pairs), 95)
    ceiling = np.median(_cosines(encoder, synonym_pairs))
    return round(float(floor), 4), round(float(ceiling), 4)


@lru_cache(maxsize=1)
def calibration_pairs() -> dict[str, list[tuple[str, str]]]:
    """Read the packaged pairs that an encoder of unknown calibration is measured on.

    RETURNS (dict[str, list[tuple[str, str]]]): The pairs under "unrelated" and
        "synonym".
    """
    text = (files(__package__) / "vectors" / "calibration_pairs.tsv").read_text("utf8")
    pairs: dict[str, list[tuple[str, str]]] = {"unrelated": [], "synonym": []}
    rows = [line for line in text.splitlines() if line and not line.startswith("#")]
    for line in rows[1:]:
        kind, left, right = line.split("\t")
        pairs[kind].append((left, right))
    return pairs


def measure(encoder: "Encoder") -> Calibration:
    """Measure an encoder on the packaged pairs.

    encoder (Encoder): The encoder.
    RETURNS (Calibration): As by `calibrate`.
    """
    pairs = calibration_pairs()
    return calibrate(encoder, pairs["unrelated"], pairs["synonym"])


def read_calibration(values: Optional[Sequence[float]]) -> Optional[Calibration]:
    """Give a calibration that was saved as a list its type again.

    values (Optional[Sequence[float]]): Floor and ceiling, or None for not measured.
    RETURNS (Optional[Calibration]): The same.
    """
    return None if values is None else (float(values[0]), float(values[1]))


def _cosines(encoder: "Encoder", pairs: Sequence[tuple[str, str]]) -> FloatArray:
    left = encoder.encode([pair[0] for pair in pairs])
    right = encoder.encode([pair[1] for pair in pairs])
    return np.asarray((left * right).sum(axis=1), dtype=np.float32)
