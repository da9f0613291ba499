"""BLEU of sacrebleu (extra `eval`), of a corpus and of single reports, 0 to 1."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Bleu(NamedTuple):
    """What BLEU counts in pairs: matching and all n-grams (n, 4), lengths (n, 2)."""

    correct: NDArray[np.int64]
    total: NDArray[np.int64]
    lengths: NDArray[np.int64]


def count_bleu(references: Sequence[str], candidates: Sequence[str]) -> Optional[Bleu]:
    """What BLEU counts in each pair; None where sacrebleu is not installed."""
    try:
        from sacrebleu.metrics import BLEU as SacreBleu
    except ImportError:
        return None
    metric = SacreBleu(lowercase=True, effective_order=True)
    found = [
        metric.sentence_score(candidate, [reference])
        for reference, candidate in zip(references, candidates, strict=True)
    ]
    return Bleu(
        np.array([one.counts for one in found]),
        np.array([one.totals for one in found]),
        np.array([(one.sys_len, one.ref_len) for one in found]),
    )


def corpus_bleu(counts: Bleu, weights: Array, grams: int) -> Array:
    """BLEU of the corpus in each resample."""
    sums = (weights.astype(np.int64) @ part for part in counts)
    return np.array(bleu(Bleu(*sums), grams, effective_order=False))


def bleu(counts: Bleu, grams: int, effective_order: bool = True) -> list[float]:
    """BLEU of each row; by default short texts with the n-grams that they have."""
    from sacrebleu.metrics import BLEU as SacreBleu

    parts = (part.tolist() for part in counts)
    return [
        SacreBleu.compute_bleu(
            correct[:grams],
            total[:grams],
            sys_len,
            ref_len,
            smooth_method="exp",
            effective_order=effective_order,
            max_ngram_order=grams,
        ).score
        / 100
        for correct, total, (sys_len, ref_len) in zip(*parts, strict=True)
    ]


def bleu_version() -> Optional[str]:
    try:
        from sacrebleu import __version__
    except ImportError:
        return None
    return f"sacrebleu {__version__}, lower-cased, 13a"
