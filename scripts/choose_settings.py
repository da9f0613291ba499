"""Choose the parameters of the calibrated score together, by cross-validation.

    python scripts/choose_settings.py --data DATA --write metrics/settings.json

Agreement with the radiologists of radpref.jsonl, from the raw reports and from the
given lists of findings, is made as good as it gets among the settings that notice as
many planted errors (`planted_errors.py`) as any. Settings are chosen on some cases
and measured on the others. The recommended ones are the plainest that are within one
standard error of the best. No text of a report is printed.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language

import spacy_mcse
from spacy_mcse.data import ReportFacts, read_facts
from spacy_mcse.settings import DEFAULTS

# Where PYTHONSAFEPATH is set, a script does not see the modules beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent))
from planted_errors import plant
from score_bank import FIGURES, SETS, Bank, Data, agreement
from settings_space import (
    GRID,
    Choice,
    Point,
    draw,
    is_valid,
    moved,
    neighbours,
    plainer,
    settings_of,
)

RATED, REPORTS = "radpref.jsonl", "openi_reports.jsonl"
Cases = NDArray[np.intp]
ABLATIONS: dict[str, dict[str, float]] = {
    "significance off": {"urgent": 1.0, "minor": 1.0, "expected": 1.0},
    "weights 1, 1, 0.8, 0.5": {"urgent": 1.0, "minor": 0.8, "expected": 0.5},
    "weights 1.5, 1, 0.5, 0.3": {"urgent": 1.5, "minor": 0.5, "expected": 0.3},
    "devices 0": {"devices": 0.0},
    "devices 0.5": {"devices": 0.5},
    "devices 1": {"devices": 1.0},
    "family 0": {"family": 0.0},
    "family 0.5": {"family": 0.5},
    "related 0": {"related": 0.0},
    "related 0.5": {"related": 0.5},
    "related 1": {"related": 1.0},
}
STEPS = 4  # of the local search, at most: most of the time goes into these
REQUIRED = 50  # points whose best tells how many planted errors can be noticed


def main() -> None:
    args = arguments()
    folder = args.data
    if folder is None or not all(
        (folder / name).is_file() for name in (RATED, REPORTS)
    ):
        sys.exit(
            f"No {RATED} and {REPORTS}: name their folder with --data or MCSE_DATA."
        )
    rated = read_lines(folder / RATED)
    nlp = spacy_mcse.load(args.pipeline)
    data = prepare(nlp, rated, read_lines(folder / REPORTS), args)
    splits = list(folds(len(rated), args.folds, args.repeats, args.seed))
    with Bank(data, args.processes) as bank:
        result = choose(bank, splits, draw(args.points, args.seed))
    print(
        f"{len(rated)} cases, {len(data.planted)} planted errors and changes of form, "
        f"{len(bank.scores)} settings, {args.repeats} x {args.folds} folds.\n"
    )
    print(tables(result))
    if args.write:
        args.write.parent.mkdir(parents=True, exist_ok=True)
        args.write.write_text(json.dumps(result, indent=2) + "\n", "utf8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("MCSE_DATA"),
        help=f"folder with {RATED} and {REPORTS} (default: MCSE_DATA)",
    )
    parser.add_argument("--pipeline", default="en_mcse_cxr_sm", help="of spacy_mcse")
    parser.add_argument("--write", type=Path, help="JSON file for settings and figures")
    parser.add_argument("--points", type=int, default=150, help="drawn at random")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--reports", type=int, default=500, help="to plant errors in")
    parser.add_argument("--each", type=int, default=30, help="errors of one kind")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.data = args.data and Path(args.data)
    return args


# Data


def read_lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf8") as file:
        return [json.loads(line) for line in file if line.strip()]


def prepare(
    nlp: Language,
    rated: Sequence[dict[str, Any]],
    reports: Sequence[dict[str, Any]],
    args: argparse.Namespace,
) -> Data:
    """Read all reports once, those with planted errors too."""

    def read(texts: Iterable[str]) -> list[ReportFacts]:
        return [read_facts(doc) for doc in nlp.pipe(texts)]

    candidates = [row["candidates"][name] for row in rated for name in ("C1", "C2")]
    pairs: list[tuple[ReportFacts, ReportFacts]] = []
    for references, texts in (
        ([row["reference"] for row in rated], [c["text"] for c in candidates]),
        (
            [listed(row["reference_findings"]) for row in rated],
            [listed(c["findings"]) for c in candidates],
        ),
    ):
        twice = [facts for facts in read(references) for _ in range(2)]
        pairs += zip(twice, read(texts), strict=True)
    texts = [f"{row['findings']} {row['impression']}".strip() for row in reports]
    texts = texts[: args.reports]
    facts = read(texts)
    planted = plant(texts, facts, args.each, args.seed)
    changed = read(one.text for one in planted)
    pairs += [(facts[p.report], new) for p, new in zip(planted, changed, strict=True)]
    ratings = [np.mean(candidate["ratings"]) for candidate in candidates]
    return Data(pairs, np.array(ratings, "float64"), planted)


def listed(findings: Sequence[str]) -> str:
    """A list of findings as a report."""
    said = [finding.strip().rstrip(".") for finding in findings]
    return ". ".join([*said, ""]).strip() if said else "Normal chest."


# Choice


def folds(cases: int, number: int, repeats: int, seed: int) -> Iterator[list[Cases]]:
    """For each repetition the cases that are held out, fold by fold."""
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        yield [np.sort(part) for part in np.array_split(rng.permutation(cases), number)]


def best_points(
    bank: Bank,
    trainings: Sequence[Cases],
    points: Sequence[Point],
    steps: int = STEPS,
) -> list[Point]:
    """For each set of cases the best of the points, made better step by step."""
    bank.fill(points)
    best = bank.first_allowed([ranked(bank, points, cases) for cases in trainings])
    for _ in range(steps):
        near = {point: neighbours(point) for point in dict.fromkeys(best)}
        bank.fill(one for found in near.values() for one in found)
        new = bank.first_allowed(
            [
                ranked(bank, [point, *near[point]], cases)
                for point, cases in zip(best, trainings, strict=True)
            ]
        )
        if new == best:
            break
        best = new
    return best


def ranked(bank: Bank, points: Sequence[Point], cases: Cases) -> Iterator[Point]:
    """The points from the best; of equal ones those that come first."""
    values = bank.values(points, cases)
    return iter([points[at] for at in np.argsort(-values, kind="stable")])


def plain_points(
    bank: Bank, trainings: Sequence[Cases], best: Sequence[Point]
) -> list[Point]:
    """For each best point the plainest found within one standard error of it.

    Numbers are made plain one by one, the one that costs least first.
    """
    now = list(best)
    while True:
        near = {point: plainer(point) for point in dict.fromkeys(now)}
        bank.fill(one for found in near.values() for one in found)
        new = bank.first_allowed(
            [
                # Where nothing is within, all stays as it is.
                chain(within(bank, top, near[point], cases), [point])
                for point, top, cases in zip(now, best, trainings, strict=True)
            ]
        )
        if new == now:
            return now
        now = new


def within(
    bank: Bank, top: Point, points: Sequence[Point], cases: Cases
) -> Iterator[Point]:
    """The points within one standard error of another, from the best."""
    for point in ranked(bank, points, cases) if points else ():
        loss, error = difference(bank, top, point, cases)
        if loss <= error:
            yield point


def difference(
    bank: Bank, first: Choice, second: Choice, cases: Cases
) -> tuple[float, float]:
    """How much better the first is on the cases, with its standard error.

    The jackknife over cases: both are measured on the same ones.
    """
    one, other = bank.values([first, second], cases)
    left = [np.delete(cases, at) for at in range(len(cases))]
    values = np.array([bank.values([first, second], some) for some in left])
    found = values[:, 0] - values[:, 1]
    error = np.sqrt((len(found) - 1) * ((found - found.mean()) ** 2).mean())
    return float(one - other), float(error)


def choose(
    bank: Bank, splits: Sequence[Sequence[Cases]], points: Sequence[Point]
) -> dict[str, Any]:
    """Choose settings in the folds and on all cases; measure both."""
    everything = np.arange(bank.cases)
    bank.require_best(points[:REQUIRED])
    trainings = [np.setdiff1d(everything, held) for parts in splits for held in parts]
    both = [*trainings, everything]
    best = best_points(bank, both, points)
    plain = plain_points(bank, both, best)
    top, recommended = best[-1], plain[-1]
    rows = {
        "current defaults": measured(bank, splits, [DEFAULTS] * len(trainings)),
        "best in each fold": measured(bank, splits, best[:-1]),
        "plainest in each fold": measured(bank, splits, plain[:-1]),
    }
    for name, values in ABLATIONS.items():
        # The plainest ones with this held fixed, and what the draw has.
        some = [moved(point, **values) for point in dict.fromkeys(plain)]
        some += [point for point in points if moved(point, **values) == point]
        some = [one for one in dict.fromkeys(some) if is_valid(one)]
        found = best_points(bank, trainings, some, steps=0)
        rows[f"best in each fold, {name}"] = measured(bank, splits, found)
    others: dict[str, Choice] = {
        "recommended": recommended,
        "current defaults": DEFAULTS,
    }
    for name, values in ABLATIONS.items():
        point = moved(recommended, **values)
        if is_valid(point) and point != recommended:
            others[f"recommended, {name}"] = point
    others["best on all cases"] = top
    bank.plant(others.values())
    return {
        "recommended": settings_of(recommended).to_dict(),
        "point": dict(zip(GRID, recommended, strict=True)),
        "best": dict(zip(GRID, top, strict=True)),
        "held_out": rows,
        "all_cases": compared(bank, others, recommended),
        "planted": {
            "needed": bank.needed,
            "current defaults": bank.noticed[DEFAULTS],
            "recommended": bank.noticed[settings_of(recommended)],
        },
        "in_folds": {"best": spread(best[:-1]), "plainest": spread(plain[:-1])},
    }


def measured(
    bank: Bank, splits: Sequence[Sequence[Cases]], chosen: Sequence[Choice]
) -> dict[str, Any]:
    """Agreement of the settings of each fold on the cases that it holds out.

    RETURNS (dict): `pooled`, over all cases of a repetition at once, and `folds`; each
        the means and standard deviations, SETS x FIGURES.
    """
    bank.fill(chosen)
    left = iter(chosen)
    pooled, by_fold = [], []
    for parts in splits:
        own = [next(left) for _ in parts]
        found = [bank.held(one, held) for one, held in zip(own, parts, strict=True)]
        ratings = bank.rated(np.concatenate(parts))
        scores = np.concatenate(found, axis=1)
        pooled.append([agreement(some[None], ratings)[0] for some in scores])
        by_fold += [
            bank.figures([o], held)[0] for o, held in zip(own, parts, strict=True)
        ]
    return {
        name: {
            "mean": np.nanmean(found, axis=0).round(4).tolist(),
            "sd": np.nanstd(found, axis=0).round(4).tolist(),
        }
        for name, found in (("pooled", np.array(pooled)), ("folds", np.array(by_fold)))
    }


def compared(
    bank: Bank, choices: Mapping[str, Choice], reference: Point
) -> dict[str, dict[str, Any]]:
    """Agreement on all cases, and the difference from a point."""
    bank.fill([reference, *choices.values()])
    cases = np.arange(bank.cases)
    rows = {}
    for name, one in choices.items():
        more, error = difference(bank, one, reference, cases)
        rows[name] = {
            "figures": bank.figures([one], cases)[0].round(4).tolist(),
            "difference": round(more, 4),
            "standard_error": round(error, 4),
            "allowed": bank.allowed(one),
        }
    return rows


def spread(points: Sequence[Point]) -> dict[str, dict[str, int]]:
    """How often each value was chosen in the folds."""
    return {
        name: {f"{v:g}": n for v, n in sorted(Counter(values).items())}
        for name, *values in zip(GRID, *points, strict=True)
    }


# Tables


def tables(result: dict[str, Any]) -> str:
    head = [f"{kind} {name}" for kind in SETS for name in FIGURES]
    lines = []
    for key, title in (
        ("pooled", "Held-out cases, pooled (sd over repetitions)"),
        ("folds", "Held-out cases, mean of the folds (sd over folds)"),
    ):
        cells = [
            [name, *_cells(row[key]["mean"], row[key]["sd"])]
            for name, row in result["held_out"].items()
        ]
        lines += [_table([title, *head, "mean"], cells), ""]
    cells = [
        [
            name,
            *_cells(row["figures"]),
            f"{row['difference']:+.3f} ({row['standard_error']:.3f})",
            "yes" if row["allowed"] else "no",
        ]
        for name, row in result["all_cases"].items()
    ]
    title = "All cases, not held out"
    more = ["mean", "difference (standard error)", "planted errors noticed"]
    lines += [_table([title, *head, *more], cells), ""]
    planted = result["planted"]
    cells = [
        [kind, *(f"{planted[name][kind]:.3f}" for name in planted)]
        for kind in planted["needed"]
    ]
    lines += [_table(["Planted, part scored right", *planted], cells), ""]
    values = {
        name: f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in result["recommended"].items()
    }
    point = ", ".join(f"{name} {value:g}" for name, value in result["point"].items())
    said = ", ".join(f"{name}={value}" for name, value in values.items())
    return "\n".join([*lines, f"Point: {point}", f"ScoreSettings({said})"])


def _cells(means: Any, deviations: Any = None) -> list[str]:
    flat = np.ravel(means)
    cells = [f"{value:.3f}" for value in flat]
    if deviations is not None:
        spreads = np.ravel(deviations)
        cells = [f"{cell} ({s:.3f})" for cell, s in zip(cells, spreads, strict=True)]
    return [*cells, f"{flat.mean():.3f}"]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    main()
