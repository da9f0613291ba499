import dataclasses
import json
import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from stub_pipeline import vectors

import spacy_mcse
from spacy_mcse import claims
from spacy_mcse.data import (
    Embedding,
    Entity,
    NormalStatement,
    ReportFacts,
    read_facts,
)
from spacy_mcse.results import OUTCOMES, MCSEScore
from spacy_mcse.score import score_facts
from spacy_mcse.settings import ScoreSettings
from spacy_mcse.signature import Signature

# No deadline: a busy machine is no failure.
examples = settings(max_examples=100, deadline=None)

# Concepts of one plane, so that their similarity is known: the cosine of "opacity"
# and "consolidation" is 0.8, all other concepts are unrelated.
RELATED = {"opacity": (1.0, 0.0), "consolidation": (0.8, 0.6)}


def concept_vectors(concepts):
    rows = np.zeros((len(concepts), 18), dtype=np.float32)
    for i, concept in enumerate(concepts):
        if concept in RELATED:
            rows[i, :2] = RELATED[concept]
        else:
            rows[i, 2:] = vectors([concept])[0]
    return rows


def entity(concept, assertion="present", start=0, text=None, **attributes):
    said = [str(v) for values in attributes.values() for v in _listed(values)]
    words = ["no"] * (assertion == "absent") + said + [concept]
    return Entity(
        text=text or concept,
        start_char=start,
        end_char=start + len(concept),
        label="FINDING",
        assertion=assertion,
        cue=None,
        attributes={
            kind: [
                {"text": str(v), "value": v, "start_char": 0, "end_char": 1}
                for v in _listed(values)
            ]
            for kind, values in attributes.items()
        },
        mcse_text=" ".join(words),
        concept=concept,
    )


def _listed(values):
    return values if isinstance(values, list) else [values]


def normal(concept, *denies, text=None, side=None):
    text = text or f"{concept} normal"
    attributes = {"side": [{"value": side}]} if side else {}
    return NormalStatement(text, 0, len(text), text, concept, denies, attributes)


def report(*parts, refiner="r", scoring=None, **embedding):
    entities = tuple(part for part in parts if isinstance(part, Entity))
    arguments = {"encoder": "stub", "fingerprint": "01", "calibration": (0.6, 1.0)}
    return ReportFacts(
        entities=entities,
        normal=tuple(part for part in parts if isinstance(part, NormalStatement)),
        embedding=Embedding(
            texts=vectors([e.mcse_text for e in entities]),
            concepts=concept_vectors([e.concept for e in entities]),
            scoring=scoring or {},
            pipeline="en_stub-0.0.0",
            **(arguments | embedding),
        ),
        refiner=refiner,
    )


def f1(reference, candidate, **settings):
    return score_facts(
        report(*reference), report(*candidate), ScoreSettings(**settings)
    ).f1


def outcomes(result):
    return [pair.outcome for pair in result.pairs]


CONCEPTS = ["edema", "effusion", "fracture", "opacity", "consolidation"]
entities = st.builds(
    lambda concept, assertion, attributes, start: entity(
        concept, assertion, start=start, **attributes
    ),
    st.sampled_from(CONCEPTS),
    st.sampled_from(["present", "present", "absent", "uncertain"]),
    st.dictionaries(
        st.sampled_from(["side", "severity", "location", "change", "quality"]),
        st.sampled_from(["left", "right", "bilateral", "mild", "severe", "base"]),
        max_size=2,
    ),
    st.integers(0, 100),
)
statements = st.builds(
    normal, st.just("chest"), st.sampled_from(CONCEPTS), st.sampled_from(CONCEPTS)
)
reports = st.lists(st.one_of(entities, entities, statements), max_size=6)


# Properties on any reports


@examples
@given(reports, reports)
def test_any_two_reports(first, second):
    result = score_facts(report(*first), report(*second))
    for name in ("mcse", "precision", "recall", "f1"):
        assert 0.0 <= getattr(result, name) <= 1.0
    recall = sum(pair.share_recall for pair in result.pairs)
    precision = sum(pair.share_precision for pair in result.pairs)
    assert recall == pytest.approx(result.recall, abs=1e-9)
    assert precision == pytest.approx(result.precision, abs=1e-9)
    assert set(outcomes(result)) <= set(OUTCOMES)
    json.dumps(result.to_dict(), allow_nan=False)
    assert MCSEScore.from_dict(json.loads(json.dumps(result.to_dict()))) == result


