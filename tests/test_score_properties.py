"""Contract 4.2 over made-up reports: what must hold for precision, recall and F1.

The settings of the score are drawn too: what holds for the defaults alone would be a
property of the defaults.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from generated import (
    CHANGES,
    MIDLINE,
    NORMAL,
    PLACES,
    SHAPES,
    TERMS,
    Said,
    others,
    related,
    reports,
    sentence,
    shapes,
    statements,
    with_doubts,
    written,
)
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from spacy.language import Language

from spacy_mcse.data import ReportFacts, read_facts
from spacy_mcse.results import MCSEScore
from spacy_mcse.score import score_facts
from spacy_mcse.settings import ScoreSettings

Scorer = Callable[..., MCSEScore]
TOLERANCE = 0.02
COMMON: dict[str, Any] = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}
KINDS = ("side", "location", "severity", "size", "quality", "change", "count")


@st.composite
def sensible(draw: st.DrawFn) -> ScoreSettings:
    """Settings under which every difference costs something."""
    values: dict[str, Any] = {"uncertain": draw(st.floats(0.6, 0.95))}
    for kind in KINDS:
        missing = draw(st.floats(0.6, 0.98))
        values[f"{kind}_missing"] = missing
        values[f"{kind}_wrong"] = missing * draw(st.floats(0.2, 0.95))
    for name in ("urgent", "actionable", "minor", "expected"):
        values[name] = draw(st.floats(0.2, 3.0))
    for name in ("min_similarity", "family", "related"):
        values[name] = draw(st.floats(0.0, 0.9))
    values["devices"] = draw(st.sampled_from((0.0, 0.2, 1.0)))
    for name in ("significance", "ignore_change"):
        values[name] = draw(st.booleans())
    return ScoreSettings(**values)


any_settings = st.one_of(st.just(ScoreSettings()), sensible())


@pytest.fixture(scope="module")
def score(nlp: Language) -> Scorer:
    """Score two texts; each text is read once."""
    known: dict[str, ReportFacts] = {}

    def facts(text: str) -> ReportFacts:
        if text not in known:
            known[text] = read_facts(nlp(text))
        return known[text]

    def scored(
        reference: str, candidate: str, settings: ScoreSettings | None = None
    ) -> MCSEScore:
        return score_facts(facts(reference), facts(candidate), settings)

    return scored


def check_parts(result: MCSEScore) -> None:
    for name in ("precision", "recall", "f1"):
        assert 0.0 <= getattr(result, name) <= 1.0, name
    precision = math.fsum(pair.share_precision for pair in result.pairs)
    recall = math.fsum(pair.share_recall for pair in result.pairs)
    assert math.isclose(precision, result.precision, abs_tol=1e-9)
    assert math.isclose(recall, result.recall, abs_tol=1e-9)


def check_close(one: MCSEScore, other: MCSEScore, case: object) -> None:
    for name in ("precision", "recall", "f1"):
        values = getattr(one, name), getattr(other, name)
        assert values[0] == pytest.approx(values[1], abs=TOLERANCE), (name, case)


@settings(max_examples=60, **COMMON)
@given(with_doubts(), with_doubts(), others, others, shapes, shapes, any_settings)
def test_any_two_reports(
    score: Scorer,
    one: list[Said],
    other: list[Said],
    beside_one: list[str],
    beside_other: list[str],
    shape: str,
    other_shape: str,
    chosen: ScoreSettings,
) -> None:
    first = written(one, shape, beside_one)
    second = written(other, other_shape, beside_other)
    result, swapped = score(first, second, chosen), score(second, first, chosen)
    check_parts(result)
    check_parts(swapped)
    assert swapped.f1 == result.f1
    assert (swapped.precision, swapped.recall) == (result.recall, result.precision)
    same = score(first, first, chosen)
    assert (same.precision, same.recall, same.f1) == (1.0, 1.0, 1.0)
    assert {pair.outcome for pair in same.pairs} == {"match"}


@settings(max_examples=40, **COMMON)
@given(with_doubts(), shapes, shapes, any_settings)
def test_the_shape_of_a_report_does_not_matter(
    score: Scorer, report: list[Said], one: str, other: str, chosen: ScoreSettings
) -> None:
    result = score(written(report, one), written(report, other), chosen)
    assert result.f1 >= 1.0 - TOLERANCE


@settings(max_examples=30, **COMMON)
@given(
    with_doubts(),
    with_doubts(),
    st.sampled_from(SHAPES),
    st.sampled_from(NORMAL),
    st.randoms(use_true_random=False),
    any_settings,
)
def test_the_form_of_a_report_does_not_matter(
    score: Scorer,
    report: list[Said],
    candidate: list[Said],
    shape: str,
    normal: str,
    rng: random.Random,
    chosen: ScoreSettings,
) -> None:
    shuffled = rng.sample(report, len(report))
    plain = written(report, shape)
    against = written(candidate, shape)
    expected = score(plain, against, chosen)
    words = plain.split(" ")
    wrapped = "".join(w + ("\n" if i % 4 == 3 else " ") for i, w in enumerate(words))
    forms = {
        "order": written(shuffled, shape),
        "capitals": plain.upper(),
        "small letters": plain.lower(),
        "lines": "\n".join(sentence(said, shape) for said in report),
        "wrapped": wrapped.strip(),
        "repeated": written([*report, *shuffled], shape),
        "normal": written([*report], shape, [normal]),
    }
    for name, text in forms.items():
        assert score(plain, text, chosen).f1 >= 1.0 - TOLERANCE, (name, plain)
        check_close(score(text, against, chosen), expected, (name, plain, against))


@settings(max_examples=50, **COMMON)
@given(reports(), st.integers(0, 3), statements(), shapes, others, any_settings)
def test_what_is_left_out_invented_or_denied_lowers_the_score(
    score: Scorer,
    report: list[Said],
    at: int,
    more: Said,
    shape: str,
    beside: list[str],
    chosen: ScoreSettings,
) -> None:
    at = min(at, len(report) - 1)
    said = report[at]
    reference = written(report, shape, beside)

    def changed(*instead: Said) -> float:
        parts = [*report[:at], *instead, *report[at + 1 :]]
        text = written(parts, shape, beside) if parts else " ".join(beside)
        result = score(reference, text, chosen)
        check_parts(result)
        return result.f1

    assert changed(said) == 1.0
    left_out = changed()
    assert left_out < 1.0
    # As it stands in the report, and without its description.
    for denial in (
        replace(said, assertion="absent"),
        Said(said.term, said.concept, assertion="absent"),
        Said(said.concept, said.concept, side=said.side, assertion="absent"),
    ):
        assert changed(denial) <= left_out + 1e-12
    doubted = changed(replace(said, assertion="uncertain"))
    assert doubted < 1.0
    if not any(related(more.concept, other.concept) for other in report):
        assert changed(said, more) < 1.0


@pytest.mark.parametrize("kind", CHANGES)
@settings(max_examples=25, **COMMON)
@given(st.data(), statements(tuple(PLACES)), reports(3), shapes, any_settings)
def test_a_changed_description_lowers_the_score(
    score: Scorer,
    kind: str,
    data: st.DataObject,
    said: Said,
    report: list[Said],
    shape: str,
    chosen: ScoreSettings,
) -> None:
    assume(kind != "place" or len(PLACES[said.concept]) > 1)
    said = stated(said, kind, data)
    report = [other for other in report if not related(other.concept, said.concept)]
    reference = written([said, *report], shape)
    wrong = written([CHANGES[kind](said), *report], shape)
    nothing: Any = type(getattr(said, kind))()
    unsaid = written([replace(said, **{kind: nothing}), *report], shape)
    result = score(reference, wrong, chosen)
    check_parts(result)
    assert result.f1 < 1.0
    assert score(reference, unsaid, chosen).f1 < 1.0
    if kind == "side":
        # A wrong side costs more than a missing one.
        assert result.f1 < score(reference, unsaid, chosen).f1


def stated(said: Said, kind: str, data: st.DataObject) -> Said:
    """The same finding with something said of the kind."""
    if kind in ("side", "place"):
        said = replace(said, side=said.side or "left")
        if kind == "place":
            said = replace(said, place=said.place or PLACES[said.concept][0])
        return said
    if kind == "millimetres":
        return replace(
            said, severity="", millimetres=data.draw(st.sampled_from((5, 12, 30)))
        )
    level = data.draw(st.sampled_from(("minimal", "mild", "small", "severe", "large")))
    return replace(said, severity=level, millimetres=0)


@settings(max_examples=15, **COMMON)
@given(reports(2), shapes, any_settings)
def test_a_report_of_all_that_is_wrong_scores_nothing(
    score: Scorer, report: Sequence[Said], shape: str, chosen: ScoreSettings
) -> None:
    denied = [Said(r.term, r.concept, assertion="absent") for r in report]
    assert score(written(report, shape), written(denied, shape), chosen).f1 == 0.0
    assert score(written(report, shape), "", chosen).f1 == 0.0


def test_the_generator_covers_what_it_should() -> None:
    assert set(TERMS) == {*PLACES, *MIDLINE}
    assert all(len(terms) > 1 for terms in TERMS.values())
    assert not related("scoliosis", "pneumothorax")
    assert related("consolidation", "opacity")
