"""Compare negation tools on the same sentences: a Markdown table on standard output.

Each row of negex_sentences.jsonl is a text with one given concept; the tools decide
whether it is negated. The text is lower-cased, since the file has the concept in
capitals. All but our default pipeline split sentences with spaCy's `sentencizer`.
Intervals are of a bootstrap over the reports the sentences come from; sentences a
second are those of one process, from the text on.

    pip install -r scripts/requirements-compare.txt
    python scripts/compare_negation.py --data DATA

A tool that is not installed is left out, with a message. No text of the file is
printed unless `--show N` asks for it.
"""

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np
import spacy
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc

import spacy_mcse

FILE = "negex_sentences.jsonl"
INSTALL = "pip install -r scripts/requirements-compare.txt"
REFINER = "mcse_entity_refiner"
WARM_UP = 32

# Negation words of one word, as in the authors' published code; with several words or
# an apostrophe a word never equals one of their cleaned tokens.
WINDOW = 3
WINDOW_WORDS = frozenset(
    (
        *("no", "not", "never", "none", "neither", "nothing", "nobody", "nowhere"),
        *("nevermore", "without", "rarely", "scarcely"),
    )
)


class Case(NamedTuple):
    """One sentence; `where` is the place of its concept, None where it is not found."""

    text: str
    where: Optional[tuple[int, int]]
    negated: bool
    report: str


# Whether the concept of each case is negated.
Decide = Callable[[Sequence[Case]], list[bool]]


class Result(NamedTuple):
    """What a tool decided, and how many sentences it took a second."""

    name: str
    negated: list[bool]
    speed: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("MCSE_DATA"),
        help=f"folder with {FILE} (default: MCSE_DATA)",
    )
    parser.add_argument("--limit", type=int, default=0, help="first N rows (0: all)")
    parser.add_argument("--show", type=int, default=0, help="N errors of each tool")
    parser.add_argument("--samples", type=int, default=2000, help="bootstrap samples")
    parser.add_argument("--seed", type=int, default=0, help="seed of the bootstrap")
    args = parser.parse_args()
    if args.data is None or not (args.data / FILE).is_file():
        sys.exit(f"No {FILE}: name its folder with --data or MCSE_DATA.")
    cases = read_cases(args.data / FILE, args.limit)
    results = [run(name, build(), cases) for name, build in tools()]
    print(table(results, cases, args.samples, args.seed))
    names = [name for name in ("spacy", "negspacy", "medspacy") if find_spec(name)]
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    negated = sum(case.negated for case in cases)
    print(f"\n{len(cases)} sentences, {negated} negated; {versions}")
    for result in results:
        show_errors(result, cases, args.show)


def read_cases(path: Path, limit: int = 0) -> list[Case]:
    """The rows of the file, lower-cased, each with the place of its concept."""
    with path.open(encoding="utf8") as file:
        rows = [json.loads(line) for line in file]
    return [
        Case(
            row["sentence"].lower(),
            locate(row["concept"].strip(), row["sentence"]),
            row["negation"] == "Negated",
            str(row["report_no"]),
        )
        for row in (rows[:limit] if limit else rows)
    ]


def locate(concept: str, sentence: str) -> Optional[tuple[int, int]]:
    """Where the concept stands: in capitals, else in any letters and white space."""
    at = sentence.find(concept.upper())
    if at >= 0:
        return at, at + len(concept)
    pattern = r"\s+".join(re.escape(word) for word in concept.split())
    match = re.search(pattern, sentence, re.IGNORECASE)
    return match.span() if match else None


def tools() -> Iterator[tuple[str, Callable[[], Decide]]]:
    """Name and maker of each tool that is installed, ours first."""
    yield "spacy-mcse", partial(refiner_tool, spacy_mcse.load)
    yield "spacy-mcse, blank pipeline", partial(refiner_tool, blank_with, REFINER)
    if find_spec("negspacy"):
        for terms in ("en_clinical", "en"):
            yield f"negspaCy, `{terms}`", partial(negspacy_tool, terms)
    else:
        print(f"negspaCy is not installed and left out: {INSTALL}", file=sys.stderr)
    if find_spec("medspacy"):
        yield "medspaCy ConText", medspacy_tool
    else:
        message = "medspaCy is not installed and left out: see {}"
        print(message.format(INSTALL.split()[-1]), file=sys.stderr)
    yield f"window of {WINDOW} words (paper)", lambda: window_tool


def blank_with(*names: str) -> Language:
    nlp = spacy.blank("en")
    for name in ("sentencizer", *names):
        nlp.add_pipe(name)
    return nlp


def refiner_tool(load: Callable[..., Language], *arguments: str) -> Decide:
    """Our refiner, which assesses the given span: the other components are not run."""
    nlp = load(*arguments)
    refiner: Any = nlp.get_pipe(REFINER)
    own = [name for name in nlp.pipe_names if name.startswith("mcse_")]

    def decide(cases: Sequence[Case]) -> list[bool]:
        found = []
        docs = nlp.pipe([case.text for case in cases], batch_size=128, disable=own)
        for case, doc in zip(cases, docs, strict=True):
            mark(doc, case)
            records = refiner.assess(doc, doc.ents)
            found.append(any(record["assertion"] == "absent" for record in records))
        return found

    return decide