@examples
@given(reports, reports)
def test_swapped_reports(first, second):
    result = score_facts(report(*first), report(*second))
    swapped = score_facts(report(*second), report(*first))
    assert swapped.f1 == result.f1
    assert (swapped.precision, swapped.recall) == (result.recall, result.precision)


@examples
@given(reports)
def test_a_report_against_itself(parts):
    result = score_facts(report(*parts), report(*parts))
    if parts:
        assert result.f1 == result.precision == result.recall == 1.0
    else:
        assert result.f1 == 0.0
        assert result.flags == ("no_content",)
    assert set(outcomes(result)) <= {"match"}


@examples
@given(reports, reports, st.randoms(use_true_random=False))
def test_order_of_the_statements_does_not_matter(first, second, random):
    result = score_facts(report(*first), report(*second))
    shuffled = list(first)
    random.shuffle(shuffled)
    other = score_facts(report(*shuffled), report(*second))
    assert (other.f1, other.precision) == (result.f1, result.precision)


@examples
@given(reports, reports)
def test_repeated_statements_do_not_matter(first, second):
    result = score_facts(report(*first), report(*second))
    repeated = score_facts(report(*first), report(*second, *second, *second[:1]))
    assert repeated.f1 == pytest.approx(result.f1, abs=1e-12)


@examples
@given(reports, reports, reports)
def test_the_inputs_stay_as_they_are(first, second, third):
    one, other = report(*first), report(*second)
    before = score_facts(one, other)
    score_facts(other, report(*third))
    assert score_facts(one, other) == before


def reports_of_many(seed):
    """Two reports with more pairs of findings than are compared one by one."""
    rng = random.Random(seed)
    values = {
        "side": ["left", "right", "bilateral"],
        "location": ["base", "apex", "hilar"],
        "severity": ["mild", "severe", "odd"],
        "quality": ["patchy", "round"],
        "change": ["new", "unchanged"],
        "count": ["two"],
        "size": [[n] for n in range(1, 40)] + ["small"],
    }
    sides = []
    for _ in range(2):
        said = []
        for _ in range(60):
            kinds = rng.sample(sorted(values), rng.randint(0, 4))
            stated = {kind: [rng.choice(values[kind])] for kind in kinds}
            own = {k: stated[k] for k in kinds if k != "size" and rng.random() < 0.2}
            assertion = rng.choice(["present", "uncertain"])
            made = entity(rng.choice(CONCEPTS), assertion, **stated)
            said.append(dataclasses.replace(made, own=own))
        sides.append(report(*said))
    return sides


@pytest.mark.parametrize("seed", range(5))
def test_many_findings_are_compared_like_few(seed, monkeypatch):
    first, second = reports_of_many(seed)
    at_once = score_facts(first, second)
    assert at_once.n_reference * at_once.n_candidate > 400
    # `spacy_mcse.score` is the function, not the module.
    monkeypatch.setitem(score_facts.__globals__, "_MANY", 10**9)
    assert score_facts(first, second) == at_once


@pytest.mark.parametrize("seed", range(5))
def test_many_mentions_are_merged_like_few(seed, monkeypatch):
    first, second = reports_of_many(seed)
    quick = score_facts(first, second)
    monkeypatch.setattr(claims, "_FEW", 10**9)
    assert score_facts(first, second) == quick


# Planted errors

