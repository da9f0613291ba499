"""The component `mcse_embedder`: vectors for the clinical entities of a Doc."""

import multiprocessing
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc
from spacy.util import minibatch, split_requirement

from .corpus import doc_score, pipeline_name
from .data import Embedding, read_embedding, read_entities, write_embedding
from .encoders import Encoder, PipelineVectorsEncoder
from .errors import Errors
from .extensions import install_extension, install_extensions
from .settings import ScoreSettings

FACTORY = "mcse_embedder"
SIMILARITIES = ("mcse", "f1")
DEFAULT_CONFIG: dict[str, Any] = {
    "encoder": {"@misc": "spacy-mcse.StaticEncoder.v1"},
    "similarity": "mcse",
    "scoring": {},
    "cache_size": 50_000,
}


@Language.factory(
    FACTORY,
    assigns=["doc.spans", "doc._.mcse"],
    requires=["doc.spans", "doc._.clinical_entities"],
    default_config=DEFAULT_CONFIG,
)
def make_embedder(
    nlp: Language,
    name: str,
    encoder: Encoder,
    similarity: str,
    scoring: dict[str, Any],
    cache_size: int,
) -> "Embedder":
    """Build the component; see `Embedder` for the settings."""
    if isinstance(encoder, PipelineVectorsEncoder):
        encoder.bind(nlp)
    _add_requirements(nlp, getattr(encoder, "requirements", ()))
    return Embedder(
        encoder,
        name,
        similarity=similarity,
        scoring=scoring,
        cache_size=cache_size,
        pipeline=pipeline_name(nlp),
    )


def _add_requirements(nlp: Language, requirements: Iterable[str]) -> None:
    """Let `python -m spacy package` require what the encoder needs.

    It finds by itself only the packages whose functions the config names.
    """
    given = list(nlp.meta.get("requirements", ()))
    names = {split_requirement(line)[0] for line in given}
    added = [line for line in requirements if split_requirement(line)[0] not in names]
    if added:
        nlp.meta["requirements"] = given + added


