"""The published metric: equations 1 and 2 of Gholipour Picha et al. 2024.

What the paper leaves open follows the authors' code. The known faults of the metric
(omission is free once the rest matches exactly, one entity against one is 0.5, less
than that only where all cosines are 0 or less) are kept: see `score.py` for the
calibrated score.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import Errors

NEGATION_WEIGHT = 0.5


def mcse_ratio(y: ArrayLike) -> NDArray[np.float64]:
    """The ratio S of each candidate entity (equation 1).

    y (ArrayLike): Similarities, reference entities in rows, candidates in columns.
    RETURNS (NDArray): max / (max + mean) of each column; 0 where the sum is 0 or
        there are no rows.
    """
    table = np.asarray(y, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(
            Errors.E410.format(
                what="similarity table",
                got=table.shape,
                allowed="(reference entities, candidate entities)",
            )
        )
    if table.size == 0:
        return np.zeros(table.shape[1])
    highest = table.max(axis=0)
    total = highest + table.mean(axis=0)
    ratio = np.zeros(table.shape[1])
    np.divide(highest, total, out=ratio, where=total != 0)
    return ratio


def mcse_score(
    ref_texts: Sequence[str],
    cand_texts: Sequence[str],
    ref_negated: Sequence[bool],
    cand_negated: Sequence[bool],
    ref_vectors: ArrayLike,
    cand_vectors: ArrayLike,
) -> float:
    """The published score of two lists of entities.

    Entities are the distinct texts of each side. Texts that both sides have are set
    aside and count 1 each; each other candidate counts its ratio S.

    ref_texts (Sequence[str]): The `mcse_text` of the reference entities, in order.
    cand_texts (Sequence[str]): The `mcse_text` of the candidate entities, in order.
    ref_negated (Sequence[bool]): Whether each reference entity is negated.
    cand_negated (Sequence[bool]): Whether each candidate entity is negated.
    ref_vectors (ArrayLike): One row for each reference entity.
    cand_vectors (ArrayLike): One row for each candidate entity.
    RETURNS (float): The score in [0, 1]; 0 where either side has no entity.
    """
    _check("reference", ref_texts, ref_negated, ref_vectors)
    _check("candidate", cand_texts, cand_negated, cand_vectors)
    if not len(ref_texts) or not len(cand_texts):
        return 0.0
    # A dict of the reversed list keeps the first position of each text.
    ref_first = {text: i for i, text in reversed(list(enumerate(ref_texts)))}
    cand_first = {text: i for i, text in reversed(list(enumerate(cand_texts)))}
    ref_rest = sorted(i for text, i in ref_first.items() if text not in cand_first)
    cand_rest = sorted(i for text, i in cand_first.items() if text not in ref_first)
    equal = len(cand_first) - len(cand_rest)
    if not cand_rest:
        return 1.0
    ratios = np.zeros(len(cand_rest))
    if ref_rest:
        y = np.maximum(
            0.0, _cosine(_rows(ref_vectors, ref_rest), _rows(cand_vectors, cand_rest))
        )
        differ = np.not_equal.outer(
            np.asarray(ref_negated, dtype=bool)[ref_rest],
            np.asarray(cand_negated, dtype=bool)[cand_rest],
        )
        ratios = mcse_ratio(np.where(differ, NEGATION_WEIGHT * y, y))
    # max / (max + mean) stays within [0, 1], but a sum may exceed it in the last digit.
    return min(1.0, float(equal + ratios.sum()) / (equal + len(cand_rest)))


def _check(
    side: str, texts: Sequence[str], negated: Sequence[bool], vectors: ArrayLike
) -> None:
    shape = np.shape(vectors)
    if len(negated) != len(texts):
        raise ValueError(
            Errors.E410.format(
                what=f"negation of the {side}",
                got=(len(negated),),
                allowed=f"({len(texts)},)",
            )
        )
    if len(texts) and (len(shape) != 2 or shape[0] != len(texts)):
        raise ValueError(
            Errors.E410.format(
                what=f"vectors of the {side}",
                got=shape,
                allowed=f"({len(texts)}, dimensions)",
            )
        )


def _rows(vectors: ArrayLike, index: Sequence[int]) -> NDArray[np.float64]:
    return np.asarray(vectors)[index].astype(np.float64)


def _cosine(
    rows: NDArray[np.float64], columns: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Cosine of each row with each column; 0 where a vector is zero."""
    norms = np.outer(np.linalg.norm(rows, axis=1), np.linalg.norm(columns, axis=1))
    cosine = np.zeros(norms.shape)
    np.divide(rows @ columns.T, norms, out=cosine, where=norms != 0)
    return np.clip(cosine, -1.0, 1.0)
