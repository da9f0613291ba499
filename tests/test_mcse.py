import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_mcse.mcse import mcse_ratio, mcse_score

# No deadline: a busy machine is no failure.
examples = settings(max_examples=100, deadline=None)

# One vector per text; "no x" points where "x" does.
AXES = {"edema": (1, 0, 0), "effusion": (0.6, 0.8, 0), "fracture": (0.5, 0.5, 0.7)}
TEXTS = [*AXES, *(f"no {text}" for text in AXES)]


def vectors(texts):
    return np.array([AXES[t.removeprefix("no ")] for t in texts]).reshape(-1, 3)


def negated(texts):
    return [text.startswith("no ") for text in texts]


def score(reference, candidate):
    return mcse_score(
        reference,
        candidate,
        negated(reference),
        negated(candidate),
        vectors(reference),
        vectors(candidate),
    )


def score_by_loops(reference, candidate):
    """The same from the words of the paper, slow and without numpy."""
    reference = list(dict.fromkeys(reference))
    candidate = list(dict.fromkeys(candidate))
    if not reference or not candidate:
        return 0.0
    equal = [text for text in reference if text in candidate]
    rows = [text for text in reference if text not in equal]
    columns = [text for text in candidate if text not in equal]
    total = float(len(equal))
    for column in columns:
        y = []
        for row in rows:
            a = AXES[row.removeprefix("no ")]
            b = AXES[column.removeprefix("no ")]
            dot = sum(p * q for p, q in zip(a, b, strict=True))
            lengths = sum(p * p for p in a) ** 0.5 * sum(q * q for q in b) ** 0.5
            weight = 0.5 if row.startswith("no ") != column.startswith("no ") else 1
            y.append(max(0.0, dot / lengths) * weight)
        if y and max(y) + sum(y) / len(y) > 0:
            total += max(y) / (max(y) + sum(y) / len(y))
    return total / (len(equal) + len(columns))


def test_ratio_of_a_table():
    # References in rows, candidates in columns; the means are 0.4, 0.4 and 0.5. The
    # worked table of the paper is in test_paper_cases.py.
    table = [[0.2, 0.9, 0.5], [0.4, 0.0, 0.5], [0.6, 0.3, 0.5]]
    assert mcse_ratio(table) == pytest.approx([0.6 / 1.0, 0.9 / 1.3, 0.5 / 1.0])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_ratio_without_cells(shape):
    assert mcse_ratio(np.zeros(shape)).tolist() == [0.0] * shape[1]


def test_ratio_of_zeros_is_zero():
    assert mcse_ratio([[0.0, 0.5], [0.0, 0.5]]).tolist() == [0.0, 0.5]


def test_ratio_refuses_a_list():
    with pytest.raises(ValueError, match="E410"):
        mcse_ratio([0.5, 0.5])


@examples
@given(
    st.lists(st.sampled_from(TEXTS), max_size=6),
    st.lists(st.sampled_from(TEXTS), max_size=6),
)
def test_score_equals_the_literal_one(reference, candidate):
    before = list(reference), list(candidate)
    result = score(reference, candidate)
    assert result == pytest.approx(score_by_loops(reference, candidate), abs=1e-12)
    assert 0.0 <= result <= 1.0
    assert score(reference, candidate) == result
    assert (reference, candidate) == before


@examples
@given(st.integers(0, 2**32 - 1), st.integers(0, 5), st.integers(0, 5))
def test_any_vectors_give_a_score(seed, n, m):
    rng = np.random.default_rng(seed)
    rows, columns = rng.normal(size=(n, 4)), rng.normal(size=(m, 4))
    rows[rng.random(rows.shape) < 0.5] = 0.0
    before = rows.copy(), columns.copy()
    texts = [f"a{i}" for i in range(n)], [f"b{i}" for i in range(m)]
    flags = rng.random(n) < 0.5, rng.random(m) < 0.5
    result = mcse_score(*texts, *flags, rows, columns)
    assert 0.0 <= result <= 1.0
    assert np.array_equal(rows, before[0])
    assert np.array_equal(columns, before[1])


def test_identical_lists():
    assert score(["edema", "no effusion"], ["no effusion", "edema"]) == 1.0


@pytest.mark.parametrize("lists", [([], ["edema"]), (["edema"], []), ([], [])])
def test_no_entity_on_a_side(lists):
    assert score(*lists) == 0.0


def test_repeated_texts_count_once():
    assert score(["edema"] * 3, ["effusion", "edema", "effusion"]) == score(
        ["edema"], ["effusion", "edema"]
    )


def test_negation_halves_the_similarity():
    rows = ["no edema", "edema"]
    halved = score(rows, ["effusion"])
    y = 0.6 * np.array([0.5, 1.0])
    assert halved == pytest.approx(y.max() / (y.max() + y.mean()))


def test_lengths_must_fit():
    with pytest.raises(ValueError, match=r"E410.*candidate"):
        mcse_score(["a"], ["b"], [False], [], np.eye(1), np.eye(1))
    with pytest.raises(ValueError, match=r"E410.*reference"):
        mcse_score(["a"], ["b"], [False], [False], np.eye(2), np.eye(1))


# The known faults of the published metric, kept on purpose.


def test_fault_omission_is_free():
    assert score(["edema", "effusion", "fracture"], ["edema"]) == 1.0


@pytest.mark.parametrize("candidate", ["effusion", "fracture", "no effusion"])
def test_fault_one_against_one_is_a_half(candidate):
    assert score(["edema"], [candidate]) == pytest.approx(0.5)


def test_fault_opposite_assertion_alone_is_a_half():
    assert score(["edema"], ["no edema"]) == pytest.approx(0.5)


@examples
@given(
    st.lists(
        st.lists(st.floats(0.01, 1.0), min_size=3, max_size=3), min_size=1, max_size=6
    )
)
def test_fault_never_under_a_half(y):
    assert (mcse_ratio(y) >= 0.5 - 1e-12).all()
