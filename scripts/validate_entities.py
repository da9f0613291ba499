"""Clinical entities against annotated reports (Gholipour Picha et al. 2024, 4.1).

The paper counts how many of RadGraph's "definitely present" and "definitely absent"
entities its extraction finds: 75 % and 76 %. This script measures the same on a file
in RadGraph's or RadGraph-XL's format, and the precision, which the paper leaves out.

    python scripts/validate_entities.py gold=examples/gold/radgraph.json
    python scripts/validate_entities.py radgraph=train.json --output entities.json

What the pipeline says of a report is its clinical entities, its devices and its normal
statements ("lungs are clear"; "heart is not enlarged" denies and counts as absent).

overlap   An annotated observation is found where one of these with the same assertion
          shares a character with it; one of ours is right where it shares one with
          such an observation.
exact     The same for whole phrases: the observation with the describing words and
          places that stand next to it.

Recall by overlap is given for three sets of annotations:

heads           observations that modify no other: findings, devices, normality words
observations    with describing words ("small", "unchanged"), found where they are part
                of a span or of an attribute
with_anatomy    with structures, as the paper counts; it leaves them out of its entities

Figures are given for each split that the file names and for all. No text of a report
is printed, unless `--show N` asks for N errors; those of a split named "unseen" are
never shown.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc

import spacy_mcse
from spacy_mcse.corpus import pipeline_signature
from spacy_mcse.data import (
    ABSENT,
    ASSERTIONS,
    PRESENT,
    read_devices,
    read_entities,
    read_normal,
)
from spacy_mcse.pipelines import DEFAULT_PIPELINE
from spacy_mcse.readers import AnnotatedReport, read_radgraph
from spacy_mcse.readers.gold import gold_entities

# Where PYTHONSAFEPATH is set, a script does not see the module beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent))
from validation import write_json

PAPER = {"present": 0.75, "absent": 0.76}
UNSEEN = "unseen"
ANATOMY = "anatomy"
# What makes an abnormal word of a normal statement: "heart is not enlarged".
DENYING = frozenset(("not", "no", "nothing", "without"))
ASSERTION_OF = {"OBS-DP": "present", "OBS-DA": "absent", "OBS-U": "uncertain"}
SETS = ("heads", "observations", "with_anatomy")
SAMPLES = 1000
SHOWN_AROUND = 40  # characters


class Place(NamedTuple):
    """Something of which a report says something, at characters [start, end)."""

    start: int
    end: int
    assertion: str

    def meets(self, other: "Place") -> bool:
        return (
            self.assertion == other.assertion
            and self.start < other.end
            and other.start < self.end
        )


class Said(NamedTuple):
    """What the pipeline says of a report.

    entities (list): Clinical entities and devices.
    normal (list): Normal statements that are not entities as well.
    attributes (list): Words that describe entities, with the assertion of the entity.
    """

    entities: list[Place]
    normal: list[Place]
    attributes: list[Place]

    @property
    def all(self) -> list[Place]:
        return self.entities + self.normal


class Annotated(NamedTuple):
    """What the annotation says of a report.

    heads (list): Observations that modify no other one.
    phrases (list): The same with what stands next to them, in the same order.
    modifiers (list): Observations that modify another one.
    anatomy (list): Structures.
    """

    heads: list[Place]
    phrases: list[Place]
    modifiers: list[Place]
    anatomy: list[Place]


# Counts of one report: (measure, assertion) to (right, all).
Counts = dict[tuple[str, str], tuple[int, int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "data",
        nargs="+",
        metavar="NAME=FILE",
        help="annotated reports under a name; one without a file is passed over",
    )
    parser.add_argument("--pipeline", default=DEFAULT_PIPELINE, help="name or path")
    parser.add_argument("--split", help="only this part of the data, such as dev")
    parser.add_argument("--limit", type=int, default=0, help="first N reports (0: all)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the intervals")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="N errors")
    parser.add_argument("--output", type=Path, help="JSON file of the figures")
    args = parser.parse_args()
    files = dict(part.partition("=")[::2] for part in args.data)
    if not any(files.values()):
        parser.error(f"no file in {' '.join(args.data)}: give NAME=FILE")
    nlp = spacy_mcse.load(args.pipeline)
    data = {}
    for name, file in files.items():
        if not file:
            continue
        try:
            splits = measure(nlp, Path(file), args)
        except (OSError, ValueError) as error:
            sys.exit(str(error))
        data[name] = {"splits": splits}
        print(f"{name}\n\n{table(splits)}\n")
    print(f"The paper, on RadGraph: present {PAPER['present']:.2f}, ", end="")
    print(f"absent {PAPER['absent']:.2f} (recall)")
    if args.output:
        signature = str(pipeline_signature(nlp))
        found = {"data": data, "paper": PAPER, "signature": signature}
        write_json(args.output, found)


def measure(nlp: Language, path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Figures of a file by split, and of all; prints the errors that are asked for."""
    every = read_radgraph(path)
    wanted = (one for one in every if options.split in (None, one.split))
    reports = list(islice(wanted, options.limit or None))
    if not reports:
        raise ValueError(f"No reports in {path} (split: {options.split or 'all'}).")
    docs = nlp.pipe(report.text for report in reports)
    counts: dict[str, list[Counts]] = defaultdict(list)
    to_show = options.show
    for report, doc in zip(reports, docs, strict=True):
        ours, gold = said(doc), annotated(report)
        counts[report.split or "no split"].append(report_counts(ours, gold))
        if to_show > 0 and report.split != UNSEEN:
            to_show -= show_errors(report, ours, gold, to_show)
    counts["all"] = [row for rows in counts.values() for row in rows]
    return {name: figures(rows, options.seed) for name, rows in counts.items()}


