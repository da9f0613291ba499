"""The credit of two findings: similarity of their concepts, factors of attributes."""

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from .claims import HIGHEST_LEVEL, SET_KINDS, Claim
from .data import Embedding
from .settings import ScoreSettings


def similarities(
    ones: Sequence[Claim],
    others: Sequence[Claim],
    first: Embedding,
    second: Embedding,
    settings: ScoreSettings,
) -> NDArray[np.float64]:
    """Calibrated similarity of concepts: 0 for unrelated ones, 1 for synonyms.

    ones (Sequence[Claim]): Findings of one report.
    others (Sequence[Claim]): Findings of the other report.
    first (Embedding): Vectors of the one report.
    second (Embedding): Vectors of the other report.
    settings (ScoreSettings): Says which similarity counts as 0.
    RETURNS (NDArray): One row for each of `ones`.
    """
    if not ones or not others:
        return np.zeros((len(ones), len(others)))
    by_vectors = _by_vectors(ones, others, first, second, settings)
    for kind, alike in (("families", settings.family), ("concept", 1.0)):
        columns = _places(others, kind)
        for name, rows in _places(ones, kind).items():
            if name not in columns:
                continue
            if len(rows) == 1:
                by_vectors[rows[0], columns[name]] = alike
            else:
                by_vectors[np.ix_(rows, columns[name])] = alike
    return by_vectors


def _places(claims: Sequence[Claim], kind: str) -> dict[str, list[int]]:
    """Where the claims of each concept, or of each family, stand."""
    places: dict[str, list[int]] = {}
    for at, claim in enumerate(claims):
        for name in claim.families if kind == "families" else (claim.concept,):
            places.setdefault(name, []).append(at)
    return places


def _by_vectors(
    ones: Sequence[Claim],
    others: Sequence[Claim],
    first: Embedding,
    second: Embedding,
    settings: ScoreSettings,
) -> NDArray[np.float64]:
    """What the vectors of the concepts say, one row for each of `ones`."""
    rows = [claim.vector for claim in ones]
    columns = [claim.vector for claim in others]
    if not (len(first.concepts) and len(second.concepts)):
        return np.zeros((len(rows), len(columns)))
    one = first.concepts[rows].astype(np.float64)
    other = second.concepts[columns].astype(np.float64)
    floor, ceiling = first.calibration
    similarity = (one @ other.T - floor) / max(ceiling - floor, 1e-6)
    # False for NaN too, which stays behind as 0.
    counts = similarity >= settings.min_similarity
    counts &= similarity > 0.0
    if min(rows) < 0 or min(columns) < 0:
        # Devices have no vectors: what they got is that of another finding.
        counts &= (np.array(rows) >= 0)[:, None] & (np.array(columns) >= 0)
    similarity = np.where(counts, np.minimum(similarity, 1.0), 0.0)
    known = np.array([claim.source.known for claim in ones])
    other_known = np.array([claim.source.known for claim in others])
    similarity[np.ix_(known, other_known)] *= settings.related
    return similarity


def attribute_factor(a: Claim, b: Claim, settings: ScoreSettings) -> float:
    """What is left of the credit after all differences of attributes; symmetric.

    a (Claim): A finding of one report.
    b (Claim): A finding of the other.
    settings (ScoreSettings): The factors.
    RETURNS (float): In [0, 1].
    """
    factor = 1.0 if a.certain == b.certain else settings.uncertain
    if a.values == b.values:
        return factor
    for kind in SET_KINDS:
        if a.values[kind] != b.values[kind]:
            one, other = a.beside(kind, b), b.beside(kind, a)
            factor *= _set_factor(kind, one, other, settings)
    return factor * _level_factor(a, b, settings) * _size_factor(a, b, settings)


def attribute_factors(
    ones: Sequence[Claim], others: Sequence[Claim], settings: ScoreSettings
) -> NDArray[np.float64]:
    """`attribute_factor` of all of one report with all of the other, to the digit.

    Findings have few different values of each kind: these are compared once.
    """
    factors = _table(
        ones,
        others,
        lambda claim: claim.certain,
        lambda a, b: 1.0 if a.certain == b.certain else settings.uncertain,
    )
    for kind in SET_KINDS:
        factors *= _set_factors(kind, ones, others, settings)
    factors *= _table(
        ones,
        others,
        lambda claim: (claim.level, claim.values["severity"]),
        lambda a, b: _level_factor(a, b, settings),
    )
    return factors * _size_factors(ones, others, settings)


def _set_factors(
    kind: str, ones: Sequence[Claim], others: Sequence[Claim], settings: ScoreSettings
) -> NDArray[np.float64]:
    return _table(
        ones,
        others,
        lambda claim: (claim.values[kind], claim.own.get(kind)),
        lambda a, b: _set_factor(kind, a.beside(kind, b), b.beside(kind, a), settings),
    )


def _table(
    ones: Sequence[Claim],
    others: Sequence[Claim],
    key: Callable[[Claim], Hashable],
    factor: Callable[[Claim, Claim], float],
) -> NDArray[np.float64]:
    """A factor for each pair that is the same for claims with the same key."""
    first = {key(claim): claim for claim in ones}
    second = {key(claim): claim for claim in others}
    table = np.array([[factor(a, b) for b in second.values()] for a in first.values()])
    row = {name: i for i, name in enumerate(first)}
    column = {name: j for j, name in enumerate(second)}
    rows = [row[key(claim)] for claim in ones]
    return table[np.ix_(rows, [column[key(claim)] for claim in others])]


def _size_factors(
    ones: Sequence[Claim], others: Sequence[Claim], settings: ScoreSettings
) -> NDArray[np.float64]:
    """`_size_factor` of all with all: sizes are hardly ever the same."""
    a = np.array([c.millimetres or 0.0 for c in ones])[:, None]
    b = np.array([c.millimetres or 0.0 for c in others])
    # A size of 0 is none, see `largest_measure`.
    larger = np.maximum(a, b)
    difference = np.minimum(
        1.0, 2 * np.abs(a - b) / np.where(larger > 0.0, larger, 1.0)
    )
    factors = 1.0 - (1.0 - settings.size_wrong) * difference
    factors = np.where((a > 0.0) != (b > 0.0), settings.size_missing, factors)
    return np.where(larger > 0.0, factors, 1.0)


def _set_factor(
    kind: str, a: frozenset[str], b: frozenset[str], settings: ScoreSettings
) -> float:
    if a == b:
        return 1.0
    if not a or not b:
        return float(getattr(settings, f"{kind}_missing"))
    wrong = float(getattr(settings, f"{kind}_wrong"))
    return wrong + (1.0 - wrong) * len(a & b) / len(a | b)


def _level_factor(a: Claim, b: Claim, settings: ScoreSettings) -> float:
    if a.level is not None and b.level is not None:
        steps = abs(a.level[1] - b.level[1]) / HIGHEST_LEVEL
        return 1.0 - (1.0 - settings.severity_wrong) * steps
    if a.level is not None or b.level is not None:
        return settings.severity_missing
    # Words for a severity that have no step on the scale.
    return _set_factor("severity", a.values["severity"], b.values["severity"], settings)


def _size_factor(a: Claim, b: Claim, settings: ScoreSettings) -> float:
    if a.millimetres is None and b.millimetres is None:
        return 1.0
    if a.millimetres is None or b.millimetres is None:
        return settings.size_missing
    larger = max(a.millimetres, b.millimetres)
    # Half or double is as wrong as a size can be.
    difference = min(1.0, 2 * abs(a.millimetres - b.millimetres) / larger)
    return 1.0 - (1.0 - settings.size_wrong) * difference
