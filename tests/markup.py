"""Reports with their entities marked inline: what the rule tests are written in.

`No <e a=absent>effusion</e> but <e a=present side=left>left edema</e>.` is the text
"No effusion but left edema." with two entities and what is expected of each. A mark
may say:

    a         assertion; "present" where nothing is said
    cue       words of the cue; `cue=""` for none
    label     label of the span
    text      `mcse_text`
    concept   key of the concept
    side, location, severity, size, quality, change, count
              values, separated by ";"; `side=""` for none. The millimetres of one size
              are separated by ",".

What a mark leaves out is not looked at. Values with blanks stand in double quotes.
"""

import re
from dataclasses import dataclass
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_mcse.data import ATTRIBUTES
from spacy_mcse.refiner import EntityRefiner

_MARK = re.compile(r"<e(?P<says>[^>]*)>(?P<text>.*?)</e>", re.DOTALL)
_SAYS = re.compile(r"(\w+)=(?:\"([^\"]*)\"|(\S+))")


@dataclass(frozen=True)
class Marked:
    """One marked entity: its place in the text and what is expected of it."""

    start_char: int
    end_char: int
    text: str
    says: dict[str, str]


def parse_markup(markup: str) -> tuple[str, list[Marked]]:
    """The plain text of a marked report and its entities, in text order."""
    text = ""
    marked = []
    end = 0
    for match in _MARK.finditer(markup):
        text += markup[end : match.start()]
        says = {m[1]: m[2] if m[2] is not None else m[3] for m in _says(match)}
        said = match["text"]
        marked.append(Marked(len(text), len(text) + len(said), said, says))
        text += said
        end = match.end()
    return text + markup[end:], marked


def _says(match: re.Match[str]) -> list[re.Match[str]]:
    return list(_SAYS.finditer(match["says"]))


def expected(marked: list[Marked]) -> list[dict[str, Any]]:
    """What the marks ask for, in the form of `found`."""
    rows = []
    for mark in marked:
        row: dict[str, Any] = {"text": mark.text, "start_char": mark.start_char}
        row["a"] = mark.says.get("a", "present")
        for key, value in mark.says.items():
            if key in ATTRIBUTES:
                values = [item.strip() for item in value.split(";") if item.strip()]
                row[key] = sorted(values)
            elif key != "a":
                row[key] = value
        rows.append(row)
    return rows


def found(entities: list[Span], marked: list[Marked]) -> list[dict[str, Any]]:
    """What the pipeline found, each entity as far as the mark at its place asks."""
    by_place = {mark.start_char: mark for mark in marked}
    by_end = {mark.end_char: mark for mark in marked}
    rows = []
    for span in entities:
        mark = by_place.get(span.start_char) or by_end.get(span.end_char)
        row: dict[str, Any] = {"text": span.text, "start_char": span.start_char}
        row["a"] = span._.assertion
        for key in mark.says if mark is not None else ():
            if key in ATTRIBUTES:
                values = [item["value"] for item in span._.attributes.get(key, ())]
                row[key] = sorted(_plain(value) for value in values)
            elif key == "cue":
                row[key] = span._.cue["text"] if span._.cue else ""
            elif key == "label":
                row[key] = span.label_
            elif key == "text":
                row[key] = span._.mcse_text
            elif key == "concept":
                row[key] = span._.concept
        rows.append(row)
    return rows


def _plain(value: Any) -> str:
    """A value of an attribute as it is written in a mark."""
    if isinstance(value, (list, tuple)):
        return ",".join(f"{number:g}" for number in value)
    return str(value)


def check_markup(doc: Doc, marked: list[Marked]) -> None:
    """Assert that a Doc has exactly the marked entities, as they are marked."""
    entities = doc._.clinical_entities
    assert found(entities, marked) == expected(marked), doc._.dropped_entities


def refine_spans(nlp: Language, text: str, spans: list[tuple[str, str]]) -> Doc:
    """A text with entities (words, label) as some NER gave them, refined."""
    doc = nlp.make_doc(text)
    found = []
    for words, label in spans:
        start = text.index(words)
        span = doc.char_span(start, start + len(words), label=label)
        assert span is not None
        found.append(span)
    doc.spans["given"] = found
    return EntityRefiner("other", spans_in="given")(doc)