def mark(doc: Doc, case: Case) -> None:
    """Make the concept the one entity of the Doc."""
    span = None
    if case.where:
        span = doc.char_span(*case.where, label="CONCEPT", alignment_mode="expand")
    doc.ents = [span] if span is not None else []


def entity_tool(nlp: Language, component: Callable[[Doc], Doc], flag: str) -> Decide:
    """A component that sets a flag on the entities of a Doc."""

    def decide(cases: Sequence[Case]) -> list[bool]:
        found = []
        docs = nlp.pipe([case.text for case in cases], batch_size=128)
        for case, doc in zip(cases, docs, strict=True):
            mark(doc, case)
            component(doc)
            found.append(any(getattr(ent._, flag) for ent in doc.ents))
        return found

    return decide


def negspacy_tool(terms: str) -> Decide:
    from negspacy.negation import Negex
    from negspacy.termsets import termset

    nlp = blank_with()
    negex = Negex(nlp, "negex", neg_termset=termset(terms).get_patterns())
    return entity_tool(nlp, negex, "negex")


def medspacy_tool() -> Decide:
    from loguru import logger

    logger.disable("PyRuSH")
    from medspacy.context import ConText

    nlp = blank_with()
    return entity_tool(nlp, ConText(nlp), "is_negated")


def window_tool(cases: Sequence[Case]) -> list[bool]:
    """The rule of Gholipour Picha et al. 2024, as in the authors' code.

    Letters are all that is kept of a text; sentences end at ".", "?" and "!". An entity
    is negated where one of the three words in front of its first word is a negation
    word. Their second rule, which hands a negation on to the next entity behind "or",
    needs all entities of a text and is left out: here one is given.
    """
    return [
        case.where is not None and in_window(case.text, case.where[0]) for case in cases
    ]


def in_window(text: str, start: int) -> bool:
    """Whether a negation word is among the last words in front of a place."""
    sentence = re.split(r"[.?!]", text[:start].lower())[-1]
    letters = re.sub(r"[^a-z\s]+", "", sentence)
    words = letters.split()
    if letters[-1:].isalpha():
        words.pop()  # the beginning of the word that the concept is the end of
    return not WINDOW_WORDS.isdisjoint(words[-WINDOW:])


def run(name: str, decide: Decide, cases: Sequence[Case]) -> Result:
    decide(cases[:WARM_UP])
    start = time.perf_counter()
    negated = decide(cases)
    return Result(name, negated, len(cases) / (time.perf_counter() - start))


def count(negated: Sequence[bool], cases: Sequence[Case]) -> NDArray[np.int64]:
    """Hits, false alarms and misses of each report, (n reports, 3)."""
    reports = {case.report: row for row, case in enumerate(cases)}
    order = {report: row for row, report in enumerate(reports)}
    counts = np.zeros((len(order), 3), dtype=np.int64)
    for found, case in zip(negated, cases, strict=True):
        if found or case.negated:
            column = 0 if found and case.negated else 1 if found else 2
            counts[order[case.report], column] += 1
    return counts


def f1(totals: NDArray[np.int64]) -> NDArray[np.float64]:
    """F1 of hits, false alarms and misses in the last axis; 0 where there are none."""
    hits, alarms, misses = np.moveaxis(totals, -1, 0)
    return 2 * hits / np.maximum(2 * hits + alarms + misses, 1)


def table(
    results: Sequence[Result], cases: Sequence[Case], samples: int, seed: int
) -> str:
    """A row for each tool; the first result is the one that others differ from."""
    counts = [count(result.negated, cases) for result in results]
    n = len(counts[0])
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(n, np.full(n, 1 / n), size=samples)
    drawn = [f1(weights @ rows) for rows in counts]
    lines = [
        "| Tool | Precision | Recall | F1 (95 %) | F1 less ours (95 %) | Sentences/s |",
        "|---|---|---|---|---|---|",
    ]
    ours = f1(counts[0].sum(axis=0))
    for result, rows, sample in zip(results, counts, drawn, strict=True):
        total = rows.sum(axis=0)
        hits, alarms, misses = total
        value = f1(total)
        difference = (
            "" if rows is counts[0] else interval(value - ours, sample - drawn[0], "+")
        )
        lines.append(
            f"| {result.name} | {hits / max(hits + alarms, 1):.3f} "
            f"| {hits / max(hits + misses, 1):.3f} | {interval(value, sample)} "
            f"| {difference} | {result.speed:,.0f} |"
        )
    return "\n".join(lines)


def interval(value: Any, sample: NDArray[np.float64], sign: str = "") -> str:
    low, high = np.percentile(sample, (2.5, 97.5))
    return f"{value:{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})"


def show_errors(result: Result, cases: Sequence[Case], limit: int) -> None:
    wrong = [
        case
        for found, case in zip(result.negated, cases, strict=True)
        if found != case.negated
    ]
    for case in wrong[:limit]:
        start, end = case.where or (0, 0)
        kind = "missed" if case.negated else "false"
        print(f"{result.name}: {kind}: [{case.text[start:end]}] {case.text}")


if __name__ == "__main__":
    main()
