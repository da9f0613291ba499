"""The component `mcse_entity_source`: finds candidates with word lists and a parse."""

from collections.abc import Mapping
from typing import Any, Optional

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from .candidates import SOURCE_ID, Candidate, find_candidates, has_unknown_noun
from .lists import ListsPipe
from .reading import Reading, read

FACTORY = "mcse_entity_source"
CANDIDATES_KEY = "mcse_candidates"
DEFAULT_CONFIG: dict[str, Any] = {
    "spans_key": CANDIDATES_KEY,
    "annotate_ents": True,
    "keep_ents": True,
    "noun_phrases": True,
    "fix_spelling": True,
    "lexicons": None,
}


@Language.factory(
    FACTORY,
    assigns=["doc.spans", "doc.ents"],
    default_config=DEFAULT_CONFIG,
)
def make_entity_source(
    nlp: Language,
    name: str,
    spans_key: str,
    annotate_ents: bool,
    keep_ents: bool,
    noun_phrases: bool,
    fix_spelling: bool,
    lexicons: Optional[dict[str, str]],
) -> "EntitySource":
    """Build the component; see `EntitySource` for the settings."""
    return EntitySource(
        name,
        spans_key=spans_key,
        annotate_ents=annotate_ents,
        keep_ents=keep_ents,
        noun_phrases=noun_phrases,
        fix_spelling=fix_spelling,
        lexicons=lexicons,
    )


class EntitySource(ListsPipe):
    """Find terms of chest radiology and noun phrases that may be findings.

    name (str): Name in the pipeline.
    spans_key (str): Span group to write; candidates may overlap there.
    annotate_ents (bool): Also set `doc.ents` to the candidates that do not overlap.
    keep_ents (bool): Entities that an NER before this one set become candidates too,
        and stay in `doc.ents`.
    noun_phrases (bool): Add unknown noun phrases; needs a parse, else adds none.
    fix_spelling (bool): Read a long word with one mistake as the word of the lists:
        "cardiomegally". Offsets and `span.text` stay those of the report.
    lexicons (Optional[Mapping[str, str]]): Word lists of your own: path by the name of
        the packaged list. None uses the packaged lists.
    """

    def __init__(
        self,
        name: str = FACTORY,
        *,
        spans_key: str = CANDIDATES_KEY,
        annotate_ents: bool = True,
        keep_ents: bool = True,
        noun_phrases: bool = True,
        fix_spelling: bool = True,
        lexicons: Optional[Mapping[str, str]] = None,
    ) -> None:
        super().__init__(name, lexicons, fix_spelling)
        self.cfg: dict[str, Any] = {
            "spans_key": spans_key,
            "annotate_ents": annotate_ents,
            "keep_ents": keep_ents,
            "noun_phrases": noun_phrases,
            "fix_spelling": fix_spelling,
        }

    def __call__(self, doc: Doc) -> Doc:
        """Add the candidates of one Doc."""
        self.set_annotations(doc, self.find(doc))
        return doc

    def find(self, doc: Doc) -> list[Span]:
        """The candidates of a Doc in text order; nothing is written.

        RETURNS (list[Span]): `label_` is the category, `id_` the concept, where known.
        """
        reading = read(doc, self.vocabulary)
        phrases: list[tuple[int, int]] = []
        if self.cfg["noun_phrases"] and has_unknown_noun(reading):
            phrases = _noun_phrases(doc, reading)
        return [
            _span(doc, reading, candidate)
            for candidate in find_candidates(reading, phrases)
        ]

    def set_annotations(self, doc: Doc, spans: list[Span]) -> None:
        """Write candidates to the span group and, without overlaps, to `doc.ents`."""
        own = []
        if self.cfg["keep_ents"]:
            # Not what an earlier call of this component put there.
            own = [span for span in doc.ents if span.kb_id_ != SOURCE_ID]
        doc.spans[self.cfg["spans_key"]] = [*own, *spans]
        if self.cfg["annotate_ents"]:
            taken = {token.i for span in own for token in span}
            free = [
                span
                for span in filter_spans(spans)
                if taken.isdisjoint(range(span.start, span.end))
            ]
            doc.set_ents([*own, *free])


def _noun_phrases(doc: Doc, reading: Reading) -> list[tuple[int, int]]:
    """The parse's noun phrases as words, each cut behind its head."""
    if not doc.has_annotation("DEP"):
        return []
    ranges = []
    for chunk in doc.noun_chunks:
        start, end = reading.words.word_range(chunk.start, chunk.root.i + 1)
        if end > start:
            ranges.append((start, end))
    return ranges


def _span(doc: Doc, reading: Reading, candidate: Candidate) -> Span:
    start, end = reading.words.token_range(candidate.start, candidate.end)
    return Span(
        doc, start, end, candidate.label, kb_id=SOURCE_ID, span_id=candidate.concept
    )