class Embedder(Pipe):
    """Encode the clinical entities of a Doc and let it be scored against others.

    encoder (Encoder): What makes vectors of phrases.
    name (str): Name in the pipeline.
    similarity (str): What `doc.similarity` returns: `mcse` or `f1`.
    scoring (Optional[dict]): Settings of the calibrated score that differ from the
        defaults of `ScoreSettings`.
    cache_size (int): Phrases whose vectors are kept; the oldest go first.
    pipeline (str): Name and version of the pipeline, for signatures.
    RAISES (ValueError): E105 for a value that is not allowed.
    """

    def __init__(
        self,
        encoder: Encoder,
        name: str = FACTORY,
        *,
        similarity: str = "mcse",
        scoring: Optional[dict[str, Any]] = None,
        cache_size: int = 50_000,
        pipeline: str = "",
    ) -> None:
        if similarity not in SIMILARITIES:
            raise ValueError(
                Errors.E105.format(
                    argument="similarity",
                    component=name,
                    got=repr(similarity),
                    allowed=", ".join(SIMILARITIES),
                )
            )
        if cache_size < 0:
            raise ValueError(
                Errors.E105.format(
                    argument="cache_size",
                    component=name,
                    got=cache_size,
                    allowed="0 (no cache) or a positive number of phrases",
                )
            )
        self.name = name
        self.encoder = encoder
        self.settings = ScoreSettings.from_dict(scoring or {})
        self.similarity = similarity
        self.cache_size = cache_size
        self.pipeline = pipeline
        self._cache: dict[str, NDArray[np.float32]] = {}
        install()

    def __call__(self, doc: Doc) -> Doc:
        """Encode the clinical entities of one Doc and set its similarity hook."""
        self.set_annotations([doc], self.predict([doc]))
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Encode a stream, the distinct phrases of a batch of Docs at once."""
        handle = self.get_error_handler()
        for docs in minibatch(stream, batch_size):
            try:
                self.set_annotations(docs, self.predict(docs))
            except Exception:
                # One by one, so that a bad Doc takes no good ones with it.
                for doc in docs:
                    try:
                        yield self(doc)
                    except Exception as error:
                        handle(self.name, self, [doc], error)
                continue
            yield from docs

    def predict(self, docs: Sequence[Doc]) -> list[Embedding]:
        """Vectors for each Doc; nothing is written.

        docs (Sequence[Doc]): Docs that the refiner has processed.
        RETURNS (list[Embedding]): One per Doc, rows in the order of its entities.
        RAISES (ValueError): E201 for a Doc without clinical entities.
        """
        entities = [read_entities(doc) for doc in docs]
        phrases = {
            text: None
            for found in entities
            for entity in found
            for text in (entity.mcse_text, entity.concept)
        }
        vectors = dict(zip(phrases, self.encode(list(phrases)), strict=True))
        encoder = self.encoder
        name, fingerprint = encoder.name, encoder.fingerprint
        calibration = encoder.calibration
        scoring = self.settings.to_dict()
        width = len(next(iter(vectors.values()))) if vectors else 0
        return [
            Embedding(
                texts=_rows([vectors[e.mcse_text] for e in found], width),
                concepts=_rows([vectors[e.concept] for e in found], width),
                encoder=name,
                fingerprint=fingerprint,
                calibration=calibration,
                scoring=scoring,
                similarity=self.similarity,
                pipeline=self.pipeline,
            )
            for found in entities
        ]

    def set_annotations(
        self, docs: Sequence[Doc], embeddings: Sequence[Embedding]
    ) -> None:
        """Write vectors on their Docs and set the similarity hooks."""
        _ignore_lost_hooks_in_workers()
        for doc, embedding in zip(docs, embeddings, strict=True):
            write_embedding(doc, embedding)
            attach_similarity(doc)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of phrases; each distinct phrase is encoded once.

        texts (Sequence[str]): Phrases.
        RETURNS (NDArray): float32 (n, d), rows of unit length, in the given order.
        """
        if not texts:
            return self.encoder.encode([])
        # Another thread may drop what is in the cache at any moment: read once, and no
        # lock, which would not pickle.
        cache = self._cache
        found = {text: cache.get(text) for text in dict.fromkeys(texts)}
        rows = {text: row for text, row in found.items() if row is not None}
        missing = [text for text in found if text not in rows]
        if missing:
            new = dict(zip(missing, self.encoder.encode(missing), strict=True))
            rows.update(new)
            cache.update(new)
        kept = list(cache)
        for text in kept[: max(0, len(kept) - self.cache_size)]:
            cache.pop(text, None)
        return np.stack([rows[text] for text in texts])

    def to_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> None:
        """Save the encoder with its weights into the folder `path`."""
        path = Path(path)
        path.mkdir(parents=True, exist_ok=True)
        self.encoder.to_disk(path)

    def from_disk(
        self, path: Union[str, Path], *, exclude: Iterable[str] = ()
    ) -> "Embedder":
        """Read the encoder; a pipeline saved without it keeps the config's."""
        if Path(path).exists():
            self.encoder.from_disk(Path(path))
            self._cache = {}
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The encoder with its weights as bytes."""
        return self.encoder.to_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "Embedder":
        """Read what `to_bytes` gave."""
        self.encoder.from_bytes(data)
        self._cache = {}
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}


def attach_similarity(doc: Doc) -> Doc:
    """Let `doc.similarity` return the score again, after the hook got lost.

    spaCy saves no hooks: a Doc read from bytes, from a DocBin or from a worker process
    has none. `doc._.mcse(other)` needs no hook.

    doc (Doc): A Doc with vectors.
    RETURNS (Doc): The same Doc.
    RAISES (TypeError): E203 for anything but a Doc.
    """
    if not isinstance(doc, Doc):
        raise TypeError(Errors.E203.format(got=type(doc).__name__))
    doc.user_hooks["similarity"] = doc_similarity
    return doc


def doc_similarity(doc: Doc, other: Doc) -> float:
    """What `doc.similarity(other)` returns: `mcse` or `f1`, as the embedder was set.

    doc (Doc): The reference.
    other (Doc): The candidate; a Span or Token is refused.
    RETURNS (float): In [0, 1].
    RAISES (TypeError): E203. (ValueError): E201, E404, E405.
    """
    score = doc_score(doc, other)
    embedding = read_embedding(doc)
    assert embedding is not None  # doc_score has checked it
    return float(getattr(score, embedding.similarity))


def install() -> None:
    """Register the extensions of Doc and Span, once."""
    install_extensions()
    install_extension(Doc, "mcse", method=doc_score)


def _ignore_lost_hooks_in_workers() -> None:
    """Keep spaCy from warning (W109), Doc by Doc, that a worker's Docs lose hooks.

    They do, and `attach_similarity` or `doc._.mcse` serve there; see the README.
    """
    if multiprocessing.parent_process() is not None:
        warnings.filterwarnings("ignore", message=r"\[W109\]")


def _rows(rows: list[NDArray[np.float32]], width: int) -> NDArray[np.float32]:
    return np.stack(rows) if rows else np.zeros((0, width), np.float32)


install()
