"""The component `mcse_entity_collector`: one span group for several recognizers."""

from typing import Any

from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from .entity_source import CANDIDATES_KEY

FACTORY = "mcse_entity_collector"
DEFAULT_CONFIG: dict[str, Any] = {"spans_key": CANDIDATES_KEY, "clear_ents": False}


@Language.factory(
    FACTORY,
    assigns=["doc.spans", "doc.ents"],
    requires=["doc.ents"],
    default_config=DEFAULT_CONFIG,
)
def make_entity_collector(
    nlp: Language, name: str, spans_key: str, clear_ents: bool
) -> "EntityCollector":
    """Build the component; see `EntityCollector` for the settings."""
    return EntityCollector(name, spans_key=spans_key, clear_ents=clear_ents)


class EntityCollector(Pipe):
    """Add the entities of the recognizer in front to a span group.

    For the union of two recognizers put one behind each, the first with `clear_ents`.
    Two `ner` in a row are no union: the second keeps what is in `doc.ents`, cuts its
    own entities off around it, and adds labels that it was not trained on to its model,
    which it predicts at random once the pipeline was saved and loaded.

    name (str): Name in the pipeline.
    spans_key (str): Span group to add to; spans may overlap there. Of two with the same
        offsets the first stays, so that the first recognizer decides the label.
    clear_ents (bool): Empty `doc.ents`, for another recognizer to begin with none; else
        `doc.ents` becomes all that was collected, without overlaps, the longest first.
    """

    def __init__(
        self,
        name: str = FACTORY,
        *,
        spans_key: str = CANDIDATES_KEY,
        clear_ents: bool = False,
    ) -> None:
        self.name = name
        self.cfg: dict[str, Any] = {"spans_key": spans_key, "clear_ents": clear_ents}

    def __call__(self, doc: Doc) -> Doc:
        """Collect the entities of one Doc."""
        self.set_annotations(doc, self.collect(doc))
        return doc

    def collect(self, doc: Doc) -> list[Span]:
        """The spans of the group and the entities of a Doc in text order.

        doc (Doc): The Doc; nothing is written.
        RETURNS (list[Span]): No two have the same offsets.
        """
        found = {
            (span.start, span.end): span
            for spans in (doc.ents, doc.spans.get(self.cfg["spans_key"], ()))
            for span in spans
        }
        return [span for _, span in sorted(found.items(), key=_offsets)]

    def set_annotations(self, doc: Doc, spans: list[Span]) -> None:
        """Write the span group, and `doc.ents` as `clear_ents` says."""
        doc.spans[self.cfg["spans_key"]] = spans
        doc.ents = () if self.cfg["clear_ents"] else filter_spans(spans)


def _offsets(item: tuple[tuple[int, int], Span]) -> tuple[int, int]:
    return item[0]
