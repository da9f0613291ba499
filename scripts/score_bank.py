"""Scores of many settings for the same pairs, and their agreement with ratings."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from planted_errors import Planted, noticed
from settings_space import Choice, Point, settings_of

from spacy_mcse.data import ReportFacts
from spacy_mcse.score import score_facts
from spacy_mcse.settings import ScoreSettings

SETS = ("raw", "given")
FIGURES = ("tau", "r", "pair accuracy")
Numbers = NDArray[np.float64]
# Settings may differ in this part of the planted errors (of the worst kind).
PLANTED_TOLERANCE = 0.005


class Data(NamedTuple):
    """All pairs that are scored: raw, given, then planted.

    pairs (list): Reference and candidate.
    ratings (NDArray): Of each pair of a set; two candidates for each case.
    planted (list): What was planted in the candidate of each of the last pairs.
    """

    pairs: list[tuple[ReportFacts, ReportFacts]]
    ratings: Numbers
    planted: list[Planted]


_pairs: list[tuple[ReportFacts, ReportFacts]] = []


def _keep(pairs: list[tuple[ReportFacts, ReportFacts]]) -> None:
    _pairs[:] = pairs


def _scores(task: tuple[ScoreSettings, int, Optional[int]]) -> Numbers:
    settings, start, end = task
    # Sums in another order differ in the last digits, which must not break ties.
    found = [score_facts(one, other, settings).f1 for one, other in _pairs[start:end]]
    return np.round(np.array(found, "float64"), 9)


class Bank:
    """The scores of all settings that were tried; none is computed twice."""

    def __init__(self, data: Data, processes: int) -> None:
        self.data = data
        self.cases = len(data.ratings) // 2
        self.scores: dict[ScoreSettings, Numbers] = {}
        self.noticed: dict[ScoreSettings, dict[str, float]] = {}
        self.needed: dict[str, float] = {}
        self._rated = 2 * len(data.ratings)
        self._executor = None
        _keep(data.pairs)
        if processes > 1:
            self._executor = ProcessPoolExecutor(
                processes, get_context("spawn"), _keep, (data.pairs,)
            )

    def __enter__(self) -> "Bank":
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor:
            self._executor.shutdown()

    def fill(self, wanted: Iterable[Choice]) -> None:
        """Score the rated pairs with settings that were not tried yet."""
        for settings, found in self._run(wanted, self.scores, 0, self._rated):
            self.scores[settings] = found
            if len(self.scores) % 100 == 0:
                print(f"{len(self.scores)} settings", file=sys.stderr, flush=True)

    def plant(self, wanted: Iterable[Choice]) -> None:
        """Score the planted errors with settings that were not tried yet."""
        for settings, found in self._run(wanted, self.noticed, self._rated, None):
            self.noticed[settings] = noticed(self.data.planted, found)

    def _run(
        self,
        wanted: Iterable[Choice],
        known: Mapping[ScoreSettings, Any],
        start: int,
        end: Optional[int],
    ) -> Iterator[tuple[ScoreSettings, Numbers]]:
        settings = dict.fromkeys(settings_of(point) for point in wanted)
        new = [one for one in settings if one not in known]
        run: Callable[..., Iterable[Numbers]] = map
        if self._executor:
            run = self._executor.map
        tasks = [(one, start, end) for one in new]
        return zip(new, run(_scores, tasks), strict=True)

    def require_best(self, points: Sequence[Choice]) -> None:
        """From now on settings must notice of each kind what the best of these do."""
        self.plant(points)
        for point in points:
            for kind, part in self.noticed[settings_of(point)].items():
                self.needed[kind] = max(self.needed.get(kind, 0.0), part)

    def allowed(self, point: Choice) -> bool:
        """Whether a point notices enough of the planted errors."""
        self.plant([point])
        found = self.noticed[settings_of(point)]
        return all(
            found[kind] >= needed - PLANTED_TOLERANCE
            for kind, needed in self.needed.items()
        )

    def first_allowed(self, ranked: Sequence[Iterator[Point]]) -> list[Point]:
        """Of each ranking the first point that notices enough.

        RAISES (StopIteration): Where none does.
        """
        found = [next(points) for points in ranked]
        while True:
            # All at once, so that the processes share them.
            self.plant(found)
            wrong = [at for at, point in enumerate(found) if not self.allowed(point)]
            if not wrong:
                return found
            for at in wrong:
                found[at] = next(ranked[at])

    def held(self, point: Choice, cases: NDArray[np.intp]) -> Numbers:
        """The scores of the candidates of some cases: SETS x pairs."""
        scores = self.scores[settings_of(point)].reshape(len(SETS), -1, 2)
        return scores[:, cases].reshape(len(SETS), -1)

    def rated(self, cases: NDArray[np.intp]) -> Numbers:
        """The ratings of the candidates of some cases."""
        return self.data.ratings.reshape(-1, 2)[cases].ravel()

    def figures(self, points: Sequence[Choice], cases: NDArray[np.intp]) -> Numbers:
        """Agreement on some cases: points x SETS x FIGURES."""
        scores = np.stack([self.held(point, cases) for point in points], axis=1)
        ratings = self.rated(cases)
        return np.stack([agreement(some, ratings) for some in scores], axis=1)

    def values(self, points: Sequence[Choice], cases: NDArray[np.intp]) -> Numbers:
        """What is to be made large: the mean of all figures."""
        return np.nanmean(self.figures(points, cases), axis=(1, 2))


def agreement(scores: Numbers, ratings: Numbers) -> Numbers:
    """Kendall's tau-b, Pearson's r and pair accuracy of each row of scores.

    scores (NDArray): Settings x pairs; the two candidates of a case side by side.
    ratings (NDArray): Of each pair.
    RETURNS (NDArray): Settings x FIGURES; NaN where no two candidates of a case
        differ in rating, 0 for a correlation with a constant.
    """
    one, other = np.triu_indices(len(ratings), 1)
    rated = np.sign(ratings[one] - ratings[other])
    signs = np.sign(scores[:, one] - scores[:, other])
    total = np.sqrt(abs(signs).sum(axis=1) * abs(rated).sum())
    tau = _divided(signs @ rated, total)
    centred = scores - scores.mean(axis=1, keepdims=True)
    own = ratings - ratings.mean()
    total = np.sqrt((centred**2).sum(axis=1) * (own**2).sum())
    r = _divided(centred @ own, total)
    better = np.sign(ratings[::2] - ratings[1::2])
    found = np.sign(scores[:, ::2] - scores[:, 1::2])[:, better != 0]
    accuracy = np.full(len(scores), np.nan)
    if found.shape[1]:
        accuracy = (found == better[better != 0]).mean(axis=1)
    return np.stack([tau, r, accuracy], axis=1)


def _divided(values: Numbers, by: Numbers) -> Numbers:
    return np.divide(values, by, out=np.zeros_like(values), where=by > 1e-12)
