"""spaCy corpus readers: annotated or labelled reports as Examples."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Optional, Union

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import filter_spans

from ..attributes import place_of
from ..data import ABSENT, write_entities
from ..errors import Errors
from ..reading import Reading, read
from ..vocabulary import DEVICE, FINDING, load_vocabulary
from .chexpert import read_labels
from .gold import GoldEntity, gold_entities
from .mimic import read_mimic_reports
from .openi import read_openi
from .radgraph import LABELER, AnnotatedReport, read_radgraph
from .reports import Report

PathLike = Union[str, Path]
Corpus = Callable[[Language], Iterable[Example]]
# Who wrote the records, in the place of a refiner's fingerprint.
_GOLD = "gold"
_NORMAL = "NORMAL"
_SIDE = "side"
_LETTERS = {FINDING: "e", DEVICE: "d", _NORMAL: "n"}


def make_radgraph_reader(
    path: Optional[PathLike],
    split: Optional[str] = None,
    labeler: str = LABELER,
    use_lists: bool = True,
) -> "RadGraphCorpus":
    """Build `spacy-mcse.RadGraphReader.v1`; see `RadGraphCorpus` for the settings."""
    return RadGraphCorpus(_given(path), split, labeler, use_lists)


def make_openi_reader(path: Optional[PathLike]) -> "LabelledCorpus":
    """Build `spacy-mcse.OpenIReader.v1`: Open-i reports, labels in `doc.cats`."""
    return LabelledCorpus(_OpenI(_given(path)))


def make_mimic_reader(
    path: Optional[PathLike], labels: Optional[PathLike]
) -> "LabelledCorpus":
    """Build `spacy-mcse.MimicReader.v1`: MIMIC-CXR reports, labels in `doc.cats`.

    path (Path): The reports; see `read_mimic_reports`.
    labels (Path): The table of labels; see `read_labels`. Reports without labels are
        left out.
    """
    return LabelledCorpus(_Mimic(_given(path), _given(labels)))


def _given(path: Optional[PathLike]) -> PathLike:
    if path is None:
        raise ValueError(Errors.E858)
    return path


class RadGraphCorpus:
    """Reports of RadGraph or RadGraph-XL with their annotation, as Examples.

    path (Path): The file; see `read_radgraph`.
    split (Optional[str]): Part to read by the report's `data_split`; None reads all.
    labeler (str): Whose annotation to read where a report has several.
    use_lists (bool): RadGraph calls everything that is observed an observation. True
        tells devices and words of normality ("clear") from findings by the word lists
        and puts them into the span groups that the refiner has for them, and leaves
        words of change ("new") out of spans, as the refiner does. False makes each
        observation a finding.
    """

    def __init__(
        self,
        path: PathLike,
        split: Optional[str] = None,
        labeler: str = LABELER,
        use_lists: bool = True,
    ) -> None:
        self.path = Path(path)
        self.split = split
        self.labeler = labeler
        self.use_lists = use_lists

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """One Example for each report: the bare text, and the annotated Doc.

        nlp (Language): The pipeline; only its tokenizer is used.
        RAISES (ValueError): E857 where no report is of the split, and as
            `read_radgraph`.
        """
        for doc in self.docs(nlp):
            yield Example(nlp.make_doc(doc.text), doc)

    def docs(self, nlp: Language) -> Iterator[Doc]:
        """The annotated Docs alone, for a `.spacy` file."""
        splits: dict[str, None] = {}
        for report in read_radgraph(self.path, self.labeler):
            splits[report.split] = None
            if self.split is None or report.split == self.split:
                yield annotated_doc(nlp, report, self.use_lists)
        if self.split is not None and self.split not in splits:
            found = ", ".join(repr(name) for name in splits) or "none"
            message = Errors.E857.format(path=self.path, split=self.split, found=found)
            raise ValueError(message)


def annotated_doc(
    nlp: Language, report: AnnotatedReport, use_lists: bool = True
) -> Doc:
    """A Doc with the annotation of a report.

    `doc.ents` are RadGraph's entities with its labels. The span group of clinical
    entities has those of `gold_entities` with their assertion, and the side of the
    structures that they are located at. Other attributes are left out: RadGraph does
    not tell kinds of descriptions apart, nor a place from a part of a finding's name
    ("pleural effusion").

    nlp (Language): The pipeline; only its tokenizer is used.
    report (AnnotatedReport): The report.
    use_lists (bool): See `RadGraphCorpus`.
    RETURNS (Doc): The Doc.
    """
    doc = nlp.make_doc(report.text)
    raw = (
        doc.char_span(e.start_char, e.end_char, label=e.label, alignment_mode="expand")
        for e in report.entities
    )
    doc.set_ents(filter_spans([span for span in raw if span is not None]))
    reading = read(doc, load_vocabulary())
    groups: dict[str, list[tuple[Span, dict[str, Any]]]] = {
        label: [] for label in _LETTERS
    }
    for entity in gold_entities(report):
        label = _label(doc, reading, entity) if use_lists else FINDING
        start, end = _token_range(doc, entity.start_char, entity.end_char)
        if use_lists:
            start, end = _without_change(doc, reading, entity, start, end)
        key = f"{_LETTERS[label]}{len(groups[label])}"
        span = Span(doc, start, end, label, span_id=key)
        groups[label].append((span, _record(reading, doc, entity, span)))
    (spans, records), normal, devices = (
        ([span for span, _ in found], [record for _, record in found])
        for found in (groups[FINDING], groups[_NORMAL], groups[DEVICE])
    )
    write_entities(doc, spans, records, [], *normal, _GOLD, *devices)
    return doc


def _record(
    reading: Reading, doc: Doc, entity: GoldEntity, span: Span
) -> dict[str, Any]:
    """A record such as the refiner's; what RadGraph does not have is empty."""
    sides: list[dict[str, Any]] = []
    for place in entity.places:
        start, end = reading.words.word_range(*_token_range(doc, *place))
        sides.extend(place_of(reading, start, end).get(_SIDE, ()))
    text = " ".join(span.text.lower().split())
    return {
        "id": span.id_,
        "assertion": entity.assertion,
        "cue": None,
        "attributes": {_SIDE: sides} if sides else {},
        "mcse_text": f"no {text}" if entity.assertion == ABSENT else text,
        "concept": "",
        "denies": [],
    }


