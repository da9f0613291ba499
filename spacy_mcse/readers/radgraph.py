"""Reports annotated with entities and relations: RadGraph and RadGraph-XL.

Jain et al. 2021, https://physionet.org/content/radgraph/1.0.0/ (one JSON object);
Delbrouck et al. 2024, https://physionet.org/content/radgraph-xl/1.0.0/ (JSON lines).
What the `radgraph` package gives and the annotations of CheXpert Plus (a JSON list)
have the same members.
"""

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

from ..errors import Errors
from .source import (
    check_file,
    member,
    named,
    open_text,
    optional,
    read_json_lines,
    read_members,
    shown,
    typed,
    wrong,
)

ANATOMY, PRESENT, ABSENT, UNCERTAIN = "ANAT-DP", "OBS-DP", "OBS-DA", "OBS-U"
LABELS = (ANATOMY, PRESENT, ABSENT, UNCERTAIN)
MODIFY, LOCATED_AT, SUGGESTIVE_OF = "modify", "located_at", "suggestive_of"
RELATIONS = (MODIFY, LOCATED_AT, SUGGESTIVE_OF)
LABELER = "labeler_1"

# RadGraph-XL marks measurements, and has structures that are absent or uncertain;
# RadGraph has neither.
_XL_LABELS = {
    f"{kind}{measure}::{certainty}": label
    for kind, measure, labels in (
        ("Anatomy", "", (ANATOMY, ANATOMY, ANATOMY)),
        ("Anatomy", "::measurement", (ANATOMY, ANATOMY, ANATOMY)),
        ("Observation", "", (PRESENT, ABSENT, UNCERTAIN)),
        ("Observation", "::measurement", (PRESENT, ABSENT, UNCERTAIN)),
    )
    for certainty, label in zip(
        ("definitely present", "definitely absent", "uncertain"), labels, strict=True
    )
}
_LABELS = {**{label: label for label in LABELS}, **_XL_LABELS}
_ALLOWED = (
    f"one of {', '.join(LABELS)}, or RadGraph-XL's 'Anatomy' or 'Observation' with "
    "'::definitely present', '::definitely absent' or '::uncertain'"
)
_WORD = re.compile(r"\S+")
_EXPECTED = (
    "RadGraph's JSON, {id: {'text', 'entities'}}, or RadGraph-XL's lines of "
    "{'doc_key', 'sentences', 'ner', 'relations'}"
)
_REPORT = "'text', 'entities'"
_ENTITY = "'tokens', 'label', 'start_ix', 'end_ix', 'relations'"
_LINE = "'doc_key', 'sentences', 'ner', 'relations'"


@dataclass(frozen=True)
class Observation:
    """One annotated entity, a structure or an observation.

    id (str): Its key among the entities of the report.
    text (str): Its words as they stand in the text of the report.
    label (str): One of `LABELS`.
    start_char (int): Offset of the first character in the text.
    end_char (int): Offset after the last character.
    relations (tuple): Kind and id of the target of each relation that starts here.
    """

    id: str
    text: str
    label: str
    start_char: int
    end_char: int
    relations: tuple[tuple[str, str], ...] = ()

    @property
    def is_anatomy(self) -> bool:
        return self.label == ANATOMY

    def targets(self, kind: str) -> tuple[str, ...]:
        """Ids of what a kind of relation leads to."""
        return tuple(target for name, target in self.relations if name == kind)


@dataclass(frozen=True)
class AnnotatedReport:
    """A report with its entities and relations.

    id (str): The id in the file.
    text (str): The report as written where the file has it, else its words joined.
    split (str): Part of the data ("train", "dev", "test"), '' where the file is silent.
    entities (tuple): The entities in the order of the file.
    source (str): Where the report comes from ("MIMIC-CXR"), '' where it is silent.
    """

    id: str
    text: str
    split: str
    entities: tuple[Observation, ...]
    source: str = ""


