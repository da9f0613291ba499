"""The scorer of clinical entities: figures by hand, and what spaCy makes of it."""

import json
from pathlib import Path

import pytest
import spacy
from conftest import make_blank
from spacy.cli.evaluate import evaluate
from spacy.tokens import Doc, DocBin, SpanGroup
from spacy.training import Example
from spacy.util import registry

from spacy_mcse.data import CLINICAL_KEY
from spacy_mcse.refiner import FACTORY
from spacy_mcse.scorer import (
    DEFAULT_SCORE_WEIGHTS,
    SCORER,
    Annotated,
    clinical_entity_score,
    entity_scores,
    match_entities,
)


def item(start, end, assertion=None, label="FINDING", **values):
    values = {kind: frozenset(value.split()) for kind, value in values.items()}
    return Annotated(start, end, label, assertion, values)


def prf(scores, name):
    return tuple(scores[f"{name}_{letter}"] for letter in "prf")


def test_spans_are_exact_overlapping_and_by_label():
    gold = [item(0, 5), item(10, 15), item(20, 30), item(40, 45, label="OTHER")]
    found = [item(0, 5), item(12, 15), item(40, 45), item(50, 55)]
    scores = entity_scores([(found, gold)])
    assert prf(scores, "clinical_ents") == (0.5, 0.5, 0.5)
    assert prf(scores, "clinical_ents_overlap") == (0.75, 0.75, 0.75)
    per_type = scores["clinical_ents_per_type"]
    assert per_type["FINDING"] == pytest.approx({"p": 0.25, "r": 1 / 3, "f": 2 / 7})
    assert per_type["OTHER"] == {"p": 0, "r": 0, "f": 0}


def test_pairs_are_one_to_one_the_most_alike_first():
    wide, narrow, other = item(0, 20), item(12, 20), item(0, 4)
    assert match_entities([wide, narrow], [narrow]) == [(narrow, narrow)]
    pairs = match_entities([narrow, wide], [other, narrow])
    assert pairs == [(narrow, narrow), (wide, other)]
    assert match_entities([item(0, 4)], [item(4, 8)]) == []


def test_assertions_are_compared_on_pairs():
    gold = [
        item(0, 5, "present"),
        item(10, 15, "absent"),
        item(20, 25, "absent"),
        item(30, 35, "absent"),  # missed
        item(40, 45),  # says nothing
    ]
    found = [
        item(0, 5, "present"),
        item(10, 14, "absent"),
        item(20, 25, "present"),
        item(40, 45, "uncertain"),
        item(60, 65, "uncertain"),  # in no report
    ]
    scores = entity_scores([(found[:2], gold[:2]), (found[2:], gold[2:])])
    assert scores["clinical_assertion_micro_f"] == pytest.approx(2 / 3)
    assert prf(scores, "clinical_assertion_present") == pytest.approx((1 / 2, 1, 2 / 3))
    assert prf(scores, "clinical_assertion_absent") == pytest.approx((1, 1 / 2, 2 / 3))
    assert prf(scores, "clinical_assertion_uncertain") == (None, None, None)
    assert scores["clinical_assertion_macro_f"] == pytest.approx(2 / 3)
    assert set(scores["clinical_assertion_per_type"]) == {"present", "absent"}


def test_assertions_with_what_was_missed():
    """The same once more for all entities, as the paper counts present and absent."""
    gold = [item(0, 5, "present"), item(10, 15, "absent"), item(20, 25, "absent")]
    found = [item(0, 4, "present"), item(10, 15, "present"), item(30, 35, "absent")]
    scores = entity_scores([(found, gold)])
    assert prf(scores, "clinical_ents_asserted") == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    per_type = scores["clinical_ents_asserted_per_type"]
    assert per_type["present"] == pytest.approx({"p": 1 / 2, "r": 1, "f": 2 / 3})
    assert per_type["absent"] == {"p": 0, "r": 0, "f": 0}
    assert set(per_type) == {"present", "absent"}


def test_a_wrong_assertion_that_no_reference_has_counts():
    gold = [item(0, 5, "present"), item(10, 15, "present")]
    found = [item(0, 5, "present"), item(10, 15, "uncertain")]
    scores = entity_scores([(found, gold)])
    assert scores["clinical_assertion_micro_f"] == pytest.approx(1 / 2)
    assert scores["clinical_assertion_macro_f"] == pytest.approx(2 / 3)


