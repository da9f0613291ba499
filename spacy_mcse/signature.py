"""The signature of a score: all that it depends on besides the two reports."""

from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Optional

from spacy.about import __version__ as spacy_version

from .data import ReportFacts
from .settings import ScoreSettings, short_hash, stored_settings


@dataclass(frozen=True)
class Signature:
    """Where a score comes from; scores of different signatures do not compare.

    version (str): Version of spacy_mcse.
    pipeline (str): Name and version of the pipeline.
    encoder (str): Name and fingerprint of the encoder.
    spacy (str): Version of spaCy.
    settings (str): Hash of the settings of refiner, calibration and score.
    """

    version: str
    pipeline: str
    encoder: str
    spacy: str
    settings: str

    def __str__(self) -> str:
        return (
            f"mcse:{self.version}|pipeline:{self.pipeline}|encoder:{self.encoder}"
            f"|spacy:{self.spacy}|settings:{self.settings}"
        )

    @classmethod
    def from_str(cls, text: str) -> "Signature":
        """Read what `str` wrote."""
        values = [part.partition(":")[2] for part in text.split("|")]
        return cls(*values)


def facts_signature(
    facts: ReportFacts, settings: Optional[ScoreSettings] = None
) -> Signature:
    """The signature of scores of a report that was processed in this way."""
    embedding = facts.embedding
    if settings is None:
        settings = stored_settings(embedding)
    return _signature(
        embedding.pipeline,
        f"{embedding.encoder}@{embedding.fingerprint[:12]}",
        facts.refiner,
        tuple(embedding.calibration),
        settings,
    )


@lru_cache(maxsize=64)
def _signature(
    pipeline: str,
    encoder: str,
    refiner: str,
    calibration: tuple[float, ...],
    settings: ScoreSettings,
) -> Signature:
    parts = {"refiner": refiner, "calibration": calibration, "score": settings.hash}
    return Signature(
        version=package_version(),
        pipeline=pipeline.replace("|", "/"),
        encoder=encoder.replace("|", "/"),
        spacy=spacy_version,
        settings=short_hash(parts),
    )


@lru_cache(maxsize=1)
def package_version() -> str:
    """The version of the installed package, "0.0.0" for a bare source tree."""
    try:
        return version("spacy-mcse")
    except PackageNotFoundError:
        return "0.0.0"