# What both sides say


def said(doc: Doc) -> Said:
    """What the pipeline says of a report."""
    found = (*read_entities(doc), *read_devices(doc))
    entities = [Place(e.start_char, e.end_char, e.assertion) for e in found]
    attributes = [
        Place(item["start_char"], item["end_char"], entity.assertion)
        for entity in found
        for items in entity.attributes.values()
        for item in items
    ]
    normal = []
    for one in read_normal(doc):
        denies = not DENYING.isdisjoint(one.text.lower().split())
        place = Place(one.start_char, one.end_char, ABSENT if denies else PRESENT)
        if not any(place.meets(entity) for entity in entities):
            normal.append(place)
    return Said(entities, normal, attributes)


def annotated(report: AnnotatedReport) -> Annotated:
    """What the annotation says of a report."""
    entities = gold_entities(report)
    heads = [Place(*entity.head, entity.assertion) for entity in entities]
    spans = {(head.start, head.end) for head in heads}
    return Annotated(
        heads=heads,
        phrases=[Place(e.start_char, e.end_char, e.assertion) for e in entities],
        modifiers=[
            Place(one.start_char, one.end_char, ASSERTION_OF[one.label])
            for one in report.entities
            if not one.is_anatomy and (one.start_char, one.end_char) not in spans
        ],
        anatomy=[
            Place(one.start_char, one.end_char, ANATOMY)
            for one in report.entities
            if one.is_anatomy
        ],
    )


# Counts and figures


def report_counts(ours: Said, gold: Annotated) -> Counts:
    """Right ones and all, of one report.

    ours (Said): What the pipeline says.
    gold (Annotated): What the annotation says.
    RETURNS (Counts): For `precision`, `exact_precision`, `exact_recall` and the recall
        of each set, by assertion. Structures count as present.
    """
    counts: Counts = {}
    spans = set(ours.all)
    phrases = set(gold.phrases)
    everything = gold.heads + gold.modifiers
    for assertion in ASSERTIONS:
        heads = [is_met(one, ours.all) for one in of(gold.heads, assertion)]
        modifiers = [
            is_met(one, ours.all + ours.attributes)
            for one in of(gold.modifiers, assertion)
        ]
        anatomy = []
        if assertion == PRESENT:
            covered = [
                place._replace(assertion=ANATOMY)
                for place in ours.all + ours.attributes
            ]
            anatomy = [is_met(one, covered) for one in gold.anatomy]
        mine = [is_met(one, everything) for one in of(ours.all, assertion)]
        whole = [one in spans for one in of(gold.phrases, assertion)]
        exact = [one in phrases for one in of(ours.all, assertion)]
        for name, hits in (
            ("heads", heads),
            ("observations", heads + modifiers),
            ("with_anatomy", heads + modifiers + anatomy),
            ("precision", mine),
            ("exact_recall", whole),
            ("exact_precision", exact),
        ):
            counts[name, assertion] = (sum(hits), len(hits))
    return counts


def of(places: Iterable[Place], assertion: str) -> list[Place]:
    return [place for place in places if place.assertion == assertion]


def is_met(place: Place, others: Iterable[Place]) -> bool:
    return any(place.meets(other) for other in others)


def figures(rows: Sequence[Counts], seed: int) -> dict[str, Any]:
    """Shares with their counts and 95 % bootstrap intervals over the reports."""
    rng = np.random.default_rng(seed)
    n = len(rows)
    weights = rng.multinomial(n, np.full(n, 1 / n), size=SAMPLES)
    found: dict[str, Any] = {"reports": n}
    for assertion in ASSERTIONS:
        found[assertion] = {
            name: share(
                np.array([row[name, assertion] for row in rows], float), weights
            )
            for name in (*SETS, "precision", "exact_recall", "exact_precision")
        }
    return found


def share(pairs: Any, weights: Any) -> dict[str, Any]:
    """Share of right ones among all; None where there are none."""
    right, total = pairs.sum(axis=0)
    if not total:
        return {"value": None, "n": 0, "interval": None}
    sums = weights @ pairs
    shares = sums[:, 0] / np.maximum(sums[:, 1], 1)
    low, high = np.percentile(shares[sums[:, 1] > 0], (2.5, 97.5))
    return {
        "value": round(float(right / total), 4),
        "n": int(total),
        "interval": [round(float(low), 4), round(float(high), 4)],
    }


# Output


def show_errors(report: AnnotatedReport, ours: Said, gold: Annotated, n: int) -> int:
    """Print at most n errors of a report; returns how many were printed."""
    missed = [("missed", one) for one in gold.heads if not is_met(one, ours.all)]
    known = gold.heads + gold.modifiers
    wrong = [("wrong", one) for one in ours.all if not is_met(one, known)]
    shown = (missed + wrong)[:n]
    for kind, (start, end, assertion) in shown:
        before = report.text[max(0, start - SHOWN_AROUND) : start]
        after = report.text[end : end + SHOWN_AROUND]
        around = " ".join(f"{before}[{report.text[start:end]}]{after}".split())
        print(f"{report.id} {kind:6} {assertion:9} {around}")
    return len(shown)


def table(splits: dict[str, Any]) -> str:
    columns = {
        "recall": "heads",
        "precision": "precision",
        "all observations": "observations",
        "with anatomy": "with_anatomy",
        "exact recall": "exact_recall",
        "exact precision": "exact_precision",
    }
    heads = ["split", "reports", "assertion", *columns]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for split, part in splits.items():
        for assertion in ASSERTIONS:
            cells = [split, str(part["reports"]), assertion]
            for name in columns.values():
                one = part[assertion][name]
                value = one["value"]
                cells.append("" if value is None else f"{value:.3f} of {one['n']}")
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
