"""Between which cosines the similarities of an encoder lie: floor and ceiling.

Phrases of one field have much in common, so that cosines of unrelated findings lie far
above 0. The floor is what nearly all of them stay under, the ceiling what half of the
synonyms reach; a calibrated similarity is the place of a cosine between the two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from .errors import Errors
from .unit_vectors import FloatArray

if TYPE_CHECKING:
    from .encoders import Encoder

Calibration = tuple[float, float]
PhrasePairs = Sequence[tuple[str, str]]

UNRELATED, SYNONYM = KINDS = ("unrelated", "synonym")
COLUMNS = ("kind", "left", "right")
# Percentile of the cosines of unrelated pairs, and of those of synonyms.
FLOOR_PERCENTILE, CEILING_PERCENTILE = 95, 50
# Parts of the pairs that are left out, one by one, to check a calibration.
FOLDS = 5


@dataclass(frozen=True)
class Measurement:
    """The cosines of both kinds of pairs, and the calibration that follows.

    unrelated (FloatArray): Cosines of phrases with nothing in common.
    synonym (FloatArray): Cosines of phrases that say the same.
    calibration (Calibration): Floor and ceiling of these cosines.
    """

    unrelated: FloatArray
    synonym: FloatArray
    calibration: Calibration

    @property
    def similarities(self) -> tuple[FloatArray, FloatArray]:
        """Calibrated similarities of unrelated pairs and of synonyms."""
        return (
            to_similarity(self.unrelated, self.calibration),
            to_similarity(self.synonym, self.calibration),
        )

    @property
    def left_out_similarities(self) -> Optional[tuple[FloatArray, FloatArray]]:
        """The same, of each pair by a calibration that has not seen it.

        None where there are too few pairs to leave any out.
        """
        if min(len(self.unrelated), len(self.synonym)) < FOLDS:
            return None
        both = (self.unrelated, self.synonym)
        found = tuple(np.empty_like(cosines) for cosines in both)
        for fold in range(FOLDS):
            left_out = [np.arange(len(cosines)) % FOLDS == fold for cosines in both]
            seen = [x[~out] for x, out in zip(both, left_out, strict=True)]
            calibration = _between(*seen)
            for x, out, result in zip(both, left_out, found, strict=True):
                result[out] = to_similarity(x[out], calibration)
        return found[0], found[1]


def measure_pairs(
    encoder: "Encoder", unrelated_pairs: PhrasePairs, synonym_pairs: PhrasePairs
) -> Measurement:
    """Measure an encoder on pairs of phrases.

    encoder (Encoder): The encoder.
    unrelated_pairs (PhrasePairs): Phrases with nothing in common.
    synonym_pairs (PhrasePairs): Phrases that say the same.
    RETURNS (Measurement): Cosines and calibration.
    RAISES (ValueError): E305 where either list is empty.
    """
    if not len(unrelated_pairs) or not len(synonym_pairs):
        raise ValueError(
            Errors.E305.format(
                unrelated=len(unrelated_pairs), synonyms=len(synonym_pairs)
            )
        )
    unrelated = _cosines(encoder, unrelated_pairs)
    synonym = _cosines(encoder, synonym_pairs)
    return Measurement(unrelated, synonym, _between(unrelated, synonym))


def calibrate(
    encoder: "Encoder", unrelated_pairs: PhrasePairs, synonym_pairs: PhrasePairs
) -> Calibration:
    """Measure between which cosines the similarities of an encoder lie.

    encoder (Encoder): The encoder.
    unrelated_pairs (PhrasePairs): Phrases with nothing in common.
    synonym_pairs (PhrasePairs): Phrases that say the same.
    RETURNS (Calibration): The 95th percentile of the cosines of unrelated phrases and
        the median of those of synonyms.
    RAISES (ValueError): E305 where either list is empty.
    """
    return measure_pairs(encoder, unrelated_pairs, synonym_pairs).calibration


def to_similarity(cosines: FloatArray, calibration: Calibration) -> FloatArray:
    """Calibrated similarities, as `credit.similarities` has them before its settings.

    cosines (FloatArray): Cosines.
    calibration (Calibration): Floor and ceiling.
    RETURNS (FloatArray): 0 up to the floor, 1 from the ceiling on.
    """
    floor, ceiling = calibration
    similarities = (cosines - floor) / max(ceiling - floor, 1e-6)
    return np.asarray(np.clip(similarities, 0.0, 1.0), dtype=np.float32)


@lru_cache(maxsize=1)
def calibration_pairs() -> dict[str, list[tuple[str, str]]]:
    """Read the packaged pairs that an encoder of unknown calibration is measured on.

    RETURNS (dict[str, list[tuple[str, str]]]): The pairs under "unrelated" and
        "synonym".
    """
    path = files(__package__) / "vectors" / "calibration_pairs.tsv"
    return parse_pairs(path.read_text("utf8"), "calibration_pairs.tsv")


def read_pairs(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Read own pairs: a file of the form of `vectors/calibration_pairs.tsv`.

    path (Path): UTF-8, tab-separated, with the columns `kind` ("unrelated" or
        "synonym"), `left` and `right`; lines that begin with "#" are comments.
    RETURNS (dict[str, list[tuple[str, str]]]): The pairs by kind.
    RAISES (OSError): Where the file cannot be read. (ValueError): E310.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        problem = "it is not valid UTF-8"
        raise ValueError(Errors.E310.format(source=path, problem=problem)) from None
    return parse_pairs(text, str(path))


def parse_pairs(text: str, source: str) -> dict[str, list[tuple[str, str]]]:
    """The pairs of a text as `read_pairs` reads it; `source` is for errors."""

    def wrong(problem: str) -> ValueError:
        return ValueError(Errors.E310.format(source=source, problem=problem))

    pairs: dict[str, list[tuple[str, str]]] = {kind: [] for kind in KINDS}
    names: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if not names:
            names = cells
            missing = [name for name in COLUMNS if name not in names]
            if missing:
                raise wrong(f"line {number}: no column {', '.join(missing)}")
            continue
        if len(cells) != len(names):
            count = f"expected {len(names)} fields, found {len(cells)}"
            raise wrong(f"line {number}: {count}")
        row = dict(zip(names, cells, strict=True))
        if row["kind"] not in KINDS:
            raise wrong(f"line {number}: the kind is neither of {' and '.join(KINDS)}")
        if not row["left"] or not row["right"]:
            raise wrong(f"line {number}: a phrase is empty")
        pairs[row["kind"]].append((row["left"], row["right"]))
    return pairs


def measure(encoder: "Encoder") -> Calibration:
    """Measure an encoder on the packaged pairs.

    encoder (Encoder): The encoder.
    RETURNS (Calibration): As by `calibrate`.
    """
    pairs = calibration_pairs()
    return calibrate(encoder, pairs[UNRELATED], pairs[SYNONYM])


def store_calibration(encoder: Any, calibration: Calibration) -> None:
    """Let an encoder have a calibration, and save it from now on.

    encoder (Encoder): The encoder.
    calibration (Calibration): Floor and ceiling.
    RAISES (ValueError): E311 for an encoder of the user's whose `calibration` cannot
        be set, or is lost on saving: scores would silently be those of the old one.
    """
    try:
        encoder.calibration = calibration
    except AttributeError:
        raise ValueError(Errors.E311.format(name=encoder.name)) from None
    saved = encoder.to_bytes()
    encoder.calibration = (0.0, 2.0)  # none that is ever measured
    encoder.from_bytes(saved)
    if tuple(encoder.calibration) != tuple(calibration):
        raise ValueError(Errors.E311.format(name=encoder.name))


def read_calibration(values: Optional[Sequence[float]]) -> Optional[Calibration]:
    """Give a calibration that was saved as a list its type again.

    values (Optional[Sequence[float]]): Floor and ceiling, or None for not measured.
    RETURNS (Optional[Calibration]): The same.
    """
    return None if values is None else (float(values[0]), float(values[1]))


def _between(unrelated: FloatArray, synonym: FloatArray) -> Calibration:
    floor = np.percentile(unrelated, FLOOR_PERCENTILE)
    ceiling = np.percentile(synonym, CEILING_PERCENTILE)
    return round(float(floor), 4), round(float(ceiling), 4)


def _cosines(encoder: "Encoder", pairs: PhrasePairs) -> FloatArray:
    left = encoder.encode([pair[0] for pair in pairs])
    right = encoder.encode([pair[1] for pair in pairs])
    return np.asarray((left * right).sum(axis=1), dtype=np.float32)
