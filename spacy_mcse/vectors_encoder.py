"""The encoder that takes the word vectors of the pipeline it stands in."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

from .calibration import Calibration, measure, read_calibration
from .encoder_files import SETTINGS_FILE, fingerprint_of, read_file
from .errors import Errors
from .unit_vectors import FloatArray, unit

if TYPE_CHECKING:
    from spacy.language import Language


class PipelineVectorsEncoder:
    """Means of the word vectors of the pipeline, as in the code of the MCSE paper.

    The vectors belong to the pipeline and are saved with it, so that this encoder
    saves only its calibration.
    """

    def __init__(self) -> None:
        self._tokenizer: Any = None
        self._vocab: Any = None
        self._calibration: Optional[Calibration] = None
        self._fingerprint: Optional[tuple[int, str]] = None
        # Of the vectors in the process that a worker was started from.
        self._name = ""

    def __getstate__(self) -> dict[str, Any]:
        # Pickled vectors lose their name, and scores with it what they compare to.
        vectors = self._vocab.vectors if self._vocab is not None else None
        name = (vectors is not None and vectors.name) or self._name
        return {**self.__dict__, "_fingerprint": None, "_name": name}

    def bind(self, nlp: "Language") -> None:
        """Use the vectors and the tokenizer of a pipeline.

        nlp (Language): The pipeline. Its vectors may still be read from disk after.
        """
        # Not the pipeline itself: it holds the component that holds this encoder, and
        # a worker process would get it twice.
        self._tokenizer = nlp.tokenizer
        self._vocab = nlp.vocab
        self._fingerprint = None

    @property
    def name(self) -> str:
        return f"vectors-{self._vectors.name or self._name or self._vocab.lang}"

    @property
    def calibration(self) -> Calibration:
        if self._calibration is None:
            self._calibration = measure(self)
        return self._calibration

    @calibration.setter
    def calibration(self, calibration: Calibration) -> None:
        self._calibration = calibration

    @property
    def fingerprint(self) -> str:
        vectors = self._vectors
        if self._fingerprint is None or self._fingerprint[0] != id(vectors):
            # In arrays: scispaCy's pipelines have four million keys.
            count = len(vectors.key2row)
            keys = np.fromiter(vectors.key2row.keys(), np.uint64, count)
            rows = np.fromiter(vectors.key2row.values(), np.int64, count)
            order = np.argsort(keys)
            table = np.stack([keys[order], rows[order].astype(np.uint64)], axis=1)
            parts = [
                json.dumps([vectors.mode, self._vocab.lang]).encode("utf8"),
                table.astype("<u8").tobytes(),
                np.ascontiguousarray(_to_numpy(vectors.data)).data,
            ]
            self._fingerprint = (id(vectors), fingerprint_of(parts))
        return self._fingerprint[1]

    @property
    def _vectors(self) -> Any:
        if self._vocab is None:
            raise ValueError(Errors.E303)
        vectors = self._vocab.vectors
        if not self._vocab.vectors_length or not vectors.data.shape[0]:
            raise ValueError(Errors.E304.format(lang=self._vocab.lang))
        return vectors

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Encode phrases.

        texts (Sequence[str]): The phrases.
        RETURNS (FloatArray): Unit vectors, one row per phrase.
        RAISES (ValueError): E304 where the pipeline has no word vectors.
        """
        rows = np.zeros((len(texts), int(self._vectors.shape[1])), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for token in self._tokenizer(text):
                row += _to_numpy(token.vector)
        return unit(rows, texts)

    def to_disk(self, path: Union[str, Path]) -> None:
        """Write the calibration, where it was measured, into a folder.

        path (Union[str, Path]): The folder, made where it is missing.
        """
        path = Path(path)
        path.mkdir(parents=True, exist_ok=True)
        (path / SETTINGS_FILE).write_bytes(self.to_bytes())

    def from_disk(self, path: Union[str, Path]) -> None:
        """Read what `to_disk` wrote.

        path (Union[str, Path]): The folder.
        RAISES (FileNotFoundError): E301 where the folder has no such file.
        """
        self.from_bytes(read_file(Path(path) / SETTINGS_FILE))

    def to_bytes(self) -> bytes:
        """Serialise the calibration. RETURNS (bytes): What `from_bytes` reads."""
        return json.dumps({"calibration": self._calibration}).encode("utf8")

    def from_bytes(self, data: bytes) -> None:
        """Read the calibration.

        data (bytes): The result of `to_bytes`.
        """
        self._calibration = read_calibration(json.loads(data)["calibration"])


def _to_numpy(array: Any) -> NDArray[Any]:
    # Vectors of a pipeline on a GPU are cupy arrays.
    return np.asarray(array.get() if hasattr(array, "get") else array)