FINDING = [entity("edema"), entity("effusion", side="left", severity="mild")]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("side", "right"),
        ("side", "bilateral"),
        ("severity", "severe"),
        ("severity", "moderate"),
        ("location", "apex"),
        ("quality", "loculated"),
        ("change", "stable"),
        ("count", "two"),
        ("size", [[12.0]]),
    ],
)
def test_a_changed_attribute_lowers_the_score(kind, value):
    stated = {"side": "left", "severity": "mild", "location": "base"}
    stated |= {"quality": "free", "change": "new", "count": "one", "size": [[5.0]]}
    right = [entity("edema"), entity("effusion", **stated)]
    wrong = [entity("edema"), entity("effusion", **(stated | {kind: value}))]
    unsaid = {k: v for k, v in stated.items() if k != kind}
    unstated = [entity("edema"), entity("effusion", **unsaid)]
    assert f1(right, right) == 1.0
    assert f1(right, wrong) < 1.0
    assert f1(right, unstated) < 1.0
    if value not in ("bilateral", "moderate"):
        assert f1(right, wrong) < f1(right, unstated)


def test_wrong_side_costs_more_than_unstated_and_not_more_than_missing():
    # PC-071: a ranking of errors that a radiologist would share.
    reference = [entity("fracture"), entity("effusion", side="left", severity="small")]
    candidates = [
        reference,
        [entity("fracture"), entity("effusion", severity="small")],
        [entity("fracture"), entity("effusion", side="right", severity="small")],
        [entity("fracture")],
        [],
        [entity("mass")],
    ]
    scores = [f1(reference, candidate) for candidate in candidates]
    assert scores[0] == 1.0
    assert scores == sorted(scores, reverse=True)
    assert scores[1] > scores[2]
    assert scores[-1] == min(scores) == 0.0


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_denying_costs_at_least_as_much_as_leaving_out(n):
    reference = [entity(concept) for concept in CONCEPTS[:n]]
    left_out = reference[1:]
    denied = [entity(CONCEPTS[0], "absent"), *reference[1:]]
    doubted = [entity(CONCEPTS[0], "uncertain"), *reference[1:]]
    assert f1(reference, denied) <= f1(reference, left_out)
    assert f1(reference, left_out) < f1(reference, doubted) < 1.0


def test_invented_findings_lower_precision():
    # PC-046: the published metric does not see them.
    result = score_facts(
        report(entity("edema")),
        report(entity("edema"), entity("mass"), entity("fracture")),
    )
    assert result.precision == pytest.approx(1 / 3)
    assert result.recall == 1.0
    assert sorted(outcomes(result)) == ["invented", "invented", "match"]


def test_unrelated_findings_score_nothing():
    # PC-047, PC-053: no floor from the vectors.
    result = score_facts(report(entity("edema")), report(entity("fracture")))
    assert result.f1 == 0.0
    assert result.mcse in (0.0, pytest.approx(0.5))


def test_related_findings_score_by_calibrated_similarity():
    # Cosine 0.8 with calibration (0.6, 1.0).
    reference, candidate = [entity("opacity")], [entity("consolidation")]
    assert f1(reference, candidate) == pytest.approx(0.5)
    assert f1(reference, candidate, min_similarity=0.6) == 0.0


def test_denied_is_worse_than_described_otherwise():
    # PC-050
    reference = [entity("edema")]
    mild = f1(reference, [entity("edema", severity="mild")])
    denied = f1(reference, [entity("edema", "absent")])
    assert 1.0 > mild > 0.5 > denied == 0.0


def test_denials_do_not_earn_anything():
    # PC-070: a candidate that repeats what is absent.
    reference = [entity("effusion", "absent"), entity("edema")]
    once = f1(reference, [entity("effusion", "absent")])
    assert once == f1(reference, [entity("effusion", "absent")] * 30) == 0.0


# Attributes


def test_severity_costs_by_distance():
    scores = [
        f1([entity("edema", severity="minimal")], [entity("edema", severity=said)])
        for said in ("minimal", "mild", "moderate", "severe")
    ]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 4


def test_a_range_of_severity_lies_between_its_ends():
    between = [entity("edema", severity=["mild", "moderate"])]
    apart = f1([entity("edema", severity="mild")], between)
    assert f1([entity("edema", severity="mild")], [entity("edema")]) < apart < 1.0
    one_value = [entity("edema", severity="mild to moderate")]
    assert f1(between, one_value) == 1.0


