"""Check the scores by labels, as section 4.2 of the paper does: one JSON, one figure.

    python scripts/validate_labels.py
    python scripts/validate_labels.py --mimic files/ --mimic-labels chexpert.csv.gz
    python scripts/validate_labels.py --openi openi_reports.jsonl

Pairs of reports that agree in their labels should score above pairs that contrast. A
group is what its reports are labelled with; its blue dot is the mean score of pairs of
its reports, its orange dot the mean of its reports against contrasting ones.

"sequences" is the paper's way: reports agree where the values of all labels are equal
(1, 0, -1 or empty). Contrasting pairs are made for sequences of one or two labels, all
1, as the paper says, with reports of another sequence. The paper leaves open what these
may share, and we read its example ("entirely distinct"): they have a label with 1, and
none of the group's labels with 1 or -1. It leaves open, too, how many pairs of a group
are scored (here up to --pairs, drawn), which sequences are the 70 of its figure (here
the --groups that most reports have), and what text is compared (here findings and
impression; gold reports as a whole). Few reports of a small corpus have all 14 values
alike.

"findings" is ours and what bench/separation.py does: reports agree where they have the
same findings with value 1, whatever else is said; "No Finding" and "Support Devices"
are no findings. Contrasting are reports with findings, none of them among the group's.

No text and no id of a report is written.
"""

import argparse
import math
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np

import spacy_mcse
from spacy_mcse.corpus import pipeline_signature

# Where PYTHONSAFEPATH is set, a script does not see the module beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent))
from validation import (
    SCORES,
    Labelled,
    Labels,
    add_options,
    auc,
    count,
    findings,
    plural,
    positives,
    read_all,
    write_figure,
    write_json,
)

LINE = 0.70
PAPER = {
    "contrast_above_line": 6,
    "data": "MIMIC-CXR with CheXpert labels",
    "label_sequences": 70,
    "line": LINE,
    "same_below_line": 0,
}
# Labels in a sequence that the paper contrasts with others.
CONTRASTED = (1, 2)

Pair = tuple[int, int]


class Group(NamedTuple):
    """Reports that are labelled alike, and the pairs to score.

    name (str): Their labels.
    reports (int): How many reports they are.
    same (list[Pair]): Pairs of reports of the group, by number.
    contrast (list[Pair]): A report of the group and a contrasting one.
    """

    name: str
    reports: int
    same: list[Pair]
    contrast: list[Pair]


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    add_options(parser)
    parser.add_argument("--output", type=Path, default=Path("metrics/labels.json"))
    parser.add_argument(
        "--pairs", type=count, default=20, help="most pairs of a group, of each kind"
    )
    parser.add_argument(
        "--groups", type=count, default=70, help="most groups of each kind (0: all)"
    )
    args = parser.parse_args()
    try:
        data = read_all(args)
        nlp = spacy_mcse.load(args.pipeline)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    figures: dict[str, Any] = {}
    for name, reports in data.items():
        rows = [report.labels for report in reports]
        kinds = {
            kind: list(make(rows, args.pairs, args.groups, args.seed))
            for kind, make in KINDS.items()
        }
        scored = score_pairs(reports, kinds.values(), nlp)
        figures[name] = {
            "reports": len(reports),
            **{
                kind: {
                    **summary(groups, scored),
                    "identical": identical(groups, reports),
                }
                for kind, groups in kinds.items()
            },
        }
    record = {
        "data": figures,
        "line": LINE,
        "options": {name: getattr(args, name) for name in ("groups", "limit", "pairs")},
        "paper": PAPER,
        "seed": args.seed,
        "signature": str(pipeline_signature(nlp)),
    }
    write_json(args.output, record)
    write_figure(args.figure, lambda: draw(record))
    for name, found in figures.items():
        for kind in KINDS:
            print(line(name, kind, found[kind]))


# Groups and pairs


