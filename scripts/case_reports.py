"""How the refiner judges the findings of published case reports: counts and causes.

Each annotated finding of case_report_entities.jsonl, other fields of medicine than
ours, is given to `refiner.assess` in its whole report. A finding with a negating
modifier should be absent, all others should not. The file marks a span once for each
part and relation; here it counts once, with all its modifiers.

    python scripts/case_reports.py --data DATA

No text of the file but the words listed below is printed, unless `--show N` asks for
N errors of each cause.
"""

import argparse
import json
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc

import spacy_mcse
from spacy_mcse.reading import Reading, read

FILE = "case_report_entities.jsonl"
REFINER = "mcse_entity_refiner"
CONTEXT = 80  # characters shown on both sides of an error
LONG = 60  # words: a longer "sentence" is a table or a list without full stops
LONG_LIST = 4  # commas between cue and finding

# A modifier with one of these words negates its finding ...
NEGATING = frozenset(
    (
        *("no", "not", "nor", "never", "none", "without", "denied", "denies"),
        *("negative", "absent", "absence", "dismissed", "excluded", "resolved"),
    )
)
# ... but for one that says of an examination or organ that nothing is wrong with it:
# "negative or normal", "no abnormalities".
STATE = frozenset(("normal", "abnormality", "abnormalities", "alterations", "findings"))
KINDS = ("a negating modifier", "a modifier of state", "no modifier")
NEGATED, STATED, PLAIN = KINDS


class Finding(NamedTuple):
    """A span of a report with the modifiers that the annotators linked to it."""

    start: int
    end: int
    modifiers: tuple[tuple[int, int], ...]


class Judged(NamedTuple):
    """A finding with what we say of it.

    kind (str): NEGATED, STATED or PLAIN.
    word (str): The word by which its modifier negates it, or ''.
    absent (bool): Our judgement.
    cause (str): Why the two differ, '' where they agree.
    cue (str): For a wrong "absent" its cue, else ''.
    shown (str): The finding with what stands around it.
    """

    kind: str
    word: str
    absent: bool
    cause: str
    cue: str
    shown: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("MCSE_DATA"),
        help=f"folder with {FILE} (default: MCSE_DATA)",
    )
    parser.add_argument("--limit", type=int, default=0, help="first N reports (0: all)")
    parser.add_argument("--show", type=int, default=0, help="N errors of each cause")
    args = parser.parse_args()
    path = args.data and args.data / FILE
    if path is None or not path.is_file():
        sys.exit(f"No {FILE}: name its folder with --data or MCSE_DATA.")
    with path.open(encoding="utf8") as file:
        rows = [json.loads(line) for line in file]
    judged = list(judge(spacy_mcse.load(), rows[: args.limit or None]))
    print(summary(judged))
    print(causes(judged, args.show))


def judge(nlp: Language, rows: Iterable[dict[str, Any]]) -> Iterator[Judged]:
    """Assess all findings of all reports."""
    refiner: Any = nlp.get_pipe(REFINER)
    own = [name for name in nlp.pipe_names if name.startswith("mcse_")]
    for row in rows:
        doc = nlp(row["text"], disable=own)
        found = findings(row)
        spans = [
            doc.char_span(finding.start, finding.end, alignment_mode="expand")
            for finding in found
        ]
        reading = read(doc, refiner.vocabulary)
        for finding, record in zip(found, refiner.assess(doc, spans), strict=True):
            yield compare(doc, reading, finding, record)


def findings(row: dict[str, Any]) -> list[Finding]:
    """The findings of a report, each span once, in text order."""
    places = {
        entity["id"]: (entity["start"], entity["end"])
        for entity in row["entities"]
        if entity["type"] in ("finding", "modifier")
    }
    modifiers: dict[tuple[int, int], set[tuple[int, int]]] = {
        places[entity["id"]]: set()
        for entity in row["entities"]
        if entity["type"] == "finding"
    }
    for relation in row["relations"]:
        finding = places.get(relation["dependent"])
        if relation["type"] == "modifies" and finding in modifiers:
            modifiers[finding].add(places[relation["governor"]])
    return [
        Finding(*place, tuple(sorted(modifiers[place]))) for place in sorted(modifiers)
    ]


def negating_word(modifier: str) -> str:
    """The first word by which a modifier negates, '' where it does not."""
    words = re.findall(r"[a-z]+", modifier.lower())
    if not STATE.isdisjoint(words):
        return ""
    return next((word for word in words if word in NEGATING), "")


def compare(
    doc: Doc, reading: Reading, finding: Finding, record: dict[str, Any]
) -> Judged:
    """Sort a finding by its modifiers, and an error by its cause."""
    text = doc.text
    words = [negating_word(text[start:end]) for start, end in finding.modifiers]
    word = next(filter(None, words), "")
    kind = NEGATED if word else STATED if finding.modifiers else PLAIN
    absent = record["assertion"] == "absent"
    cause = cue = ""
    if absent != bool(word):
        place = word_range(doc, reading, finding.start, finding.end)
        if word:
            modifier = finding.modifiers[words.index(word)]
            cause = why_missed(reading, place, word_range(doc, reading, *modifier))
            if record["assertion"] == "uncertain":
                cause = "uncertain instead"
        else:
            cue = " ".join(record["cue"]["text"].lower().split())
            start, end = record["cue"]["start_char"], record["cue"]["end_char"]
            cause = why_absent(reading, place, word_range(doc, reading, start, end))
    context = text[max(finding.start - CONTEXT, 0) : finding.end + CONTEXT]
    shown = f"[{text[finding.start : finding.end]}] {context}"
    return Judged(kind, word, absent, cause, cue, " ".join(shown.split()))