def test_small_and_mild_are_one_step():
    size = [entity("effusion", size="small")]
    assert f1(size, [entity("effusion", severity="mild")]) == 1.0
    assert f1(size, [entity("effusion", size="large")]) < 0.8


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([10.0], [10.0], 1.0),
        ([10.0, 8.0], [10.0], 1.0),
        ([10.0], [11.0], 0.927),
        ([10.0], [40.0], 0.6),
        ("1 cm", "10 mm", 1.0),
        ("1.2 x 0.9 cm", "12 mm", 1.0),
    ],
)
def test_sizes_compare_by_ratio(one, other, expected):
    reference = [entity("mass", size=[one])]
    candidate = [entity("mass", size=[other])]
    assert f1(reference, candidate) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ([9.0, 12.0], 12.0),
        (7, 7.0),
        ("1.2 x 0.9 cm", 12.0),
        ("small", None),
        ([], None),
        (float("nan"), None),
    ],
)
def test_largest_measure_of_an_entity(size, expected):
    assert entity("mass", size=[size]).millimetres == expected
    assert entity("mass").millimetres is None


def test_bilateral_is_left_and_right():
    both = [entity("effusion", side="bilateral")]
    apart = [entity("effusion", side="left"), entity("effusion", side="right")]
    assert f1(both, apart) == 1.0
    one = f1(both, [entity("effusion", side="left")])
    opposite = f1([entity("effusion", side="right")], [entity("effusion", side="left")])
    assert opposite < one < 1.0


def test_bilateral_finding_in_halves_adds_up():
    result = score_facts(
        report(entity("effusion", side="bilateral")),
        report(entity("effusion", side="left"), entity("effusion", side="right")),
    )
    assert [pair.weight_reference for pair in result.pairs] == [0.5, 0.5]
    assert (result.n_reference, result.n_candidate) == (1, 2)


def test_change_can_be_ignored():
    reference, candidate = [entity("edema", change="new")], [entity("edema")]
    assert 0.9 < f1(reference, candidate) < 1.0
    assert f1(reference, candidate, ignore_change=True) == 1.0


def named(concept, own, **attributes):
    """A finding whose listed name has values of attributes in it."""
    return dataclasses.replace(entity(concept, **attributes), own=own)


def test_what_only_names_the_concept_costs_nothing():
    pulmonary = named("opacity", {"location": ["pulmonary"]}, location="pulmonary")
    assert f1([pulmonary], [entity("opacity")]) == 1.0
    stated = {"location": "pulmonary", "side": "left"}
    left = named("opacity", {"location": ["pulmonary"]}, **stated)
    side_alone = f1([entity("opacity", side="left")], [entity("opacity")])
    assert f1([left], [entity("opacity")]) == side_alone < 1.0


def test_names_of_two_places_are_two_places():
    thoracic = named("fracture", {"location": ["thoracic"]}, location="thoracic")
    lumbar = named("fracture", {"location": ["lumbar"]}, location="lumbar")
    assert f1([thoracic], [lumbar]) < f1([thoracic], [entity("fracture")]) == 1.0


def test_what_only_names_a_side_is_compared_as_a_side():
    both = named("fracture", {"side": ["bilateral"]}, side="bilateral")
    assert f1([both], [entity("fracture")]) == 1.0


def test_what_only_names_the_concept_does_not_confine_a_denial():
    no_opacity = dataclasses.replace(
        entity("opacity", "absent", location="pulmonary"),
        own={"location": ["pulmonary"]},
    )
    finding = entity("opacity", location="base")
    result = score_facts(report(finding), report(no_opacity))
    assert outcomes(result) == ["contradicted"]
    confined = report(dataclasses.replace(no_opacity, own={}))
    assert outcomes(score_facts(report(finding), confined)) == ["missed"]


# Repeated mentions


@pytest.mark.parametrize(
    "mentions",
    [
        [entity("edema"), entity("edema", severity="mild")],
        [entity("edema", severity="mild"), entity("edema")],
        [entity("edema", "uncertain"), entity("edema", severity="mild")],
        [entity("edema", change="stable"), entity("edema", severity="mild")],
    ],
)
def test_a_mention_that_says_less_is_no_finding_of_its_own(mentions):
    result = score_facts(report(*mentions), report(entity("edema", severity="mild")))
    assert result.f1 == 1.0
    assert result.n_reference == 1


