"""Encoders of `mcse_embedder`: phrases in, unit vectors out.

Three registered functions make them: `spacy-mcse.StaticEncoder.v1`,
`spacy-mcse.PipelineVectors.v1` and `spacy-mcse.Transformer.v1`. None reads its weights
before the first use, so that a pipeline is assembled without them and `from_disk` may
bring them instead. None ever goes to the network.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Optional, Protocol, Union, runtime_checkable

from .calibration import Calibration
from .static_encoder import StaticEncoder
from .transformer_encoder import TransformerEncoder
from .transformer_model import DEFAULT_TRANSFORMER
from .unit_vectors import FloatArray
from .vectors_encoder import PipelineVectorsEncoder


@runtime_checkable
class Encoder(Protocol):
    """What `mcse_embedder` asks of an encoder. Any object with these will do."""

    @property
    def name(self) -> str:
        """Name for the signature of a score, for example "static-cxr-1"."""

    @property
    def fingerprint(self) -> str:
        """Hash of weights and settings: where it is equal, the vectors are."""

    @property
    def calibration(self) -> Calibration:
        """Cosine of unrelated phrases (floor) and of synonyms (ceiling).

        Where it can be set, and is saved with the rest, `python -m spacy mcse
        calibrate` can store another one.
        """

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors, one row per text."""

    def to_disk(self, path: Union[str, Path]) -> None: ...

    def from_disk(self, path: Union[str, Path]) -> None: ...

    def to_bytes(self) -> bytes: ...

    def from_bytes(self, data: bytes) -> None: ...


def make_static_encoder(path: Optional[str] = None) -> StaticEncoder:
    """Make the encoder `spacy-mcse.StaticEncoder.v1`.

    path (Optional[str]): A weights file made by `scripts/build_static_vectors.py`, or a
        folder with one. None means the packaged weights for chest X-ray reports.
    RETURNS (StaticEncoder): The encoder.
    """
    return StaticEncoder(path)


def make_pipeline_vectors_encoder() -> PipelineVectorsEncoder:
    """Make the encoder `spacy-mcse.PipelineVectors.v1`.

    RETURNS (PipelineVectorsEncoder): The encoder, to be bound to a pipeline.
    """
    return PipelineVectorsEncoder()


def make_transformer_encoder(
    name: str = DEFAULT_TRANSFORMER,
    pooling: str = "mean",
    max_length: int = 64,
    batch_size: int = 64,
) -> TransformerEncoder:
    """Make the encoder `spacy-mcse.Transformer.v1`.

    name (str): "package:NAME" for the model folder in the installed Python package of
        that name, a path to a model folder, or the name of a hub model that is in the
        local cache.
    pooling (str): "mean" of the word pieces or "cls", the first one.
    max_length (int): Word pieces of a phrase that are read, special ones included.
    batch_size (int): Phrases that the model reads at once.
    RETURNS (TransformerEncoder): The encoder.
    """
    return TransformerEncoder(
        name, pooling=pooling, max_length=max_length, batch_size=batch_size
    )
