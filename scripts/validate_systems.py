"""Score systems as section 5 of the paper does, BLEU beside MCSE and F1: one JSON.

    python scripts/validate_systems.py
    python scripts/validate_systems.py --generated openi_generated_moerad.jsonl
    python scripts/validate_systems.py --system mine=pairs.jsonl --system old=pairs.csv

On each set of references the systems of simple_systems.py are built, of which it is
known which should be better; "order" says which score agrees. A check holds where the
interval of the difference lies above 0, fails where it lies below, and is open else.

With --generated, reports of a real model (OpenI, MoERad) and their published scores:
the table has the model beside the simple systems on the same references, and the
correlation of each score with each published one. Few of the generated texts differ,
so that many reports share one: beside the interval of a bootstrap over reports stands
that over the generated texts ("by_text"), the honest one.

BLEU is sacrebleu's, lower-cased, 0 to 1: of the corpus (4-grams; "bleu_2": 2-grams) and
the mean of the reports ("bleu_mean"). The paper does not say which its table has. No
text and no id of a report is written.
"""

import argparse
import math
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np

import spacy_mcse
from spacy_mcse.cli.rows import read_rows
from spacy_mcse.cli.terminal import UsageError
from spacy_mcse.corpus import pipeline_signature
from spacy_mcse.readers.source import member, read_json_lines

# Where PYTHONSAFEPATH is set, a script does not see the modules beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent))
from bleu_scores import bleu, bleu_version, corpus_bleu, count_bleu
from simple_systems import (
    ALWAYS_NORMAL,
    BY_INDICATION,
    BY_LABELS,
    PLANTED,
    REFERENCE,
    REORDERED,
    SHUFFLED,
    simple_systems,
)
from validation import (
    GENERATED,
    INSTALL,
    OPENI,
    Array,
    Labelled,
    add_options,
    correlations,
    count,
    in_folder,
    interval,
    means,
    read_all,
    resamples,
    write_figure,
    write_json,
)

PAPER = {
    "CXR-RePaiR": {"bleu": 0.069, "mcse": 0.64},
    "R2Gen": {"bleu": 0.212, "mcse": 0.71},
    "source": "Table 5, which names neither the test set nor the kind of BLEU",
}
# What a good score puts above what.
ORDER = (
    (REFERENCE, PLANTED),
    (PLANTED, BY_LABELS),
    (BY_LABELS, BY_INDICATION),
    (BY_LABELS, SHUFFLED),
    (BY_LABELS, ALWAYS_NORMAL),
)
HOLDS, OPEN, FAILS = STATES = ("holds", "open", "fails")
# How much another order of the sentences may change the mean.
SAME = 0.02
SCORES = ("mcse", "precision", "recall", "f1")
BLEU = ("bleu", "bleu_2", "bleu_mean")
# Published scores, and whether more is better.
PUBLISHED = {
    "bleu": True,
    "bertscore": True,
    "chexbert_sim": True,
    "radgraph_f1": True,
    "radcliq_v0": False,
    "radcliq_v1": False,
}


