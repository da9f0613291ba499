"""The credit of two findings: similarity of their concepts, factors of attributes."""

import math
from collections.abc import Sequence

from .claims import HIGHEST_LEVEL, SET_KINDS, Claim
from .data import Embedding
from .settings import ScoreSettings


def similarities(
    ones: Sequence[Claim],
    others: Sequence[Claim],
    first: Embedding,
    second: Embedding,
    settings: ScoreSettings,
) -> list[list[float]]:
    """Calibrated similarity of concepts: 0 for unrelated ones, 1 for synonyms.

    ones (Sequence[Claim]): Findings of one report.
    others (Sequence[Claim]): Findings of the other report.
    first (Embedding): Vectors of the one report.
    second (Embedding): Vectors of the other report.
    settings (ScoreSettings): Says which similarity counts as 0.
    RETURNS (list[list[float]]): One list for each of `ones`.
    """
    if not ones or not others:
        return [[] for _ in ones]
    if len(first.concepts) and len(second.concepts):
        # Devices have no vectors (-1): what they get here is not looked at.
        rows = first.concepts[[claim.vector for claim in ones]].astype("float64")
        columns = second.concepts[[claim.vector for claim in others]].astype("float64")
        cosines: list[list[float]] = (rows @ columns.T).tolist()
    else:
        cosines = [[0.0] * len(others) for _ in ones]
    floor, ceiling = first.calibration
    span = max(ceiling - floor, 1e-6)
    lowest = settings.min_similarity
    names = [claim.concept for claim in others]
    is_known = [claim.source.known for claim in others]
    # Plain numbers: reports have few findings, and numpy costs more than it saves.
    families = [claim.families for claim in others]
    has_vector = [claim.vector >= 0 for claim in others]
    for claim, line in zip(ones, cosines, strict=True):
        for j, cosine in enumerate(line):
            if claim.concept == names[j]:
                line[j] = 1.0
                continue
            if claim.families and not claim.families.isdisjoint(families[j]):
                line[j] = settings.family
                continue
            if claim.vector < 0 or not has_vector[j]:
                line[j] = 0.0
                continue
            usable = cosine if math.isfinite(cosine) else 0.0
            similarity = min(max((usable - floor) / span, 0.0), 1.0)
            if similarity < lowest:
                similarity = 0.0
            elif is_known[j] and claim.source.known:
                similarity *= settings.related
            line[j] = similarity
    return cosines


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
        factor *= _set_factor(kind, a.beside(kind, b), b.beside(kind, a), settings)
    return factor * _level_factor(a, b, settings) * _size_factor(a, b, settings)


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
