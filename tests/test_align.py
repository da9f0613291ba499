import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_mcse.align import align

# No deadline: a busy machine is no failure.
examples = settings(max_examples=100, deadline=None)


def total(credit, pairs):
    return sum(credit[i, j] for i, j in pairs)


def random_credit(seed, shape, kind):
    rng = np.random.default_rng(seed)
    credit = rng.random(shape)
    if kind == "ties":
        credit = np.round(credit * 4) / 4
    if kind == "sparse":
        credit *= rng.random(shape) < 0.2
    if kind == "product":
        credit = np.outer(rng.random(shape[0]), rng.random(shape[1]))
    return credit


@pytest.mark.parametrize("kind", ["dense", "ties", "sparse", "product"])
def test_total_is_the_highest(kind):
    optimize = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(0)
    for seed in range(150):
        credit = random_credit(seed, tuple(rng.integers(1, 12, 2)), kind)
        rows, columns = optimize.linear_sum_assignment(credit, maximize=True)
        best = credit[rows, columns].sum()
        assert total(credit, align(credit)) == pytest.approx(best, abs=1e-9)


@examples
@given(st.integers(0, 2**32 - 1), st.integers(0, 8), st.integers(0, 8), st.booleans())
def test_pairs_are_one_to_one_and_sorted(seed, n, m, ties):
    credit = random_credit(seed, (n, m), "ties" if ties else "sparse")
    before = credit.copy()
    pairs = align(credit)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert pairs == sorted(pairs) == align(credit)
    assert all(credit[i, j] > 0 for i, j in pairs)
    assert np.array_equal(credit, before)
    assert total(credit, pairs) == pytest.approx(total(credit.T, align(credit.T)))


def test_the_greedy_choice_is_not_the_best():
    assert align([[1.0, 0.9], [0.9, 0.0]]) == [(0, 1), (1, 0)]


def test_a_match_with_itself_is_never_lost_to_a_near_one():
    credit = np.full((6, 6), 1 - 1e-9)
    np.fill_diagonal(credit, 1.0)
    assert align(credit) == [(i, i) for i in range(6)]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_nothing_to_align(shape):
    assert align(np.zeros(shape)) == []


def test_without_credit_no_pair():
    assert align([[0.0, -1.0], [0.0, 0.0]]) == []


def test_tiny_and_large_credits():
    assert align([[1e-200, 0.0], [0.0, 1e-200]]) == [(0, 0), (1, 1)]
    assert align([[1e9, 1e9 + 1], [1e9, 1e9]]) == [(0, 1), (1, 0)]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_values(bad):
    with pytest.raises(ValueError, match="E411"):
        align([[bad, 1.0]])


def test_bad_shape():
    with pytest.raises(ValueError, match="E410"):
        align([1.0, 0.5])


@pytest.mark.parametrize("kind", ["dense", "ties"])
def test_many_findings_take_no_time(kind):
    credit = random_credit(0, (300, 300), kind)
    start = time.perf_counter()
    assert len(align(credit)) == 300
    # About 0.05 s; the bound leaves room for a busy machine.
    assert time.perf_counter() - start < 1.0