def _label(doc: Doc, reading: Reading, entity: GoldEntity) -> str:
    """Whether the word lists know the head for a device or a word of normality."""
    start, end = reading.words.word_range(*_token_range(doc, *entity.head))
    if start >= end:
        return FINDING
    if reading.category(end - 1) == DEVICE:
        return DEVICE
    normal = reading.vocabulary.normal.longest(reading.words.surface, start, end)
    return _NORMAL if normal is not None and normal.end == end else FINDING


def _without_change(
    doc: Doc, reading: Reading, entity: GoldEntity, start: int, end: int
) -> tuple[int, int]:
    """The tokens of a phrase without words of change at its ends."""
    words = reading.words
    first, last = words.word_range(start, end)
    head_start, head_end = words.word_range(*_token_range(doc, *entity.head))
    while first < head_start and _is_change(reading, first):
        first += 1
    while last > head_end and _is_change(reading, last - 1):
        last -= 1
    return words.token_range(first, last) if first < last else (start, end)


def _is_change(reading: Reading, at: int) -> bool:
    # The comma of "edema, worse" goes with the word.
    return "change" in reading.kinds(at) or reading.words.lower[at] == ","


def _token_range(doc: Doc, start_char: int, end_char: int) -> tuple[int, int]:
    span = doc.char_span(start_char, end_char, alignment_mode="expand")
    return (span.start, span.end) if span is not None else (0, 0)


class LabelledCorpus:
    """Reports with labels as Examples with categories.

    A label that is present is 1.0 in `doc.cats`, one that is absent or not mentioned
    0.0; an uncertain one is left out, so that scorers pass over it.

    reports (Iterable[Report]): The reports with their labels; read anew each time.
    """

    def __init__(self, reports: Iterable[Report]) -> None:
        self.reports = reports

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """One Example for each report.

        nlp (Language): The pipeline; only its tokenizer is used.
        """
        for report in self.reports:
            doc = nlp.make_doc(report.text)
            doc.cats = {
                label: float(value or 0)
                for label, value in report.labels.items()
                if value != -1
            }
            yield Example(nlp.make_doc(report.text), doc)


class _OpenI:
    def __init__(self, path: PathLike) -> None:
        self.path = path

    def __iter__(self) -> Iterator[Report]:
        return read_openi(self.path)


class _Mimic:
    def __init__(self, path: PathLike, labels: PathLike) -> None:
        self.path, self.labels = path, labels

    def __iter__(self) -> Iterator[Report]:
        # The labels are small beside the reports, and in another order.
        labels = {row.id: row.labels for row in read_labels(self.labels)}
        for report in read_mimic_reports(self.path):
            if report.id in labels:
                yield Report(report.id, report.text, report.sections, labels[report.id])
