"""The encoder of packaged word vectors: weighted sums, no torch."""

import io
import json
import re
import unicodedata
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Optional, Union

import numpy as np
from numpy.typing import NDArray

from .calibration import Calibration
from .encoder_files import fingerprint_of, read_file
from .errors import Errors
from .unit_vectors import FloatArray, hashed_vectors, unit

STATIC_FILE = "static.npz"

# Words that are cut into pieces once; a full cache is emptied rather than sorted by
# age, which costs more than cutting the words again.
MAX_WORDS = 100_000
# Phrases whose word vectors are gathered at once: few enough to stay in the cache of
# the processor.
CHUNK = 512

WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class StaticWeights:
    """The content of a file of static vectors.

    name (str): Name of the weights, for the signature.
    words (dict[str, int]): Row of each word and of each piece ("##itis") of words.
    vectors (FloatArray): The rows. Their lengths are the weights of the words.
    unknown (float): Length given to the hashed vector of an unknown word.
    calibration (Calibration): Floor and ceiling of the cosines.
    """

    name: str
    words: dict[str, int]
    vectors: FloatArray
    unknown: float
    calibration: Calibration

    @classmethod
    def read(cls, data: bytes, source: str) -> "StaticWeights":
        """Read weights.

        data (bytes): The bytes of an `.npz` file.
        source (str): Where they are from, for the error.
        RETURNS (StaticWeights): The weights.
        RAISES (ValueError): E302 for anything else than a weights file.
        """
        try:
            # Pickled arrays would run code of the file's on loading.
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                vectors = arrays["vectors"].astype(np.float32)
                words = arrays["words"].tobytes().decode("utf8").split("\n")
                settings = json.loads(arrays["settings"].tobytes())
            floor, ceiling = settings["calibration"]
            weights = cls(
                name=str(settings["name"]),
                words={word: row for row, word in enumerate(words)},
                vectors=vectors,
                unknown=float(settings["unknown"]),
                calibration=(float(floor), float(ceiling)),
            )
        except (
            AttributeError,
            KeyError,
            OSError,
            TypeError,
            ValueError,
            zipfile.BadZipFile,
        ) as error:
            raise ValueError(Errors.E302.format(path=source, problem=error)) from error
        if vectors.ndim != 2 or len(weights.words) != len(vectors):
            problem = f"{len(weights.words)} words for vectors of shape {vectors.shape}"
            raise ValueError(Errors.E302.format(path=source, problem=problem))
        return weights

    def to_bytes(self) -> bytes:
        """Write the weights as an `.npz` file, with equal bytes for equal weights."""
        settings = {
            "name": self.name,
            "unknown": self.unknown,
            "calibration": list(self.calibration),
        }
        buffer = io.BytesIO()
        np.savez(
            buffer,
            vectors=self.vectors.astype(np.float16),
            words=_byte_array("\n".join(self.words)),
            settings=_byte_array(json.dumps(settings, sort_keys=True)),
        )
        return buffer.getvalue()


