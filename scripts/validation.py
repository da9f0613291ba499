"""What the scripts of the validation share: reports, statistics, output."""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from spacy_mcse.pipelines import DEFAULT_PIPELINE
from spacy_mcse.readers import (
    read_labels,
    read_mimic_reports,
    read_openi,
    read_radgraph,
)
from spacy_mcse.readers.source import read_json_lines

GOLD = Path(__file__).resolve().parent.parent / "examples" / "gold"
OPENI = "openi_reports.jsonl"
GENERATED = "openi_generated_moerad.jsonl"
NO_FINDING, DEVICES = "No Finding", "Support Devices"
SCORES = ("mcse", "f1")
DIGITS = 4
INSTALL = 'pip install "spacy-mcse[eval]"'

Array = NDArray[np.float64]
# Name of a label to 1 (present), 0 (denied), -1 (uncertain) or None (not mentioned).
Labels = Mapping[str, Optional[int]]


class Labelled(NamedTuple):
    """A report with its labels.

    id (str): Id of the report.
    text (str): The report.
    labels (Mapping): Name of the label to its value.
    indication (str): What was asked, '' where the data does not say.
    """

    id: str
    text: str
    labels: Labels
    indication: str = ""


# Options and data


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of all validation: data, pipeline, seed. '' is the same as none."""
    add = parser.add_argument
    add(
        "--gold",
        default=str(GOLD / "radgraph.json"),
        help="reports in RadGraph's format (default: the corpus of the repository)",
    )
    add(
        "--gold-labels",
        default=str(GOLD / "labels.csv"),
        help="their CheXpert labels (default: those of the repository)",
    )
    add("--mimic", default="", help="folder of MIMIC-CXR report text files")
    add("--mimic-labels", default="", help="mimic-cxr-2.0.0-chexpert.csv, or .csv.gz")
    add("--openi", default="", help=f"OpenI reports with labels, as {OPENI}")
    add("--data", default="", help=f"folder with {OPENI} and {GENERATED}, or one of it")
    add("--pipeline", default=DEFAULT_PIPELINE, help="pipeline or folder of one")
    add("--limit", type=count, default=0, help="first N reports of each data (0: all)")
    add("--seed", type=count, default=0, help="seed of all that is drawn")
    add("--figure", default="", help="PNG file to draw (needs the extra `eval`)")


def count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(f"{value} is below 0")
    return value


def in_folder(given: str, folder: str, name: str) -> str:
    """The file that an option names, else the file of that name in a folder, else ''.

    RAISES (FileNotFoundError): For a folder that is named and is not there.
    """
    if given or not folder:
        return given
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"--data: there is no folder '{folder}'")
    path = Path(folder) / name
    if path.is_file():
        return str(path)
    if not any((Path(folder) / other).is_file() for other in (OPENI, GENERATED)):
        raise FileNotFoundError(f"--data: '{folder}' has no {OPENI} and no {GENERATED}")
    print(f"No {name} in {folder}: not measured", file=sys.stderr)
    return ""


def read_all(args: argparse.Namespace) -> dict[str, list[Labelled]]:
    """The reports of all data that the options name.

    RAISES (OSError, ValueError): For files that are missing or not as they should be.
    """
    found: dict[str, list[Labelled]] = {}
    if args.gold:
        gold = (Labelled(one.id, one.text, {}) for one in read_radgraph(args.gold))
        found["gold"] = join(gold, args.gold_labels, args.limit, "--gold-labels")
    if args.mimic:
        mimic = (
            Labelled(one.id, body(one), {}, one.section("indication"))
            for one in read_mimic_reports(args.mimic)
        )
        found["mimic"] = join(mimic, args.mimic_labels, args.limit, "--mimic-labels")
    openi = in_folder(args.openi, args.data, OPENI)
    if openi:
        asked = read_indications(openi)
        reports = (
            Labelled(one.id, one.text, openi_labels(one.labels), asked[one.id])
            for one in read_openi(openi)
            if one.text.strip()
        )
        found["openi"] = list(islice(reports, args.limit or None))
    if not found:
        raise ValueError("No reports: name some with --gold, --mimic or --openi.")
    return found


def join(
    reports: Iterable[Labelled], labels: str, limit: int, option: str
) -> list[Labelled]:
    """Reports with their labels; those that are empty or have none are left out.

    RAISES (ValueError): Where no report has labels.
    """
    if not labels:
        raise ValueError(f"{option}: the reports need a CSV file of labels")
    rows = {row.id: row.labels for row in read_labels(labels)}
    both = (
        one._replace(labels=rows[one.id])
        for one in reports
        if one.id in rows and one.text.strip()
    )
    joined = list(islice(both, limit or None))
    if not joined:
        raise ValueError(f"{labels}: no id is that of a report ({option})")
    return joined


def read_indications(path: str) -> dict[str, str]:
    """Id to indication of the reports of OpenI, which their reader leaves out."""
    return {
        str(line.value.get("id")): str(line.value.get("indication") or "")
        for line in read_json_lines(Path(path), "an object")
    }


def body(report: Any) -> str:
    """Findings and impression of a report, all of it where it has neither."""
    parts = [part for part in (report.findings, report.impression) if part]
    return "\n".join(parts) or str(report.text)


def openi_labels(labels: Labels) -> dict[str, Optional[int]]:
    """Labels as in CheXpert: what is not stated counts as not mentioned."""
    return {
        NO_FINDING if name == "normal" else name: 1 if value else None
        for name, value in labels.items()
    }


def positives(labels: Labels) -> frozenset[str]:
    return frozenset(name for name, value in labels.items() if value == 1)


def findings(labels: Labels) -> frozenset[str]:
    """The findings that are present, without devices and the label "No Finding"."""
    return positives(labels) - {NO_FINDING, DEVICES}


# Statistics


def auc(high: Sequence[float], low: Sequence[float]) -> Optional[float]:
    """How often one of `high` is above one of `low`; equal ones count half.

    RETURNS (Optional[float]): None where one of the two is empty.
    """
    if not len(high) or not len(low):
        return None
    ordered = np.sort(np.asarray(low, dtype=np.float64))
    below = np.searchsorted(ordered, high, side="left")
    up_to = np.searchsorted(ordered, high, side="right")
    return float((below + up_to).mean() / 2 / len(ordered))


def resamples(
    n: int, samples: int, seed: int, clusters: Optional[Sequence[Any]] = None
) -> Array:
    """How often each row counts in each resample, (1 + samples, n); first the data.

    clusters (Optional[Sequence]): What each row belongs to; clusters are drawn whole.
    """
    rng = np.random.default_rng(seed)
    names = list(range(n)) if clusters is None else list(clusters)
    index = {name: at for at, name in enumerate(dict.fromkeys(names))}
    drawn = rng.multinomial(
        len(index), np.full(len(index), 1 / len(index)), size=samples
    )
    rows = drawn[:, [index[name] for name in names]]
    return np.concatenate([np.ones((1, n)), rows]).astype(np.float64)


def interval(values: Array) -> dict[str, float]:
    """The first value, and the 95 % percentile interval of the others.

    A resample without a value (all scores are equal) is left out.
    """
    others = values[1:][~np.isnan(values[1:])]
    if np.isnan(values[0]) or not len(others):
        return {}
    low, high = np.percentile(others, (2.5, 97.5))
    return {"value": float(values[0]), "low": float(low), "high": float(high)}


def means(values: Sequence[float], weights: Array) -> Array:
    return np.asarray(weights @ np.asarray(values, float) / weights.sum(axis=1))


def correlations(
    one: Sequence[float], two: Sequence[float], weights: Array
) -> dict[str, Array]:
    """Pearson's r, Spearman's rho and Kendall's tau-b in each resample.

    RETURNS (dict[str, Array]): A value for each row of `weights`, nan where one side
        has no two different values.
    """
    # Equal texts in batches of different width differ in the last digits.
    x, y = np.round(np.asarray([one, two], dtype=np.float64), 6)
    signs = [np.sign(np.subtract.outer(side, side)) for side in (x, y)]
    joint, first, second = (
        ((weights @ a) * weights).sum(axis=1)
        for a in (signs[0] * signs[1], signs[0] ** 2, signs[1] ** 2)
    )
    # Half of the rows below minus half of those above orders as the rank does.
    ranks = [weights @ side.T / 2 for side in signs]
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "pearson": _pearson(x[None], y[None], weights),
            "spearman": _pearson(ranks[0], ranks[1], weights),
            "kendall": joint / np.sqrt(first * second),
        }


def _pearson(x: Array, y: Array, weights: Array) -> Array:
    shares = weights / weights.sum(axis=1, keepdims=True)
    x = x - (shares * x).sum(axis=1, keepdims=True)
    y = y - (shares * y).sum(axis=1, keepdims=True)
    joint, first, second = ((shares * a).sum(axis=1) for a in (x * y, x**2, y**2))
    # What is left of equal scores after the mean is taken off is rounding.
    usable = (first > 1e-12) & (second > 1e-12)
    return np.where(usable, joint / np.sqrt(first * second), np.nan)


# Output


def rounded(record: Any) -> Any:
    """Plain values for JSON: numbers with four digits, what is no number is null."""
    if isinstance(record, Mapping):
        return {str(key): rounded(value) for key, value in record.items()}
    if isinstance(record, (list, tuple)):
        return [rounded(value) for value in record]
    if isinstance(record, (bool, np.bool_)):
        return bool(record)
    if isinstance(record, (float, np.floating)):
        # + 0.0: without the sign of a zero
        return None if np.isnan(record) else round(float(record), DIGITS) + 0.0
    return int(record) if isinstance(record, np.integer) else record


def write_json(path: Path, record: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rounded(record), indent=2, sort_keys=True, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf8")


def write_figure(path: str, draw: Any) -> None:
    """Draw a figure, unless there is nothing to draw; says what to install where it
    cannot be drawn. A figure of other data does not stay."""
    if not path:
        return
    Path(path).unlink(missing_ok=True)
    try:
        image = draw()
    except ImportError:
        print(f"No figure: it needs matplotlib: {INSTALL}", file=sys.stderr)
        return
    if image is None:
        print("No figure: there is nothing to draw", file=sys.stderr)
        return
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(image)


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