class Generated(NamedTuple):
    """A report of a model: id, reference, candidate, indication, published scores."""

    id: str
    reference: str
    candidate: str
    indication: str
    published: dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    add_options(parser)
    add = parser.add_argument
    add("--generated", default="", help=f"reports of a model, as {GENERATED}")
    add(
        "--system",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="pairs as `mcse score` reads them, of a system of yours; may be repeated",
    )
    add("--output", type=Path, default=Path("metrics/systems.json"))
    add("--samples", type=count, default=1000, help="bootstrap samples")
    add(
        "--references",
        type=count,
        default=400,
        help="most references of each data, drawn (0: all)",
    )
    args = parser.parse_args()
    try:
        data = read_all(args)
        generated = read_generated(
            in_folder(args.generated, args.data, GENERATED), args.limit
        )
        systems = dict(read_system(given, args.limit) for given in args.system)
        asked = read_indications(in_folder(args.openi, args.data, OPENI))
        nlp = spacy_mcse.load(args.pipeline)
    except (OSError, ValueError, UsageError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    tables: dict[str, Any] = {}
    for name, reports in data.items():
        reports = drawn(reports, args.references, args.seed)
        indications = [asked.get(report.id, "") for report in reports]
        built = simple_systems(reports, indications, nlp, args.seed)
        references = [report.text for report in reports]
        tables[name] = table(references, built, nlp, args.samples, args.seed)
    record: dict[str, Any] = {}
    if generated:
        labels = {report.id: report.labels for report in data.get("openi", ())}
        reports = [
            Labelled(one.id, one.reference, labels.get(one.id, {})) for one in generated
        ]
        built = {
            "MoERad": [one.candidate for one in generated],
            **simple_systems(
                reports, [one.indication for one in generated], nlp, args.seed
            ),
        }
        references = [one.reference for one in generated]
        found = table(references, built, nlp, args.samples, args.seed)
        tables["generated"] = found
        record["published"] = published(
            generated, found.pop("rows")["MoERad"], args.samples, args.seed
        )
    for name, (references, candidates) in systems.items():
        tables[name] = table(
            references, {name: candidates}, nlp, args.samples, args.seed
        )
    for found in tables.values():
        found.pop("rows", None)
    version = bleu_version()
    if version is None:
        print(f"No BLEU: it needs sacrebleu: {INSTALL}", file=sys.stderr)
    record |= {
        "bleu": version,
        "data": tables,
        "options": {n: getattr(args, n) for n in ("limit", "references", "samples")},
        "paper": PAPER,
        "seed": args.seed,
        "signature": str(pipeline_signature(nlp)),
    }
    write_json(args.output, record)
    write_figure(args.figure, lambda: draw(record))
    print(markdown(record))


# Data


def read_generated(path: str, limit: int) -> list[Generated]:
    """Reports of a model with published scores.

    RAISES (FileNotFoundError, ValueError): With the line where something is missing.
    """
    if not path:
        return []
    if not Path(path).is_file():
        raise FileNotFoundError(f"--generated: there is no file '{path}'")
    needed = "'id', 'reference_findings', 'generated_findings', 'published_scores'"
    found = []
    for line in read_json_lines(Path(path), f"an object with {needed}"):
        where = f"{path}, line {line.line}"
        name, reference, candidate = (
            member(line.value, key, str, where, needed)
            for key in ("id", "reference_findings", "generated_findings")
        )
        scores = member(line.value, "published_scores", dict, where, needed)
        names = ", ".join(PUBLISHED)
        values = {
            score: member(scores, score, float, f"{where} > published_scores", names)
            for score in PUBLISHED
        }
        asked = str(line.value.get("context") or "")
        asked = asked.partition("Comparison:")[0].removeprefix("Indication:").strip()
        found.append(Generated(name, reference, candidate, asked, values))
        if limit and len(found) == limit:
            break
    if len(found) < 2:
        raise ValueError(f"{path}: fewer than two reports")
    return found


def read_indications(path: str) -> dict[str, str]:
    """Id to indication of the reports of OpenI."""
    if not path:
        return {}
    return {
        str(line.value.get("id")): str(line.value.get("indication") or "")
        for line in read_json_lines(Path(path), "an object")
    }


def read_system(given: str, limit: int) -> tuple[str, tuple[list[str], list[str]]]:
    """Name, references and candidates of NAME=FILE.

    RAISES (ValueError, UsageError): For a bad option, file or row.
    """
    name, mark, path = given.partition("=")
    if not name or not mark or not path:
        raise ValueError(f"--system: expected NAME=FILE, got '{given}'")
    roles = ("reference", "candidate")
    rows = read_rows(Path(path), {role: role for role in ("id", *roles)})
    for row in rows[: limit or None]:
        if row.error:
            raise ValueError(f"{path}: {row.error}")
    one, two = ([row.values[role] for row in rows[: limit or None]] for role in roles)
    return name, (one, two)


def drawn(reports: list[Labelled], most: int, seed: int) -> list[Labelled]:
    """At most so many of the reports, in their order."""
    if not most or len(reports) <= most:
        return reports
    numbers = random.Random(seed).sample(range(len(reports)), most)
    return [reports[at] for at in sorted(numbers)]


# Scores


def table(
    references: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    nlp: Any,
    samples: int,
    seed: int,
) -> dict[str, Any]:
    """Means with intervals of each system, the order, and the scores of each row.

    All systems share the resamples, so that their differences are those of pairs.
    """
    weights = resamples(len(references), samples, seed)
    # One call, so that each text is read once.
    scored = iter(
        spacy_mcse.score_corpus(
            [text for _ in systems for text in references],
            [text for candidates in systems.values() for text in candidates],
            nlp=nlp,
            n_resamples=1,
        ).scores
    )
    rows: dict[str, dict[str, list[float]]] = {}
    sampled: dict[str, dict[str, Array]] = {}
    for name, candidates in systems.items():
        of_system = [next(scored) for _ in references]
        rows[name] = {s: [getattr(one, s) for one in of_system] for s in SCORES}
        sampled[name] = {s: means(rows[name][s], weights) for s in SCORES}
        counts = count_bleu(references, candidates)
        if counts:
            rows[name] |= {"bleu": bleu(counts, 4), "bleu_2": bleu(counts, 2)}
            sampled[name] |= {
                "bleu": corpus_bleu(counts, weights, 4),
                "bleu_2": corpus_bleu(counts, weights, 2),
                "bleu_mean": means(rows[name]["bleu"], weights),
            }
    return {
        "references": len(references),
        "systems": {
            name: {
                **{score: interval(values) for score, values in found.items()},
                "texts": len(set(systems[name])),
                "changed": sum(
                    one != two
                    for one, two in zip(references, systems[name], strict=True)
                ),
            }
            for name, found in sampled.items()
        },
        "order": order(sampled),
        "rows": rows,
    }


def order(
    sampled: Mapping[str, Mapping[str, Array]],
) -> dict[str, list[dict[str, Any]]]:
    """Whether each score puts the simple systems in the order that is known.

    RETURNS (dict): Score to its checks: what should be above what, the difference of
        the means with its interval, and the state, one of `STATES`.
    """
    checks: dict[str, list[dict[str, Any]]] = {}
    for score in (*SCORES, *BLEU):
        rows = {name: found[score] for name, found in sampled.items() if score in found}
        made = []
        if REORDERED in rows:
            found = interval(rows[REFERENCE] - rows[REORDERED])
            state = HOLDS if abs(found["value"]) <= SAME else FAILS
            made.append(
                {"check": f"{REFERENCE} = {REORDERED}", "state": state, **found}
            )
        for high, low in ORDER:
            if high in rows and low in rows:
                found = interval(rows[high] - rows[low])
                made.append(
                    {"check": f"{high} > {low}", "state": state_of(found), **found}
                )
        if made:
            checks[score] = made
    return checks


def state_of(difference: Mapping[str, float]) -> str:
    """Whether a difference that should be above 0 is; open where its interval has 0."""
    if difference["low"] > 0:
        return HOLDS
    return FAILS if difference["high"] < 0 else OPEN


def published(
    generated: Sequence[Generated],
    ours: Mapping[str, Sequence[float]],
    samples: int,
    seed: int,
) -> dict[str, Any]:
    """Correlation of our scores and of the published ones with the published ones."""
    n = len(generated)
    theirs = {name: [one.published[name] for one in generated] for name in PUBLISHED}
    texts = [one.candidate for one in generated]
    by_report = resamples(n, samples, seed)
    by_text = resamples(n, samples, seed, texts)
    scores = {
        **{f"published {name}": values for name, values in theirs.items()},
        **ours,
    }
    found: dict[str, Any] = {}
    for name, values in scores.items():
        found[name] = {}
        for other, reference in theirs.items():
            if name == f"published {other}":
                continue
            one = correlations(values, reference, by_report)
            two = correlations(values, reference, by_text)
            found[name][other] = {
                kind: {**interval(one[kind]), "by_text": ends(interval(two[kind]))}
                for kind in one
            }
    return {
        "n": n,
        "texts": len(set(texts)),
        "references": len({one.reference for one in generated}),
        "most_with_one_text": Counter(texts).most_common(1)[0][1],
        "equal_scores": {name: equal_pairs(values) for name, values in ours.items()},
        "higher_is_better": PUBLISHED,
        "mean": {name: float(np.mean(values)) for name, values in theirs.items()},
        "correlation": found,
    }


def ends(found: Mapping[str, float]) -> list[float]:
    return [found["low"], found["high"]] if found else []


def equal_pairs(values: Sequence[float]) -> float:
    """Which part of the pairs of reports has equal scores."""
    counts = Counter(round(value, 6) for value in values)
    pairs = sum(math.comb(times, 2) for times in counts.values())
    return pairs / math.comb(len(values), 2)


# Output


def draw(record: dict[str, Any]) -> bytes:
    from spacy_mcse.figures import Bars, systems_png

    shown = ("bleu", "mcse", "f1")
    tables = [
        Bars(
            f"{name}: {found['references']} references, means with 95 % intervals",
            list(found["systems"]),
            {
                s: [triple(row.get(s)) for row in found["systems"].values()]
                for s in shown
            },
        )
        for name, found in record["data"].items()
    ]
    if "published" not in record:
        return systems_png(tables)
    found = record["published"]
    rows = {
        name: f"{name}{'' if better else ' (less is better)'}"
        for name, better in PUBLISHED.items()
    }
    values = {
        score: [
            triple({**cell, "low": cell["by_text"][0], "high": cell["by_text"][1]})
            for name in rows
            for cell in [found["correlation"][score][name]["spearman"]]
        ]
        for score in shown
        if score in found["correlation"]
    }
    title = (
        f"Spearman correlation with published scores: {found['n']} reports, intervals "
        f"over the {found['texts']} texts"
    )
    return systems_png(tables, Bars(title, list(rows.values()), values))


def triple(
    found: Optional[Mapping[str, float]],
) -> Optional[tuple[float, float, float]]:
    return (found["value"], found["low"], found["high"]) if found else None


def markdown(record: dict[str, Any]) -> str:
    """The table of systems, as text."""
    shown = ("bleu", "bleu_mean", "mcse", "precision", "recall", "f1")
    lines = [f"| Data | System | n | {' | '.join(shown)} |", "|---" * 9 + "|"]
    for name, found in record["data"].items():
        for system, row in found["systems"].items():
            cells = [
                f"{row[s]['value']:.3f} ({row[s]['low']:.2f} to {row[s]['high']:.2f})"
                if row.get(s)
                else "none"
                for s in shown
            ]
            n = found["references"]
            lines.append(f"| {name} | {system} | {n} | {' | '.join(cells)} |")
    for name, found in record["data"].items():
        for score, checks in found["order"].items():
            states = Counter(one["state"] for one in checks)
            counted = ", ".join(f"{states[s]} {s}" for s in STATES if states[s])
            failed = [one["check"] for one in checks if one["state"] == FAILS]
            lines.append(f"{name}, order by {score}: {counted} {failed or ''}".rstrip())
    return "\n".join(lines)


if __name__ == "__main__":
    main()