def sequence_groups(
    rows: Sequence[Labels], most_pairs: int, most_groups: int, seed: int
) -> list[Group]:
    """Groups of equal label sequences, as in the paper.

    rows (Sequence[Labels]): The labels of each report.
    most_pairs (int): Most pairs of a kind in a group.
    most_groups (int): Most groups with pairs of a kind, 0 for all.
    seed (int): Seed of the pairs.
    RETURNS (list[Group]): Those with pairs, the largest first.
    """
    members: dict[tuple[tuple[str, int], ...], list[int]] = defaultdict(list)
    for at, labels in enumerate(rows):
        members[tuple((n, v) for n, v in sorted(labels.items()) if v is not None)] += [
            at
        ]
    members.pop((), None)
    shared = {
        key: found
        for key, found in members.items()
        if is_contrasted([v for _, v in key])
    }
    # What another report may not have: labels that are, or may be, present there, too.
    stated = [
        frozenset(name for name, value in labels.items() if value in (1, -1))
        for labels in rows
    ]
    same = largest({k: v for k, v in members.items() if len(v) > 1}, most_groups)
    contrast = largest(shared, most_groups)
    others = [at for at, labels in enumerate(rows) if positives(labels)]
    groups = []
    for key in largest({**same, **contrast}, 0):
        name = ", ".join(f"{label} {value}" for label, value in key)
        rng = random.Random(f"{seed} {name}")
        names = frozenset(label for label, _ in key)
        groups.append(
            Group(
                name,
                len(members[key]),
                draw_same(same.get(key, []), most_pairs, rng),
                draw_contrast(
                    contrast.get(key, []),
                    [at for at in others if not names & stated[at]],
                    most_pairs,
                    rng,
                ),
            )
        )
    return [group for group in groups if group.same or group.contrast]


def is_contrasted(values: Sequence[int]) -> bool:
    """Whether a sequence is one that the paper contrasts: one or two labels, all 1."""
    return len(values) in CONTRASTED and set(values) == {1}


def finding_groups(
    rows: Sequence[Labels], most_pairs: int, most_groups: int, seed: int
) -> list[Group]:
    """Groups of reports with the same findings; arguments as of `sequence_groups`."""
    members: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, labels in enumerate(rows):
        members[tuple(sorted(findings(labels)))].append(at)
    members.pop((), None)
    groups = []
    for key in largest({k: v for k, v in members.items() if len(v) > 1}, most_groups):
        name = ", ".join(key)
        rng = random.Random(f"{seed} {name}")
        others = sorted(
            at
            for found, numbers in members.items()
            if not set(found) & set(key)
            for at in numbers
        )
        groups.append(
            Group(
                name,
                len(members[key]),
                draw_same(members[key], most_pairs, rng),
                draw_contrast(members[key], others, most_pairs, rng),
            )
        )
    return groups


KINDS: dict[str, Callable[[Sequence[Labels], int, int, int], list[Group]]] = {
    "sequences": sequence_groups,
    "findings": finding_groups,
}


def largest(members: dict[Any, list[int]], most: int) -> dict[Any, list[int]]:
    """The groups with most reports, in that order; equal ones by their labels."""
    ordered = sorted(members, key=lambda key: (-len(members[key]), key))
    return {key: members[key] for key in ordered[: most or None]}


def draw_same(members: Sequence[int], most: int, rng: random.Random) -> list[Pair]:
    """Different pairs of different reports, at random; all where they are few."""
    total = math.comb(len(members), 2)
    if total <= most:
        return list(combinations(members, 2))
    # Numbered, since a large group has too many pairs to list.
    return [
        (members[first], members[second])
        for first, second in map(pair_at, rng.sample(range(total), most))
    ]


def pair_at(number: int) -> Pair:
    """The pair of a number: 0 is (0, 1), 1 is (0, 2), 2 is (1, 2), 3 is (0, 3)."""
    second = (1 + math.isqrt(1 + 8 * number)) // 2
    return number - math.comb(second, 2), second


def draw_contrast(
    members: Sequence[int], others: Sequence[int], most: int, rng: random.Random
) -> list[Pair]:
    """Members in turn, each with another of the contrasting reports."""
    if not members:
        return []
    ones = rng.sample(members, len(members))
    drawn = rng.sample(others, min(most, len(others)))
    return [(ones[at % len(ones)], other) for at, other in enumerate(drawn)]


# Scores


def score_pairs(
    reports: Sequence[Labelled], kinds: Any, nlp: Any
) -> dict[Pair, dict[str, float]]:
    """The scores of all pairs of groups; each text is read once."""
    pairs = dict.fromkeys(
        pair
        for groups in kinds
        for group in groups
        for pair in (*group.same, *group.contrast)
    )
    scores = spacy_mcse.score_corpus(
        [reports[one].text for one, _ in pairs],
        [reports[other].text for _, other in pairs],
        nlp=nlp,
        n_resamples=1,
    ).scores
    return {
        pair: {name: getattr(score, name) for name in SCORES}
        for pair, score in zip(pairs, scores, strict=True)
    }


def identical(groups: Sequence[Group], reports: Sequence[Labelled]) -> int:
    """How many pairs of groups are of the same words."""
    return sum(
        reports[one].text.split() == reports[other].text.split()
        for group in groups
        for one, other in group.same
    )