def test_mentions_that_differ_are_two_findings():
    sides = [entity("effusion", side="left"), entity("effusion", side="right")]
    assert score_facts(report(*sides), report()).n_reference == 2


# Contradictions


def test_a_contradiction_counts_on_both_sides():
    result = score_facts(
        report(entity("edema"), entity("fracture")),
        report(entity("edema", "absent"), entity("fracture")),
    )
    assert (result.precision, result.recall) == (0.5, 0.5)
    assert sorted(outcomes(result)) == ["contradicted", "match"]
    pair = next(p for p in result.pairs if p.outcome == "contradicted")
    assert pair.reference["assertion"] == "present"
    assert pair.candidate["assertion"] == "absent"


def test_a_normal_statement_contradicts_what_it_denies():
    heart = normal("heart size", "cardiomegaly")
    reference = report(entity("cardiomegaly"), entity("edema"))
    result = score_facts(reference, report(heart, entity("edema")))
    assert (result.precision, result.recall) == (0.5, 0.5)
    unrelated = score_facts(reference, report(normal("bones", "fracture"), *FINDING))
    assert "contradicted" not in outcomes(unrelated)


def test_denials_weigh_one_for_each_concept():
    reference = [entity("edema"), entity("opacity"), entity("fracture")]
    lungs = normal("lungs", "edema", "opacity")
    result = score_facts(report(*reference), report(lungs, entity("fracture")))
    assert result.precision == result.recall == pytest.approx(1 / 3)
    # Neither a repeated statement nor another one that denies the same.
    more = [lungs, normal("chest", "opacity"), entity("edema", "absent")]
    assert f1(reference, [*more, lungs, entity("fracture")]) == result.f1
    sides = [entity("opacity", side="left"), entity("opacity", side="right")]
    result = score_facts(report(*sides), report(lungs, entity("fracture")))
    assert [pair.weight_candidate for pair in result.pairs] == [0.5, 0.5, 1.0]


@pytest.mark.parametrize(
    ("denial", "finding"),
    [
        (
            entity("effusion", "absent", side="right"),
            entity("effusion", side="left"),
        ),
        (
            entity("effusion", "absent", severity="large"),
            entity("effusion", severity="small"),
        ),
        (entity("effusion", "absent", severity="large"), entity("effusion")),
        (
            entity("fracture", "absent", quality="acute"),
            entity("fracture", quality="old"),
        ),
        (
            normal("lung", "opacity", text="left lung clear", side="left"),
            entity("opacity", side="right"),
        ),
    ],
)
def test_what_does_not_contradict(denial, finding):
    result = score_facts(report(finding), report(denial, entity("edema")))
    assert outcomes(result) == ["missed", "invented"]


def test_a_report_that_says_both_is_not_contradicted():
    both = report(
        entity("effusion", "absent", side="right"), entity("effusion", side="left")
    )
    result = score_facts(report(entity("effusion", side="bilateral")), both)
    assert "contradicted" not in outcomes(result)


def test_a_report_that_contradicts_itself_pays_for_it():
    # One of two mentions denied: the other must not hide it.
    reference = report(entity("edema"), entity("mass"))
    candidate = report(entity("edema"), entity("edema", "absent"), entity("mass"))
    result = score_facts(reference, candidate)
    assert (result.precision, result.recall) == (pytest.approx(2 / 3), 1.0)
    assert sorted(outcomes(result)) == ["contradicted", "match", "match"]
    assert score_facts(candidate, candidate).f1 == 1.0
    normal_chest = normal("chest", "edema")
    candidate = report(entity("edema"), normal_chest, entity("mass"))
    assert score_facts(reference, candidate).f1 == 1.0


# Degenerate reports, contract 4.3

NORMAL = [normal("heart", "cardiomegaly")]
ABSENT = [entity("edema", "absent")]