def read_radgraph(
    path: Union[str, Path], labeler: str = LABELER
) -> Iterator[AnnotatedReport]:
    """Read reports in the format of RadGraph or RadGraph-XL, one after the other.

    Where a report has `report`, the text as it was written, offsets count in it; it may
    differ from `text` in white space only.

    path (Union[str, Path]): The file (.json, .jsonl, either with .gz), told apart by
        what it starts with.
    labeler (str): Whose annotation to read where a report has several, as the test
        part of RadGraph has ("labeler_1", "labeler_2").
    YIELDS (AnnotatedReport): In the order of the file.
    RAISES (FileNotFoundError): E801. (ValueError): E841 to E849 with the file and the
        line, or the id of the report and the key.
    """
    # Checked before the first report is asked for.
    path = check_file(path)
    return _reports(path, labeler)


def _reports(path: Path, labeler: str) -> Iterator[AnnotatedReport]:
    if _has_json_lines(path):
        for line in read_json_lines(path, _EXPECTED):
            where = f"{path}, line {line.line}"
            if "sentences" in line.value:
                yield _xl_report(line.value, where)
            else:
                name, value = _named(line.value, line.key, where)
                yield _report(name, value, where, labeler)
        return
    for found in read_members(path, _EXPECTED):
        where = f"{path}, report {named(found.key)}"
        name, value = found.key, typed(found.value, dict, where)
        # CheXpert Plus: a list of what the model gives for one report each.
        if set(value) == {"0"}:
            value = typed(value["0"], dict, where)
        yield _report(name, value, where, labeler)


def _has_json_lines(path: Path) -> bool:
    """Whether the first line is a whole object of a report and not of all reports."""
    if ".jsonl" in (suffix.lower() for suffix in path.suffixes):
        return True
    with open_text(path, "\n") as file:
        try:
            start = file.read(1 << 12)
        except (UnicodeDecodeError, OSError, EOFError, zlib.error):
            return False  # reading it says what is wrong
    return re.match(r'\s*\{\s*"(?:doc_key|dataset|sentences)"\s*:', start) is not None


def _named(
    record: Mapping[str, Any], line: str, where: str
) -> tuple[str, Mapping[str, Any]]:
    """Id and report of a line: {id: {...}}, or {'id', 'text', 'entities'}."""
    if "text" in record:
        return str(record.get("id", record.get("doc_key", line))), record
    if len(record) == 1:
        name, value = next(iter(record.items()))
        return (line if name == "0" else name), typed(value, dict, f"{where} > {name}")
    raise ValueError(Errors.E844.format(where=where, key="sentences", needed=_LINE))


def _report(
    name: str, record: Mapping[str, Any], where: str, labeler: str
) -> AnnotatedReport:
    text = member(record, "text", str, where, _REPORT)
    annotation, where_annotated = record, where
    if "entities" not in record:
        found = [key for key, value in record.items() if _is_annotation(value)]
        if not found:
            raise ValueError(
                Errors.E844.format(where=where, key="entities", needed=_REPORT)
            )
        if labeler not in found:
            message = Errors.E849.format(
                where=where, labeler=labeler, found=", ".join(found)
            )
            raise ValueError(message)
        annotation, where_annotated = record[labeler], f"{where} > {labeler}"
    entities = member(annotation, "entities", dict, where_annotated, _REPORT)
    return _located(
        name,
        text,
        optional(record, "report", where) or None,
        [
            _Raw.of(key, entity, f"{where_annotated} > entities > {_shown_key(key)}")
            for key, entity in entities.items()
        ],
        where,
        split=_either(record, annotation, "data_split", where),
        source=_either(record, annotation, "data_source", where),
    )


def _is_annotation(value: Any) -> bool:
    return isinstance(value, dict) and "entities" in value


def _either(
    record: Mapping[str, Any], annotation: Mapping[str, Any], key: str, where: str
) -> str:
    """What stands at the report, or, as in the test part, at each annotation."""
    return optional(record, key, where) or optional(annotation, key, where)


