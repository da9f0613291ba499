"""The encoder that reads phrases with a transformer, by spacy-transformers."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Optional, Union

import numpy as np
import srsly

from .calibration import Calibration, measure, read_calibration
from .encoder_files import SETTINGS_FILE, fingerprint_of, read_file
from .errors import Errors
from .transformer_model import (
    DEFAULT_TRANSFORMER,
    PACKAGE_PREFIX,
    convert_weights,
    find_model,
    load_model,
    read_model,
    runtime_requirements,
    use_one_thread_after_fork,
)
from .unit_vectors import FloatArray, unit

MODEL_FOLDER = "model"
POOLINGS = ("mean", "cls")

# Measured by scripts/build_static_vectors.py on vectors/calibration_pairs.tsv, with the
# default settings of the encoder: no other settings may use it.
TRANSFORMER_CALIBRATION: dict[str, Calibration] = {
    DEFAULT_TRANSFORMER: (0.3585, 0.5639),
}


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
    def requirements(self) -> list[str]:
        """What a package of a pipeline with this encoder has to require."""
        return runtime_requirements()

    @property
    def calibration(self) -> Calibration:
        if self._calibration is None:
            # Known for the default settings only. A saved pipeline brings its own.
            is_default = (self.pooling, self.max_length) == ("mean", 64)
            known = TRANSFORMER_CALIBRATION.get(self.source)
            self._calibration = known if known and is_default else measure(self)
        return self._calibration

    @calibration.setter
    def calibration(self, calibration: Calibration) -> None:
        self._calibration = calibration

    @property
    def fingerprint(self) -> str:
        if self._fingerprint is None:
            settings = [self.pooling, self.max_length]
            parts = [json.dumps(settings).encode("utf8")]
            for name, data in sorted(self._read_files().items()):
                parts += [name.encode("utf8"), data]
            self._fingerprint = fingerprint_of(parts)
        return self._fingerprint

    @property
    def model(self) -> Any:
        """The transformer model of spacy-transformers, loaded at the first use.

        RAISES (ImportError): E307 where spacy-transformers or torch is missing.
        RAISES (OSError): E308 or E309 where the model is not on this computer.
        """
        use_one_thread_after_fork()
        if self._model is None:
            with self._folder() as folder:
                self._model = load_model(folder)
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
        return unit(rows, texts)

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
        settings = json.loads(read_file(path / SETTINGS_FILE))
        read_file(path / MODEL_FOLDER / "config.json")
        self._restore(settings, read_model(path / MODEL_FOLDER))

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
        self._calibration = read_calibration(settings["calibration"])
        self._files = content
        self._model = None
        self._fingerprint = None

    def _read_files(self) -> dict[str, bytes]:
        if self._files:
            return self._files
        with self._folder() as folder:
            return read_model(folder)

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
                convert_weights(source, folder)
            for name, data in self._files.items():
                (folder / name).write_bytes(data)
            yield folder