class StaticEncoder:
    """Weighted sums of word vectors: fast, small, no torch.

    Words outside the vocabulary are cut into the longest pieces that are in it. A word
    that cannot be cut gets a hashed vector, so that it is equal to itself only.
    """

    def __init__(self, path: Optional[str] = None) -> None:
        """Initialise the encoder; the weights are read at the first use.

        path (Optional[str]): Weights file, or folder with one. None means the packaged
            weights.
        """
        self.path = path
        self._weights: Optional[StaticWeights] = None
        self._pieces: dict[str, tuple[int, ...]] = {}
        self._fingerprint: Optional[str] = None

    @property
    def weights(self) -> StaticWeights:
        """The weights, read at the first use.

        RAISES (FileNotFoundError): E301 where there is no such file.
        """
        if self._weights is None:
            if self.path is None:
                data = (files(__package__) / "vectors" / "static_cxr.npz").read_bytes()
                self._weights = StaticWeights.read(data, "static_cxr.npz")
            else:
                path = Path(self.path)
                path = path / STATIC_FILE if path.is_dir() else path
                self._weights = StaticWeights.read(read_file(path), str(path))
        return self._weights

    @property
    def name(self) -> str:
        return self.weights.name

    @property
    def calibration(self) -> Calibration:
        return self.weights.calibration

    @calibration.setter
    def calibration(self, calibration: Calibration) -> None:
        self._weights = replace(self.weights, calibration=calibration)
        self._fingerprint = None

    @property
    def fingerprint(self) -> str:
        if self._fingerprint is None:
            self._fingerprint = fingerprint_of([self.weights.to_bytes()])
        return self._fingerprint

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Encode phrases.

        texts (Sequence[str]): The phrases.
        RETURNS (FloatArray): Unit vectors, one row per phrase.
        """
        width = self.weights.vectors.shape[1]
        parts = [
            self._encode_chunk(texts[start : start + CHUNK])
            for start in range(0, len(texts), CHUNK)
        ]
        return np.concatenate(parts or [np.empty((0, width), dtype=np.float32)])

    def _encode_chunk(self, texts: Sequence[str]) -> FloatArray:
        vectors = self.weights.vectors
        size, width = vectors.shape
        rows: list[int] = []
        starts: list[int] = []
        unknown: dict[str, int] = {}
        for text in texts:
            starts.append(len(rows))
            words = normalize_words(text)
            for word in words:
                pieces = self._pieces.get(word)
                if pieces is None:
                    pieces = self._cut(word)
                # No piece: a word that is not known, numbered behind the known ones.
                rows.extend(pieces or (size + unknown.setdefault(word, len(unknown)),))
            if not words:
                rows.append(size + unknown.setdefault(text, len(unknown)))
        if unknown:
            added = hashed_vectors(list(unknown), width) * self.weights.unknown
            is_known = np.asarray(rows) < size
            terms = np.empty((len(rows), width), dtype=np.float32)
            terms[is_known] = vectors[np.asarray(rows)[is_known]]
            terms[~is_known] = added[np.asarray(rows)[~is_known] - size]
        else:
            terms = vectors[rows]
        return unit(np.add.reduceat(terms, starts, axis=0), texts)

    def to_disk(self, path: Union[str, Path]) -> None:
        """Write the weights into a folder.

        path (Union[str, Path]): The folder, made where it is missing.
        """
        path = Path(path)
        path.mkdir(parents=True, exist_ok=True)
        (path / STATIC_FILE).write_bytes(self.to_bytes())

    def from_disk(self, path: Union[str, Path]) -> None:
        """Read the weights from a folder written by `to_disk`.

        path (Union[str, Path]): The folder.
        RAISES (FileNotFoundError): E301 where the folder has no weights.
        """
        self.from_bytes(read_file(Path(path) / STATIC_FILE))

    def to_bytes(self) -> bytes:
        """Serialise the weights. RETURNS (bytes): What `from_bytes` reads."""
        return self.weights.to_bytes()

    def from_bytes(self, data: bytes) -> None:
        """Read weights.

        data (bytes): The result of `to_bytes`.
        RAISES (ValueError): E302 for anything else than weights.
        """
        self._weights = StaticWeights.read(data, "bytes")
        self._pieces = {}
        self._fingerprint = None

    def _cut(self, word: str) -> tuple[int, ...]:
        """Cut a word into the longest known pieces from the left; () if that fails."""
        known = self.weights.words
        pieces: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                row = known.get(prefix + word[start:end])
                if row is not None:
                    pieces.append(row)
                    start = end
                    break
            else:
                pieces = []
                break
        if len(self._pieces) >= MAX_WORDS:
            self._pieces.clear()
        self._pieces[word] = tuple(pieces)
        return self._pieces[word]


def normalize_words(text: str) -> list[str]:
    """Cut a text into lower-case words without accents, hyphens and punctuation.

    text (str): The text.
    RETURNS (list[str]): The words in order.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = "".join(char for char in text if not unicodedata.combining(char))
    return WORD.findall(text.lower())


def _byte_array(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode("utf8"), dtype=np.uint8)
