"""The calibrated score: precision, recall and F1 of the findings of two reports.

Findings are aligned one to one by credit, see `claims.py` and `credit.py`. A denied
finding of the other report earns no credit and costs a place on both sides, see
`contradictions.py`. The published metric stands beside it, see `mcse.py`.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, Union

import numpy as np
from numpy.typing import NDArray

from .align import Pairs, align
from .claims import Claim, Claims, in_halves, report_claims
from .contradictions import denied_beside, take_denied
from .credit import attribute_factor, attribute_factors, similarities
from .data import ABSENT, Entity, ReportFacts
from .errors import Errors
from .mcse import mcse_score
from .results import (
    CONTRADICTED,
    INVENTED,
    MATCH,
    MISSED,
    NO_CONTENT_FLAG,
    NORMAL_FLAG,
    PARTIAL,
    MCSEScore,
    Pair,
)
from .settings import ScoreSettings, stored_settings
from .signature import facts_signature

# Credits smaller than this part of the highest one are left to `align`.
_NEGLIGIBLE = 1e-9
# Pairs of findings from which on they are compared all at once.
_MANY = 400


class _Row(NamedTuple):
    """One pair before the sides are known as reference and candidate."""

    claims: tuple[Optional[Claim], Optional[Claim]]
    weights: tuple[float, float]
    similarity: float = 0.0
    credit: float = 0.0
    contradicted: bool = False


def score_facts(
    reference: ReportFacts,
    candidate: ReportFacts,
    settings: Optional[ScoreSettings] = None,
) -> MCSEScore:
    """Score one pair of reports.

    reference (ReportFacts): The report that is right.
    candidate (ReportFacts): The report to judge.
    settings (Optional[ScoreSettings]): Parameters of the calibrated score. If None,
        those stored with the vectors.
    RETURNS (MCSEScore): The scores with their explanation; never NaN.
    RAISES (ValueError): E404 where the reports come from different pipelines.
    """
    _check_comparable(reference, candidate, own_settings=settings is None)
    if settings is None:
        settings = stored_settings(reference.embedding)
    first = report_claims(reference, settings)
    second = report_claims(candidate, settings)
    without_content = tuple(
        name
        for name, facts in (("reference", reference), ("candidate", candidate))
        if not (facts.entities or facts.normal or (facts.devices and settings.devices))
    )
    flags: tuple[str, ...] = ()
    # Always computed in one order of the two sides, so that swapped reports have the
    # same sums to the last digit.
    if second.key < first.key:
        rows = [
            row._replace(claims=row.claims[::-1], weights=row.weights[::-1])
            for row in _compare(second, first, settings)
        ]
    else:
        rows = _compare(first, second, settings)
    if not (first.has_findings or second.has_findings):
        if without_content:
            flags = (NO_CONTENT_FLAG,)
        elif first.normal_claim is not None and second.normal_claim is not None:
            # That neither has a finding is what they agree on.
            flags = (NORMAL_FLAG,)
            whole = first.normal_claim, second.normal_claim
            rows.append(_Row(whole, (1.0, 1.0), similarity=1.0, credit=1.0))
    recall, precision = _mean_credit(rows, 0), _mean_credit(rows, 1)
    total = precision + recall
    return MCSEScore(
        mcse=_published(reference, candidate),
        precision=precision,
        recall=recall,
        f1=min(1.0, 2 * precision * recall / total) if total else 0.0,
        pairs=_pairs(rows),
        flags=flags,
        signature=facts_signature(reference, settings),
        n_reference=len(first.findings),
        n_candidate=len(second.findings),
        without_content=without_content,
    )


def _check_comparable(
    reference: ReportFacts, candidate: ReportFacts, own_settings: bool
) -> None:
    first, second = reference.embedding, candidate.embedding
    checks: list[tuple[str, Any, Any]] = [
        (
            "the encoder",
            f"{first.encoder}@{first.fingerprint}",
            f"{second.encoder}@{second.fingerprint}",
        ),
        ("the calibration", tuple(first.calibration), tuple(second.calibration)),
        ("the hash of the refiner", reference.refiner, candidate.refiner),
    ]
    if own_settings:
        checks.append(("the scoring", first.scoring, second.scoring))
    if len(first.concepts) and len(second.concepts):
        widths = first.concepts.shape[1], second.concepts.shape[1]
        checks.append(("the length of the vectors", *widths))
    for what, one, other in checks:
        if one != other:
            raise ValueError(
                Errors.E404.format(what=what, reference=one, candidate=other)
            )


def _published(reference: ReportFacts, candidate: ReportFacts) -> float:
    return mcse_score(
        [entity.mcse_text for entity in reference.entities],
        [entity.mcse_text for entity in candidate.entities],
        [entity.negated for entity in reference.entities],
        [entity.negated for entity in candidate.entities],
        reference.embedding.texts,
        candidate.embedding.texts,
    )


# Rows


def _compare(first: Claims, second: Claims, settings: ScoreSettings) -> list[_Row]:
    ones, denied = take_denied(in_halves(first, second), second)
    rows = [
        _Row((claim, denial), (claim.weight, share), 1.0, contradicted=True)
        for claim, denial, share in denied
    ]
    others, denied = take_denied(in_halves(second, first), first)
    rows += [
        _Row((denial, claim), (share, claim.weight), 1.0, contradicted=True)
        for claim, denial, share in denied
    ]
    rows += [
        _Row((claim, denial), (0.0, claim.weight), 1.0, contradicted=True)
        for claim, denial in denied_beside(first, second)
    ]
    rows += [
        _Row((denial, claim), (claim.weight, 0.0), 1.0, contradicted=True)
        for claim, denial in denied_beside(second, first)
    ]
    similarity = similarities(ones, others, first.embedding, second.embedding, settings)
    credit, aligned = _aligned(ones, others, similarity, settings)
    rows += [
        _Row(
            (ones[i], others[j]),
            (ones[i].weight, others[j].weight),
            float(similarity[i, j]),
            float(credit[i, j]),
        )
        for i, j in aligned
    ]
    taken = {i for i, _ in aligned}
    rows += [
        _Row((one, None), (one.weight, 0.0))
        for i, one in enumerate(ones)
        if i not in taken
    ]
    taken = {j for _, j in aligned}
    rows += [
        _Row((None, other), (0.0, other.weight))
        for j, other in enumerate(others)
        if j not in taken
    ]
    return rows


def _aligned(
    ones: Sequence[Claim],
    others: Sequence[Claim],
    similarity: NDArray[np.float64],
    settings: ScoreSettings,
) -> tuple[Union[dict[tuple[int, int], float], NDArray[np.float64]], Pairs]:
    """The credit of each pair that has any, and who is paired with whom."""
    rows, columns = similarity.nonzero()
    if len(rows) > _MANY:
        factors = attribute_factors(ones, others, settings)
        matrix = similarity * factors
        weights = np.array([claim.weight for claim in ones])[:, None]
        weights = weights + np.array([claim.weight for claim in others])
        return matrix, align(matrix * weights)
    # Plain numbers: reports have few findings, and numpy costs more than it saves.
    credit = {
        (i, j): float(similarity[i, j]) * attribute_factor(ones[i], others[j], settings)
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
    }
    weighted = {
        (i, j): value * (ones[i].weight + others[j].weight)
        for (i, j), value in credit.items()
    }
    return credit, _align(weighted, (len(ones), len(others)))


def _align(credit: dict[tuple[int, int], float], shape: tuple[int, int]) -> Pairs:
    """What `align` gives; at once where no finding has two possible partners.

    credit (dict): Credit of each (row, column) that has any, row by row.
    shape (tuple): Number of rows and of columns.
    RETURNS (list[tuple[int, int]]): Assigned (row, column), sorted by row.
    """
    if not credit:
        return []
    lowest = _NEGLIGIBLE * max(credit.values())
    if (
        len({i for i, _ in credit}) == len({j for _, j in credit}) == len(credit)
        # False for NaN too: that is for `align` to turn away.
        and all(value > lowest for value in credit.values())
    ):
        return list(credit)
    matrix = np.zeros(shape)
    for cell, value in credit.items():
        matrix[cell] = value
    return align(matrix)


def _mean_credit(rows: Sequence[_Row], side: int) -> float:
    weight = math.fsum(row.weights[side] for row in rows)
    if not weight:
        return 0.0
    return min(1.0, math.fsum(row.weights[side] * row.credit for row in rows) / weight)


# Explanation


def _pairs(rows: Sequence[_Row]) -> tuple[Pair, ...]:
    totals = [math.fsum(row.weights[side] for row in rows) or 1.0 for side in (0, 1)]
    pairs = [
        Pair(
            reference=_plain(row.claims[0]),
            candidate=_plain(row.claims[1]),
            similarity=row.similarity,
            credit=row.credit,
            outcome=_outcome(row),
            weight_reference=row.weights[0],
            weight_candidate=row.weights[1],
            share_recall=row.weights[0] * row.credit / totals[0],
            share_precision=row.weights[1] * row.credit / totals[1],
        )
        for row in rows
    ]
    return tuple(sorted(pairs, key=_position))


def _outcome(row: _Row) -> str:
    if row.contradicted:
        return CONTRADICTED
    if row.claims[1] is None:
        return MISSED
    if row.claims[0] is None:
        return INVENTED
    return MATCH if row.credit >= 1.0 else PARTIAL


def _plain(claim: Optional[Claim]) -> Optional[dict[str, Any]]:
    if claim is None:
        return None
    source = claim.source
    return {
        "text": source.text,
        "start_char": source.start_char,
        "end_char": source.end_char,
        "mcse_text": source.mcse_text,
        "concept": source.concept,
        # What is normal denies its findings.
        "assertion": source.assertion if isinstance(source, Entity) else ABSENT,
        # What was compared, and so why a credit is only partial.
        "attributes": {
            kind: sorted(values) for kind, values in claim.values.items() if values
        },
    }


def _position(pair: Pair) -> tuple[int, int, int]:
    """Reference order first, then what only the candidate has."""
    first, second = pair.reference, pair.candidate
    return (
        int(first is None),
        -1 if first is None else int(first["start_char"]),
        -1 if second is None else int(second["start_char"]),
    )