@dataclass(frozen=True)
class _Raw:
    """An entity in numbers of words; `where` is its place in the file."""

    id: str
    label: str
    start: int
    end: int
    relations: tuple[tuple[str, str], ...]
    tokens: Optional[str]
    where: str

    @classmethod
    def of(cls, key: str, value: Any, where: str) -> "_Raw":
        record = typed(value, dict, where)
        return cls(
            id=key,
            label=_label(member(record, "label", str, where, _ENTITY), where),
            start=member(record, "start_ix", int, where, _ENTITY),
            end=member(record, "end_ix", int, where, _ENTITY),
            relations=tuple(
                _relation(item, f"{where} > relations > {number}")
                for number, item in enumerate(
                    member(record, "relations", list, where, _ENTITY)
                )
            ),
            tokens=optional(record, "tokens", where) or None,
            where=where,
        )


def _label(label: str, where: str) -> str:
    if label not in _LABELS:
        raise wrong(f"{where} > label", shown(label), _ALLOWED)
    return _LABELS[label]


def _relation(item: Any, where: str) -> tuple[str, str]:
    pair = typed(item, list, where)
    if len(pair) != 2:
        allowed = "two values, the kind and the id of the target"
        raise wrong(where, f"{len(pair)} values", allowed)
    return _kind(pair[0], where), str(pair[1])


def _kind(kind: Any, where: str) -> str:
    if kind not in RELATIONS:
        raise wrong(where, shown(kind), f"one of {', '.join(RELATIONS)}")
    return kind


def _xl_report(record: Mapping[str, Any], where: str) -> AnnotatedReport:
    """One line of RadGraph-XL: words in sentences, spans of words, pairs of spans.

    Words are counted through the report, not in each sentence.
    """
    sentences = member(record, "sentences", list, where, _LINE)
    words: list[str] = []
    for number, sentence in enumerate(sentences):
        place = f"{where} > sentences > {number}"
        words.extend(typed(word, str, place) for word in typed(sentence, list, place))
    spans: dict[tuple[int, int], _Raw] = {}
    for place, item in _listed(record, "ner", 3, where):
        start, end = (typed(value, int, place) for value in item[:2])
        label = _label(typed(item[2], str, place), place)
        # The same words with two labels: the first counts, so that ids stay clear.
        key = str(len(spans) + 1)
        spans.setdefault((start, end), _Raw(key, label, start, end, (), None, place))
    relations: dict[str, dict[tuple[str, str], None]] = {}
    for place, item in _listed(record, "relations", 5, where):
        ends = [typed(value, int, place) for value in item[:4]]
        kind = _kind(item[4], place)
        source, target = ((ends[0], ends[1]), (ends[2], ends[3]))
        for span in (source, target):
            if span not in spans:
                words_of_it = f"the words {span[0]} to {span[1]}"
                message = Errors.E848.format(where=place, target=words_of_it)
                raise ValueError(message)
        found = relations.setdefault(spans[source].id, {})
        found[kind, spans[target].id] = None
    return _located(
        _xl_name(record, where),
        " ".join(words),
        None,
        [
            _Raw(
                raw.id,
                raw.label,
                raw.start,
                raw.end,
                tuple(relations.get(raw.id, ())),
                None,
                raw.where,
            )
            for raw in spans.values()
        ],
        where,
        split=optional(record, "data_split", where),
        source=optional(record, "dataset", where),
        words=words,
    )


def _xl_name(record: Mapping[str, Any], where: str) -> str:
    """The id of a report; numbers count within one data set only."""
    if "doc_key" not in record:
        raise ValueError(Errors.E844.format(where=where, key="doc_key", needed=_LINE))
    key = record["doc_key"]
    if isinstance(key, str):
        return key
    source = optional(record, "dataset", where)
    number = typed(key, int, f"{where} > doc_key")
    return f"{source}_{number}" if source else str(number)


