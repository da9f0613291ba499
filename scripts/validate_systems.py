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
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np

import spacy_mcse
from spacy_mcse.cli.terminal import UsageError
from spacy_mcse.corpus import pipeline_signature

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
)
from system_files import PUBLISHED, Generated, build, read_generated, read_systems
from validation import (
    GENERATED,
    INSTALL,
    Array,
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
        reports = read_all(args)
        generated = read_generated(
            in_folder(args.generated, args.data, GENERATED), args.limit
        )
        given = read_systems([one for one in args.system if one], args.limit)
        nlp = spacy_mcse.load(args.pipeline)
        data = {**build(reports, generated, nlp, args.references, args.seed), **given}
    except (OSError, ValueError, UsageError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    tables = {
        name: table(*of, nlp, args.samples, args.seed) for name, of in data.items()
    }
    rows = {name: found.pop("rows") for name, found in tables.items()}
    record: dict[str, Any] = {}
    if generated:
        ours = rows["generated"][generated[0].model]
        record["published"] = published(generated, ours, args.samples, args.seed)
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
    candidates = [one.candidate for one in generated]
    by_report = resamples(n, samples, seed)
    by_text = resamples(n, samples, seed, candidates)
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
        "texts": len(set(candidates)),
        "references": len({one.reference.text for one in generated}),
        "most_with_one_text": Counter(candidates).most_common(1)[0][1],
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