def test_attributes_are_compared_by_kind_and_value():
    gold = [item(0, 5, side="left"), item(10, 15, side="left right", size="[12]")]
    found = [
        item(0, 5, side="left", severity="mild"),
        item(10, 15, side="left", size="[13]"),
    ]
    scores = entity_scores([(found, gold)])
    per_type = scores["clinical_attributes_per_type"]
    assert per_type["side"] == pytest.approx({"p": 1, "r": 2 / 3, "f": 0.8})
    assert per_type["size"] == {"p": 0, "r": 0, "f": 0}
    assert set(per_type) == {"side", "size"}  # the reference says nothing of severity
    assert prf(scores, "clinical_attributes") == pytest.approx((2 / 3, 1 / 2, 4 / 7))


def test_what_spacy_prints():
    gold = [item(0, 5, "absent", side="left"), item(8, 9, "present")]
    found = [item(0, 5, "absent", side="left"), item(8, 10, "present")]
    scores = entity_scores([(found, gold)])
    assert prf(scores, "spans_clinical_entities") == (0.5, 0.5, 0.5)
    rows = scores["spans_clinical_entities_per_type"]
    assert list(rows) == [
        "any overlap",
        "and assertion",
        "FINDING",
        "present",
        "absent",
        "side",
    ]
    assert rows["any overlap"]["f"] == rows["absent"]["p"] == rows["side"]["r"] == 1


def test_none_where_nothing_is_annotated():
    scores = entity_scores([])
    assert set(scores.values()) == {None}
    assert scores == entity_scores([([], [])])
    assert scores.keys() > DEFAULT_SCORE_WEIGHTS.keys()
    # Everything missed is 0 and nothing to compare.
    scores = entity_scores([([], [item(0, 5, "present", side="left")])])
    assert prf(scores, "clinical_ents") == (0, 0, 0)
    assert scores["clinical_assertion_macro_f"] is None
    assert scores["clinical_attributes_f"] is None


# Docs


def reference(nlp, text, *entities):
    """A Doc with spans drawn by hand; with records where an assertion is given."""
    doc = nlp.make_doc(text)
    spans, records = [], []
    for number, (words, assertion, side) in enumerate(entities):
        start = text.index(words)
        end = start + len(words)
        key = f"e{number}"
        spans.append(doc.char_span(start, end, label="FINDING", span_id=key))
        value = {"text": side, "value": side, "start_char": 0, "end_char": 1}
        records.append(
            {
                "id": key,
                "assertion": assertion,
                "cue": None,
                "attributes": {"side": [value]} if side else {},
                "mcse_text": words.lower(),
                "concept": "",
                "start_char": start,
                "end_char": end,
            }
        )
    attrs = {"records": records} if all(a for _, a, _ in entities) else {}
    group = SpanGroup(doc, name=CLINICAL_KEY, spans=spans, attrs=attrs)
    doc.spans[CLINICAL_KEY] = group
    return doc


TEXT = "Left effusion. No edema. Possible opacity."


def evaluated(nlp, *docs):
    return nlp.evaluate([Example(nlp.make_doc(doc.text), doc) for doc in docs])


def test_pipeline_is_scored(blank_nlp):
    gold = reference(
        blank_nlp,
        TEXT,
        ("Left effusion", "present", "left"),
        ("edema", "absent", ""),
        ("opacity", "present", ""),
    )
    scores = evaluated(blank_nlp, gold)
    assert prf(scores, "clinical_ents") == (1, 1, 1)
    assert prf(scores, "clinical_assertion_absent") == (1, 1, 1)
    assert prf(scores, "clinical_assertion_present")[:2] == (1, 0.5)
    assert prf(scores, "clinical_attributes") == (1, 1, 1)


def test_what_a_reference_may_lack(blank_nlp):
    no_group = blank_nlp.make_doc(TEXT)
    scores = evaluated(blank_nlp, no_group)
    assert scores["clinical_ents_f"] is None
    empty = reference(blank_nlp, TEXT)
    assert prf(evaluated(blank_nlp, empty), "clinical_ents") == (0, 0, 0)
    by_hand = reference(blank_nlp, TEXT, ("edema", None, ""))
    scores = evaluated(blank_nlp, by_hand, no_group)
    assert prf(scores, "clinical_ents") == pytest.approx((1 / 3, 1, 1 / 2))
    assert scores["clinical_assertion_macro_f"] is None
    assert scores["clinical_ents_asserted_f"] is None