def word_range(doc: Doc, reading: Reading, start: int, end: int) -> tuple[int, int]:
    """The words of doc.text[start:end]."""
    span: Any = doc.char_span(start, end, alignment_mode="expand")
    return reading.words.word_range(span.start, span.end)


def why_missed(
    reading: Reading, finding: tuple[int, int], modifier: tuple[int, int]
) -> str:
    """Why a modifier in words[slice(*modifier)] does not make a finding absent."""
    first, last = reading.sentence(finding[0])
    if not first <= modifier[0] < last:
        return "modifier in another sentence"
    cue = next(
        (
            cue
            for at, cue in sorted(reading.cue_starting.items())
            if at < modifier[1]
            and cue.end > modifier[0]
            and any(meaning.polarity == "absent" for meaning in cue.value)
        ),
        None,
    )
    if cue is None:
        return "cue unknown"
    if cue.start < finding[1] and cue.end > finding[0]:
        return "cue and finding share words"
    behind = cue.start >= finding[1]
    start, end = (finding[1], cue.start) if behind else (cue.end, finding[0])
    if behind and not any(meaning.direction == "backward" for meaning in cue.value):
        return "cue behind denies what follows it"
    place = "behind" if behind else "in front"
    return f"cue {place}, {what_stands_between(reading, start, end)}"


def what_stands_between(reading: Reading, start: int, end: int) -> str:
    """The first thing that may end a scope in words[start:end]."""
    lower = reading.words.lower[start:end]
    if any(
        meaning.direction == "end"
        for at in range(start, end)
        if at in reading.cue_starting
        for meaning in reading.cue_starting[at].value
    ):
        return "behind a word that ends scopes"
    if any(reading.is_class(at, "finite_verb") for at in range(start, end)):
        return "behind a verb"
    if lower.count(",") > LONG_LIST:
        return "far off in a list"
    return "in a list" if "," in lower else "near" if lower else "next to it"


def why_absent(reading: Reading, finding: tuple[int, int], cue: tuple[int, int]) -> str:
    """How the cue in words[slice(*cue)] came to a finding without a modifier."""
    first, last = reading.sentence(finding[0])
    if finding[0] <= cue[0] < finding[1]:
        return "cue within the annotated words"
    if last - first > LONG:
        return "table or text without full stops"
    if cue[0] >= finding[1]:
        return "cue behind"
    lower = reading.words.lower[cue[1] : finding[0]]
    if "," in lower or "and" in lower or "or" in lower:
        return "cue in front, list between"
    return "cue in front, next to it" if not lower else "cue in front, near"


def summary(judged: Sequence[Judged]) -> str:
    """How many findings of each kind are judged as annotated, and per word."""
    lines = ["| Findings with | n | As annotated | % |", "|---|---|---|---|"]
    rows = [(kind, [one for one in judged if one.kind == kind]) for kind in KINDS]
    rows.append(("not negated, both", [one for one in judged if one.kind != NEGATED]))
    for kind, found in rows:
        right = sum(not one.cause for one in found)
        wanted = "absent" if kind == NEGATED else "not absent"
        share = 100 * right / max(len(found), 1)
        lines.append(f"| {kind} | {len(found)} | {right} {wanted} | {share:.1f} |")
    words = Counter(one.word for one in judged if one.word)
    hits = Counter(one.word for one in judged if one.word and one.absent)
    lines += ["", "| Modifier | n | Absent |", "|---|---|---|"]
    lines += [f"| {word} | {n} | {hits[word]} |" for word, n in words.most_common()]
    return "\n".join(lines)


def causes(judged: Sequence[Judged], show: int = 0) -> str:
    """The errors by cause, the most frequent first, and `show` examples of each."""
    groups: dict[tuple[bool, str], list[Judged]] = defaultdict(list)
    for one in judged:
        if one.cause:
            groups[one.absent, one.cause].append(one)
    lines = ["", "| Error | Cause | n | Words |", "|---|---|---|---|"]
    shown = []
    order = sorted(groups.items(), key=lambda item: (item[0][0], -len(item[1])))
    for (absent, cause), found in order:
        error = "wrongly absent" if absent else "missed"
        words = Counter(one.cue or one.word for one in found).most_common()
        said = ", ".join(f"{word} {n}" for word, n in words)
        lines.append(f"| {error} | {cause} | {len(found)} | {said} |")
        shown += [f"{error}, {cause}: {one.shown}" for one in found[:show]]
    return "\n".join([*lines, "", *shown] if shown else lines)


if __name__ == "__main__":
    main()