@pytest.mark.parametrize(
    ("reference", "candidate", "expected", "flags"),
    [
        (FINDING, [], 0.0, ()),
        (FINDING, NORMAL, 0.0, ()),
        ([], FINDING, 0.0, ()),
        (ABSENT, FINDING, 0.0, ()),
        (NORMAL, NORMAL, 1.0, ("normal",)),
        (NORMAL, ABSENT, 1.0, ("normal",)),
        (ABSENT, [entity("mass", "absent")], 1.0, ("normal",)),
        ([], [], 0.0, ("no_content",)),
        ([], NORMAL, 0.0, ("no_content",)),
        (ABSENT, [], 0.0, ("no_content",)),
    ],
)
def test_reports_without_findings(reference, candidate, expected, flags):
    result = score_facts(report(*reference), report(*candidate))
    assert result.f1 == result.precision == result.recall == expected
    assert result.flags == flags


def test_sides_without_content_are_named():
    assert score_facts(report(), report(*FINDING)).without_content == ("reference",)
    assert score_facts(report(*NORMAL), report(*ABSENT)).without_content == ()


# Explanation, settings, signature


def test_pairs_name_both_spans():
    reference = report(
        entity("fracture", start=30), entity("edema", start=4), entity("mass", start=50)
    )
    candidate = report(entity("edema", start=9), entity("effusion", start=20))
    result = score_facts(reference, candidate)
    assert outcomes(result) == ["match", "missed", "missed", "invented"]
    assert result.pairs[0].reference == {
        "text": "edema",
        "start_char": 4,
        "end_char": 9,
        "mcse_text": "edema",
        "concept": "edema",
        "assertion": "present",
        "attributes": {},
    }
    assert result.pairs[0].candidate["start_char"] == 9
    assert result.pairs[1].candidate is None
    assert result.pairs[3].reference is None


def test_a_partial_match_shows_what_differs():
    result = score_facts(
        report(entity("edema", side="left")), report(entity("edema", side="right"))
    )
    (pair,) = result.pairs
    assert pair.outcome == "partial"
    assert pair.reference["attributes"] == {"side": ["left"]}
    assert pair.candidate["attributes"] == {"side": ["right"]}


def test_unchanged_is_stable():
    one = report(entity("edema", change="unchanged"))
    assert score_facts(one, report(entity("edema", change="stable"))).f1 == 1
    assert score_facts(one, report(entity("edema", change="worse"))).f1 < 1


def test_results_can_be_hashed():
    one = score_facts(report(*FINDING), report(*FINDING))
    same = score_facts(report(*FINDING), report(*FINDING))
    other = score_facts(report(*FINDING), report())
    assert len({one, same, other}) == 2
    assert len({*one.pairs, *same.pairs}) == len(one.pairs)


def test_results_are_frozen():
    result = score_facts(report(*FINDING), report(*FINDING))
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.f1 = 0.0


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"side_rong": 0.1}, "E406"),
        ({"side_wrong": 2}, "E407"),
        ({"side_wrong": "high"}, "E407"),
        ({"side_wrong": True}, "E407"),
        ({"side_wrong": float("nan")}, "E407"),
        ({"side_wrong": 0.9}, "E407.*side_missing"),
        ({"ignore_change": 1}, "E407"),
    ],
)
def test_bad_settings(values, code):
    with pytest.raises(ValueError, match=code):
        ScoreSettings.from_dict(values)


def test_settings_round_trip():
    changed = ScoreSettings(side_wrong=0.1, ignore_change=True)
    assert ScoreSettings.from_dict(changed.to_dict()) == changed
    assert changed.hash != ScoreSettings().hash


def test_settings_come_from_the_stored_vectors():
    scoring = {"min_similarity": 0.6}
    reference = report(entity("opacity"), scoring=scoring)
    candidate = report(entity("consolidation"), scoring=scoring)
    assert score_facts(reference, candidate).f1 == 0.0
    assert score_facts(reference, candidate, ScoreSettings()).f1 > 0.4