def summary(
    groups: Sequence[Group], scored: dict[Pair, dict[str, float]]
) -> dict[str, Any]:
    """The figures of one way to group reports."""
    same = [len(group.same) for group in groups if group.same]
    contrast = [len(group.contrast) for group in groups if group.contrast]
    rows = []
    for group in groups:
        row: dict[str, Any] = {"labels": group.name, "reports": group.reports}
        for name in SCORES:
            row[name] = {
                "same": mean([scored[pair][name] for pair in group.same]),
                "contrast": mean([scored[pair][name] for pair in group.contrast]),
            }
        rows.append({**row, "pairs": [len(group.same), len(group.contrast)]})
    return {
        "same_groups": len(same),
        "same_pairs": sum(same),
        "contrast_groups": len(contrast),
        "contrast_pairs": sum(contrast),
        "groups": rows,
        **{
            name: separation(
                [[scored[pair][name] for pair in group.same] for group in groups],
                [[scored[pair][name] for pair in group.contrast] for group in groups],
            )
            for name in SCORES
        },
    }


def separation(
    same: Sequence[Sequence[float]], contrast: Sequence[Sequence[float]]
) -> dict[str, Any]:
    """How far scores of pairs that agree are above those of pairs that contrast.

    same (Sequence): The scores of the pairs that agree, of each group.
    contrast (Sequence): The scores of its contrasting pairs; both may be empty.
    RETURNS (dict): Areas under the curve over pairs and over means of groups, means of
        the groups' means, counts at the line, and the share of the groups with both
        kinds whose mean is higher for pairs that agree. None where there is nothing.
    """
    blue, orange = ([mean(scores) for scores in side] for side in (same, contrast))
    both = [(b, o) for b, o in zip(blue, orange, strict=True) if None not in (b, o)]
    blues, oranges = known(blue), known(orange)
    return {
        "pair_auc": auc(flat(same), flat(contrast)),
        "group_auc": auc(blues, oranges),
        "same_mean": mean(blues),
        "contrast_mean": mean(oranges),
        "same_below_line": sum(value < LINE for value in blues),
        "contrast_above_line": sum(value > LINE for value in oranges),
        "groups_with_both": len(both),
        "in_order": mean([float(b > o) for b, o in both]),  # type: ignore[operator]
        "errors_at_best_line": errors_at_best_line(blues, oranges),
    }


def errors_at_best_line(same: Sequence[float], contrast: Sequence[float]) -> int:
    """Means on the wrong side of the line that has fewest of them."""
    return min(
        sum(value < cut for value in same) + sum(value >= cut for value in contrast)
        for cut in (*same, *contrast, math.inf)
    )


def mean(values: Sequence[float]) -> Optional[float]:
    return float(np.mean(values)) if len(values) else None


def known(values: Sequence[Optional[float]]) -> list[float]:
    return [value for value in values if value is not None]


def flat(nested: Sequence[Sequence[float]]) -> list[float]:
    return [value for values in nested for value in values]


# Output


def draw(record: dict[str, Any]) -> Optional[bytes]:
    from spacy_mcse.figures import Dots, label_check_png

    panels = []
    for name, found in record["data"].items():
        for kind in KINDS:
            groups = found[kind]["groups"]
            if not groups:
                continue
            means = {
                score: [(g[score]["same"], g[score]["contrast"]) for g in groups]
                for score in SCORES
            }
            n = f"{found[kind]['same_groups']} and {found[kind]['contrast_groups']}"
            panels.append(Dots(f"{name}, same {kind} ({n} groups)", means))
    return label_check_png(panels, record["line"]) if panels else None


def line(name: str, kind: str, found: dict[str, Any]) -> str:
    parts = [
        f"{name}, {kind}: {plural(found['same_groups'], 'group')} with "
        f"{plural(found['same_pairs'], 'pair')} that agree, {found['contrast_groups']} "
        f"with {found['contrast_pairs']:,} that contrast"
    ]
    for score in SCORES:
        figures = {
            key: "none" if value is None else f"{value:.3f}"
            for key, value in found[score].items()
        }
        parts.append(
            f"{score}: AUC {figures['pair_auc']} (groups {figures['group_auc']}), "
            f"in order {figures['in_order']}, {found[score]['same_below_line']} below "
            f"and {found[score]['contrast_above_line']} above {LINE:.2f}"
        )
    return "; ".join(parts)


if __name__ == "__main__":
    main()