def test_records_that_do_not_fit_are_no_annotation_to_guess_from(blank_nlp):
    gold = reference(blank_nlp, TEXT, ("edema", "absent", ""))
    gold.spans[CLINICAL_KEY].attrs["records"] = []
    with pytest.raises(ValueError, match="E202"):
        evaluated(blank_nlp, gold)


def test_white_space_does_not_move_spans(blank_nlp):
    """References made of words have other blanks than the report."""
    words = ["Left", "effusion", ".", "No", "edema", "."]
    gold = Doc(blank_nlp.vocab, words=words)
    gold.spans[CLINICAL_KEY] = [gold[0:2], gold[4:5]]
    predicted = blank_nlp("Left effusion.\n\nNo edema.")
    example = Example(predicted, gold)
    scores = clinical_entity_score([example])
    assert prf(scores, "clinical_ents") == (1, 1, 1)


def test_a_pipeline_without_the_component_gives_no_entities(blank_nlp):
    gold = reference(blank_nlp, TEXT, ("edema", "absent", ""))
    scores = clinical_entity_score([Example(blank_nlp.make_doc(TEXT), gold)])
    assert prf(scores, "clinical_ents") == (0, 0, 0)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("scored") / "pipeline"
    make_blank().to_disk(path)
    return path


def test_spacy_evaluate_prints_the_scores(saved, tmp_path, capsys, blank_nlp):
    gold = reference(
        blank_nlp, TEXT, ("Left effusion", "present", "left"), ("edema", "absent", "")
    )
    corpus, output = tmp_path / "corpus.spacy", tmp_path / "scores.json"
    DocBin(docs=[gold]).to_disk(corpus)
    evaluate(str(saved), corpus, output, silent=False, spans_key=CLINICAL_KEY)
    printed = capsys.readouterr().out
    lines = [line.split() for line in printed.splitlines()]
    assert ["SPAN", "P", "66.67"] in lines
    assert ["SPAN", "R", "100.00"] in lines
    assert ["absent", "100.00", "100.00", "100.00"] in lines
    assert ["side", "100.00", "100.00", "100.00"] in lines
    scores = json.loads(output.read_text("utf8"))
    assert scores["clinical_assertion_absent_f"] == 1
    assert scores["clinical_attributes_per_type"]["side"]["f"] == 1


def test_settings(saved):
    nlp = spacy.load(saved)
    refiner = nlp.get_pipe(FACTORY)
    assert registry.scorers.get(SCORER)() is refiner.scorer
    assert nlp.config["components"][FACTORY]["scorer"] == {"@scorers": SCORER}
    weights = nlp.config["training"]["score_weights"]
    assert weights.keys() >= DEFAULT_SCORE_WEIGHTS.keys()
    assert sum(DEFAULT_SCORE_WEIGHTS.values()) == pytest.approx(1)


def test_no_scorer(blank_nlp):
    nlp = make_blank(scorer=None)
    again = spacy.blank("en").from_config(nlp.config)
    again.from_bytes(nlp.to_bytes())
    gold = reference(blank_nlp, TEXT, ("edema", "absent", ""))
    assert "clinical_ents_f" not in evaluated(again, gold)
    # Pairs of pipelines that differ in it compare.
    fingerprints = {pipe.get_pipe(FACTORY).fingerprint for pipe in (again, blank_nlp)}
    assert len(fingerprints) == 1


def test_pipelines_that_were_saved_without_the_setting_load(saved, tmp_path):
    nlp = spacy.load(saved)
    path = tmp_path / "old"
    nlp.to_disk(path)
    config = (path / "config.cfg").read_text("utf8")
    block = f'[components.{FACTORY}.scorer]\n@scorers = "{SCORER}"\n'
    assert block in config
    config = config.replace(block, "")
    (path / "config.cfg").write_text(config, "utf8")
    old = spacy.load(Path(path))
    assert old.get_pipe(FACTORY).scorer is clinical_entity_score
    assert old.get_pipe(FACTORY).fingerprint == nlp.get_pipe(FACTORY).fingerprint