def test_signature_names_all_that_a_score_depends_on():
    one = score_facts(report(*FINDING), report()).signature
    assert Signature.from_str(str(one)) == one
    assert str(one).startswith("mcse:")
    assert "|pipeline:en_stub-0.0.0|encoder:stub@01|spacy:" in str(one)
    changed = [
        report(refiner="other"),
        report(calibration=(0.1, 0.9)),
        report(scoring={"side_wrong": 0.1}),
    ]
    signatures = {score_facts(facts, facts).signature.settings for facts in changed}
    assert len(signatures | {one.settings}) == 4


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (report(*FINDING, fingerprint="02"), "stub@01.*stub@02"),
        (report(*FINDING, encoder="other"), "other@01"),
        (report(*FINDING, refiner="r2"), "refiner"),
        (report(*FINDING, calibration=(0.1, 0.9)), "calibration"),
        (report(*FINDING, scoring={"side_wrong": 0.1}), "scoring"),
    ],
)
def test_reports_of_different_pipelines_do_not_compare(other, what):
    # PC-068, PC-080
    with pytest.raises(ValueError, match=f"E404.*{what}"):
        score_facts(report(*FINDING), other)


def test_vectors_of_other_length():
    other = report(*FINDING)
    concepts = other.embedding.concepts[:, :4]
    other = dataclasses.replace(
        other, embedding=dataclasses.replace(other.embedding, concepts=concepts)
    )
    with pytest.raises(ValueError, match=r"E404.*length"):
        score_facts(report(*FINDING), other)


def test_vectors_with_nan_are_unrelated():
    broken = report(entity("opacity"))
    broken.embedding.concepts[:] = np.nan
    assert score_facts(broken, report(entity("consolidation"))).f1 == 0.0


def test_a_pair_takes_about_a_millisecond():
    facts = report(*(entity(c, side="left") for c in CONCEPTS))
    start = time.perf_counter()
    for _ in range(20):
        score_facts(facts, facts)
    # The bound leaves room for a busy machine.
    assert (time.perf_counter() - start) / 20 < 0.02


DEVICES_ALONE = [
    # reference, candidate, f1, flags
    ("Endotracheal tube in place.", "Right PICC line.", 0.0, ()),
    ("No endotracheal tube.", "Endotracheal tube in place.", 0.0, ()),
    ("Endotracheal tube in place.", "Lungs are clear.", 0.0, ()),
    ("Endotracheal tube. Lungs are clear.", "Clear lungs. ETT.", 1.0, ("normal",)),
    ("Lungs are clear.", "Clear lungs.", 1.0, ("normal",)),
]


@pytest.mark.parametrize(("one", "two", "f1", "flags"), DEVICES_ALONE)
def test_reports_without_findings_agree_where_both_say_so(
    nlp: Language, one: str, two: str, f1: float, flags: tuple[str, ...]
) -> None:
    score = spacy_mcse.score(one, two, nlp=nlp)
    assert (score.f1, score.flags) == (f1, flags)
    assert spacy_mcse.score(two, one, nlp=nlp).f1 == f1


@pytest.mark.parametrize("kept", [False, True])
def test_devices_0_leaves_devices_out(nlp: Language, kept: bool) -> None:
    from spacy_mcse.refiner import EntityRefiner

    refiner = EntityRefiner("own", spans_in="mcse_candidates", drop_devices=not kept)
    embedder = nlp.get_pipe("mcse_embedder")
    facts = []
    for text in ("Endotracheal tube. Small effusion.", "Small effusion."):
        doc = nlp.make_doc(text)
        for name, component in nlp.pipeline:
            doc = refiner(doc) if name == "mcse_entity_refiner" else component(doc)
        facts.append(read_facts(embedder(doc)))
    assert score_facts(*facts, ScoreSettings(devices=0)).f1 == 1.0
    assert score_facts(*facts, ScoreSettings(devices=1)).f1 < 1.0


@pytest.mark.parametrize("name", ["urgent", "actionable", "minor", "expected"])
def test_weights_are_above_0(name: str) -> None:
    with pytest.raises(ValueError, match="E407"):
        ScoreSettings(**{name: 0})
    assert ScoreSettings(**{name: 2}).weight(name) == 2.0