def _listed(
    record: Mapping[str, Any], key: str, size: int, where: str
) -> Iterator[tuple[str, list[Any]]]:
    """The annotations of all sentences under one key, each with its place."""
    for number, sentence in enumerate(member(record, key, list, where, _LINE)):
        place = f"{where} > {key} > {number}"
        for count, value in enumerate(typed(sentence, list, place)):
            item = typed(value, list, f"{place} > {count}")
            if len(item) < size:
                got = f"{len(item)} values"
                raise wrong(f"{place} > {count}", got, f"{size} values")
            yield f"{place} > {count}", item


def _located(
    name: str,
    text: str,
    report: Optional[str],
    raw: Sequence[_Raw],
    where: str,
    *,
    split: str,
    source: str,
    words: Optional[Sequence[str]] = None,
) -> AnnotatedReport:
    """A report whose entities have offsets of characters in place of words."""
    if words is None:
        ranges = [match.span() for match in _WORD.finditer(text)]
    else:
        ranges = list(_joined_ranges(words))
    shown_text, shown_ranges = text, ranges
    if report is not None:
        shown_text, shown_ranges = report, _ranges_in(report, text, ranges, where)
    known = {entity.id for entity in raw}
    entities = []
    for entity in raw:
        start, end = _characters(entity, text, ranges, shown_ranges)
        for _, target in entity.relations:
            if target not in known:
                message = Errors.E848.format(where=entity.where, target=_id(target))
                raise ValueError(message)
        entities.append(
            Observation(
                id=entity.id,
                text=shown_text[start:end],
                label=entity.label,
                start_char=start,
                end_char=end,
                relations=entity.relations,
            )
        )
    return AnnotatedReport(name, shown_text, split, tuple(entities), source)


def _joined_ranges(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where words stand in the text that joins them with blanks."""
    at = 0
    for word in words:
        yield at, at + len(word)
        at += len(word) + 1


def _characters(
    entity: _Raw,
    text: str,
    ranges: Sequence[tuple[int, int]],
    shown_ranges: Sequence[tuple[int, int]],
) -> tuple[int, int]:
    """The offsets of an entity, after a check that its numbers fit its words."""
    start, end = entity.start, entity.end
    if not 0 <= start <= end < len(ranges):
        raise ValueError(
            Errors.E845.format(
                where=entity.where, start=start, end=end, words=len(ranges)
            )
        )
    found = text[ranges[start][0] : ranges[end][1]]
    if entity.tokens is not None and _plain(entity.tokens) != _plain(found):
        message = Errors.E846.format(where=entity.where, start=start, end=end)
        raise ValueError(message)
    return shown_ranges[start][0], shown_ranges[end][1]


def _id(text: str) -> str:
    return repr(text) if len(text) <= 20 and text.isalnum() else shown(text)


def _shown_key(key: str) -> str:
    return key if len(key) <= 20 and key.isalnum() else named(key)


def _plain(text: str) -> str:
    return "".join(text.split()).lower()


def _ranges_in(
    report: str, text: str, ranges: Sequence[tuple[int, int]], where: str
) -> list[tuple[int, int]]:
    """Where the words of `text` stand in the report as it was written."""
    places = [at for at, character in enumerate(report) if not character.isspace()]
    letters = "".join(text[start:end] for start, end in ranges)
    if len(places) != len(letters) or any(
        report[place] != letter for place, letter in zip(places, letters, strict=True)
    ):
        pairs = zip((report[place] for place in places), letters, strict=False)
        at = next((n for n, (a, b) in enumerate(pairs) if a != b), None)
        if at is None:
            at = min(len(places), len(letters))
        raise ValueError(Errors.E847.format(where=where, at=at))
    found, at = [], 0
    for start, end in ranges:
        found.append((places[at], places[at + end - start - 1] + 1))
        at += end - start
    return found
