"""The components in pipelines of the user's own: public cases PC-074 to PC-092.

PC-076, PC-077, PC-079, PC-080 and PC-083 are about saved Docs and pipelines and stand
in test_serialize.py, PC-094 and PC-095 in test_privacy_offline.py.
"""

import pickle
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from confection import ConfigValidationError
from conftest import HASH_ENCODER, HashEncoder, make_blank
from contract import SPAN_GETTERS
from spacy.language import Language
from spacy.tokens import Doc, Span, SpanGroup
from spacy.util import is_package, load_model_from_config
from thinc.api import Config

import spacy_mcse
from spacy_mcse import pipelines, signature
from spacy_mcse.data import ASSERTIONS, ATTRIBUTES, LABELS
from spacy_mcse.embedder import Embedder, install
from spacy_mcse.pipelines import BASES
from spacy_mcse.refiner import EntityRefiner

REPORT = (
    "FINDINGS: Moderate right pleural effusion, 3 cm nodule in the left upper lobe. "
    "No pneumothorax. Heart size is normal. Possible mild edema."
)
OWN_LIST = "# our own\nconcept\tterms\tkind\nzorkopathy\tzork disease | zorks\t\n"


def facts(doc: Doc) -> list[dict[str, Any]]:
    """All that a user can read of the entities and normal statements of a Doc."""
    spans = [*doc._.clinical_entities, *doc._.normal_statements]
    return [
        {
            "text": span.text,
            "label": span.label_,
            "start_char": span.start_char,
            **{name: getattr(span._, name) for name in SPAN_GETTERS},
        }
        for span in spans
    ]


def with_source(source: dict[str, Any] | None = None, **refiner: Any) -> Language:
    """The word lists on a blank pipeline: quick to build, no parser."""
    nlp = spacy.blank("en")
    nlp.add_pipe("mcse_entity_source", config=source or {})
    nlp.add_pipe(
        "mcse_entity_refiner", config={"spans_in": "mcse_candidates", **refiner}
    )
    nlp.add_pipe("mcse_embedder", config={"encoder": {"@misc": HASH_ENCODER}})
    return nlp


@pytest.fixture(scope="module")
def own_nlp() -> Language:
    """A pipeline with a parser and an NER that knows nothing of medicine."""
    base = next((base for base in BASES if is_package(base)), None)
    if base is None:
        pytest.skip("spaCy's small English pipeline is not installed (extra 'cxr')")
    nlp = spacy.load(base)
    nlp.add_pipe("mcse_entity_refiner")
    nlp.add_pipe("mcse_embedder")
    return nlp


@pytest.fixture(scope="module")
def plain() -> Language:
    """A blank pipeline without any component; no test leaves one in it."""
    return spacy.blank("en")


# Any English pipeline


def test_both_components_work_on_a_blank_pipeline(blank_nlp: Language) -> None:
    doc = blank_nlp("No effusion. Mild edema.")
    assert [(e.text, e._.assertion) for e in doc._.clinical_entities] == [
        ("effusion", "absent"),
        ("Mild edema", "present"),
    ]
    assert doc._.mcse(doc).f1 == 1


def test_defaults_need_no_settings() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("mcse_entity_refiner")
    nlp.add_pipe("mcse_embedder")
    doc = nlp("No effusion. Heart size is normal.")
    assert doc._.clinical_entities == []  # no NER: nothing in doc.ents
    assert [s.text for s in doc._.normal_statements] == ["Heart size is normal"]
    assert spacy_mcse.score(doc, doc).flags == ("normal",)


def test_an_ner_that_knows_nothing_of_medicine_does_no_harm(own_nlp: Language) -> None:
    text = "In 2019 Dr. Smith of Boston saw three patients. The lungs are clear."
    doc = own_nlp(text)
    assert {e.label_ for e in doc.ents} & {"DATE", "PERSON", "GPE", "CARDINAL"}
    assert doc._.clinical_entities == []
    dropped = doc._.dropped_entities
    assert [d["text"] for d in dropped] == [e.text for e in doc.ents]
    assert {d["reason"] for d in dropped} <= {"not_clinical", "single_adjective"}
    for item in dropped:
        assert text[item["start_char"] : item["end_char"]] == item["text"]


def test_supplied_entities_are_refined_with_a_parse(own_nlp: Language) -> None:
    doc = own_nlp.make_doc("Small left effusion. No pneumothorax.")
    for name, component in own_nlp.pipeline:
        if name == "mcse_entity_refiner":
            doc.ents = [Span(doc, 2, 3, "DISEASE"), Span(doc, 5, 6, "DISEASE")]
        doc = component(doc)
    assert [(e.text, e.label_, e._.mcse_text) for e in doc._.clinical_entities] == [
        ("Small left effusion", "FINDING", "small left effusion"),
        ("pneumothorax", "FINDING", "no pneumothorax"),
    ]


def test_without_a_parser_the_default_pipeline_still_works(nlp: Language) -> None:
    with nlp.select_pipes(enable=[n for n in nlp.pipe_names if n.startswith("mcse")]):
        doc = nlp(REPORT)
    assert not doc.has_annotation("DEP")
    assert [(e.text, e._.assertion) for e in doc._.clinical_entities] == [
        ("Moderate right pleural effusion", "present"),
        ("3 cm nodule", "present"),
        ("pneumothorax", "absent"),
        ("mild edema", "uncertain"),
    ]
    assert doc._.mcse(nlp(REPORT)).f1 > 0.9


@pytest.mark.parametrize("pipeline", ["nlp", "blank_nlp", "own_nlp"])
def test_attributes_have_the_types_of_the_contract(
    pipeline: str, request: pytest.FixtureRequest
) -> None:
    doc = request.getfixturevalue(pipeline)(REPORT)
    group = doc.spans["clinical_entities"]
    assert [(s.start, s.end, s.label) for s in group] == [
        (s.start, s.end, s.label) for s in doc._.clinical_entities
    ]
    starts = [e.start for e in doc._.clinical_entities]
    assert starts == sorted(starts)
    for entity in doc._.clinical_entities:
        assert isinstance(entity, Span)
        assert entity.doc is doc
        assert entity.label_ in LABELS
        assert entity._.assertion in ASSERTIONS
        assert entity._.negated is (entity._.assertion == "absent")
        assert isinstance(entity._.mcse_text, str)
        assert isinstance(entity._.concept, str)
        cue = entity._.cue
        assert cue is None or set(cue) == {"text", "start_char", "end_char"}
        assert set(entity._.attributes) <= set(ATTRIBUTES)
        for item in (i for items in entity._.attributes.values() for i in items):
            assert set(item) == {"text", "value", "start_char", "end_char"}
            said = doc.text[item["start_char"] : item["end_char"]]
            assert said == item["text"]
        if cue is not None:
            assert doc.text[cue["start_char"] : cue["end_char"]] == cue["text"]
    for statement in doc._.normal_statements:
        assert all(isinstance(concept, str) for concept in statement._.denies)
        assert statement._.denies
    for item in doc._.dropped_entities:
        assert set(item) == {"text", "label", "start_char", "end_char", "reason"}


def test_components_under_other_names_score() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("mcse_entity_source", name="finder")
    nlp.add_pipe("mcse_entity_refiner", name="judge")
    nlp.add_pipe("mcse_embedder", name="vectors")
    assert spacy_mcse.score("No effusion. Edema.", "Edema.", nlp=nlp).f1 == 1


@pytest.mark.parametrize("text", ["", " ", "   ", "\n", "\r\n\r\n", "\t \n", ".", "-"])
@pytest.mark.parametrize("pipeline", ["nlp", "blank_nlp", "own_nlp"])
def test_pc_082_texts_without_words(
    text: str, pipeline: str, request: pytest.FixtureRequest
) -> None:
    """PC-082: no E030, no other error, no entity."""
    pipe: Language = request.getfixturevalue(pipeline)
    doc = pipe(text)
    assert doc._.clinical_entities == []
    assert doc._.normal_statements == []
    assert doc._.dropped_entities == []
    assert doc.text == text
    other = pipe("Mild edema.")
    for one, two in ((doc, doc), (doc, other), (other, doc)):
        result = one._.mcse(two)
        assert (result.mcse, result.f1) == (0, 0)
        assert one.similarity(two) == 0


def test_pc_082_a_doc_without_tokens_and_sentences() -> None:
    """PC-082: made by hand, with nothing annotated at all."""
    nlp = make_blank()
    for words in ([], ["effusion"]):
        doc = Doc(nlp.vocab, words=words)
        refined = nlp.get_pipe("mcse_entity_refiner")(doc)
        assert refined is doc
        assert doc._.clinical_entities == []


# doc.ents and span groups as input


def test_doc_ents_are_left_as_they_were(nlp: Language, own_nlp: Language) -> None:
    text = "Boston, 2019: small left effusion in Mr. Smith."
    plain = own_nlp.make_doc(text)
    for name, component in own_nlp.pipeline:
        if not name.startswith("mcse"):
            plain = component(plain)
    doc = own_nlp(text)
    assert doc.ents
    for attribute in ("ENT_IOB", "ENT_TYPE", "ENT_ID", "ENT_KB_ID", "SENT_START"):
        assert list(doc.to_array(attribute)) == list(plain.to_array(attribute))
    assert [t.text_with_ws for t in doc] == [t.text_with_ws for t in plain]


def test_missing_entities_stay_missing() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("mcse_entity_refiner")
    doc = nlp("Small left effusion.")
    assert not doc.has_annotation("ENT_IOB")
    assert doc.spans["clinical_entities"].attrs["records"] == []


def test_spans_in_names_the_group_to_read() -> None:
    """Overlapping spans of any labels; `doc.ents` plays no part."""
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("span_ruler", config={"spans_key": "sc"})
    ruler.add_patterns(
        [
            {"label": "DISEASE", "pattern": "effusion"},
            {"label": "PROBLEM", "pattern": "left effusion"},
            {"label": "PROBLEM", "pattern": "edema"},
        ]
    )
    nlp.add_pipe("entity_ruler").add_patterns(
        [{"label": "FINDING", "pattern": "fracture"}]
    )
    nlp.add_pipe("mcse_entity_refiner", config={"spans_in": "sc"})
    doc = nlp("Small left effusion. No edema. Rib fracture.")
    assert [(e.text, e._.assertion) for e in doc._.clinical_entities] == [
        ("Small left effusion", "present"),
        ("edema", "absent"),
    ]
    assert [e.text for e in doc.ents] == ["fracture"]
    assert [s.text for s in doc.spans["sc"]] == ["left effusion", "effusion", "edema"]


def test_a_missing_span_group_reads_as_empty() -> None:
    nlp = make_blank(spans_in="nobody_wrote_this")
    doc = nlp("Left effusion. Heart size is normal.")
    assert doc._.clinical_entities == []
    assert [s.text for s in doc._.normal_statements] == ["Heart size is normal"]
    assert "nobody_wrote_this" not in doc.spans
    assert doc._.mcse(doc).f1 == 1


def test_refining_again_replaces_and_does_not_pile_up(nlp: Language) -> None:
    doc = nlp(REPORT)
    before, keys = facts(doc), set(doc.spans)
    for name in ("mcse_entity_source", "mcse_entity_refiner", "mcse_embedder"):
        doc = nlp.get_pipe(name)(doc)
    assert facts(doc) == before
    assert set(doc.spans) == keys


def test_entity_source_beside_the_ner_of_the_user() -> None:
    """The NER's entities stay, ids and all, and become candidates too."""
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns(
        [
            {"label": "DISEASE", "pattern": "zork", "id": "Z-1"},
            {"label": "DISEASE", "pattern": "left effusion", "id": "Z-2"},
            {"label": "GPE", "pattern": "Boston"},
        ]
    )
    own = nlp("x")  # the ruler alone
    assert own.ents == ()
    text = "Mild zork. Small left effusion. Boston. No rib fracture."
    alone = nlp(text)
    nlp.add_pipe("mcse_entity_source")
    nlp.add_pipe("mcse_entity_refiner", config={"spans_in": "mcse_candidates"})
    doc = nlp(text)
    ents = [(e.text, e.label_, e.ent_id_) for e in doc.ents]
    kept = [(e.text, e.label_, e.ent_id_) for e in alone.ents]
    assert [e for e in ents if e in kept] == kept
    assert [(e.text, e._.assertion) for e in doc._.clinical_entities] == [
        ("Mild zork", "present"),
        ("Small left effusion", "present"),
        ("rib fracture", "absent"),
    ]


def test_entity_source_twice_finds_the_same() -> None:
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "GPE", "pattern": "Boston"}])
    source = nlp.add_pipe("mcse_entity_source")
    doc = nlp("Boston: small left effusion.")
    ents, candidates = doc.ents, list(doc.spans["mcse_candidates"])
    assert [e.text for e in ents] == ["Boston", "effusion"]
    source(doc)
    assert doc.ents == ents
    assert list(doc.spans["mcse_candidates"]) == candidates


def test_entity_source_may_leave_doc_ents_alone() -> None:
    nlp = with_source({"annotate_ents": False})
    doc = nlp("Small left effusion.")
    assert doc.ents == ()
    assert not doc.has_annotation("ENT_IOB")
    assert [e.text for e in doc._.clinical_entities] == ["Small left effusion"]


def test_entity_source_may_replace_the_ner() -> None:
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "GPE", "pattern": "Boston"}])
    nlp.add_pipe("mcse_entity_source", config={"keep_ents": False})
    assert [e.text for e in nlp("Boston: edema.").ents] == ["edema"]


def test_assess_changes_nothing(nlp: Language) -> None:
    doc = nlp("The boat is not damaged. No left effusion.")
    ents, groups = doc.ents, {key: list(group) for key, group in doc.spans.items()}
    found = nlp.get_pipe("mcse_entity_refiner").assess(doc, [doc[6:8], doc[1:2]])
    assert [set(row) for row in found] == [
        {"assertion", "cue", "attributes", "mcse_text"}
    ] * 2
    assert found[0]["assertion"] == "absent"
    assert doc.ents == ents
    assert {key: list(group) for key, group in doc.spans.items()} == groups


# Steps of the refining, one by one


STEPS = [
    ("drop_devices", "device", "chest tube", "There is a chest tube ."),
    ("drop_procedures", "procedure", "radiograph", "A radiograph was taken ."),
    ("drop_anatomy", "anatomy", "lung", "The lung was seen ."),
    ("drop_change_only", "change_only", "improvement", "There is improvement ."),
    ("drop_single_adjectives", "single_adjective", "mild", "This was mild ."),
    ("drop_not_clinical", "not_clinical", "patient", "The patient was seen ."),
    ("drop_history", "history", "asthma", "History of asthma ."),
    ("drop_hypothetical", "hypothetical", "asthma", "Rule out asthma ."),
]


def refined(plain: Language, text: str, terms: list[str], **config: Any) -> Doc:
    """Refine a text in which all of some words are entities of some recognizer."""
    doc = plain.make_doc(text)
    spans = [
        doc.char_span(text.index(term), text.index(term) + len(term), label="ENT")
        for term in terms
    ]
    doc.ents = [span for span in spans if span is not None]
    assert len(doc.ents) == len(terms)
    return EntityRefiner(**config)(doc)


@pytest.mark.parametrize(("setting", "reason", "term", "text"), STEPS)
def test_each_filter_can_be_switched_off(
    plain: Language, setting: str, reason: str, term: str, text: str
) -> None:
    doc = refined(plain, text, [term])
    assert doc._.clinical_entities == []
    dropped = [(d["text"], d["reason"]) for d in doc._.dropped_entities]
    assert dropped == [(term, reason)]
    doc = refined(plain, text, [term], **{setting: False})
    assert reason not in [d["reason"] for d in doc._.dropped_entities]
    doc = refined(plain, text, [term], **{step[0]: False for step in STEPS})
    assert [e.text for e in doc._.clinical_entities] == [term]
    assert doc._.dropped_entities == []


def test_the_other_steps_can_be_switched_off(plain: Language) -> None:
    text = "No small left effusion. Heart size is normal."
    (entity,) = refined(plain, text, ["effusion"])._.clinical_entities
    assert (entity.text, entity._.assertion) == ("small left effusion", "absent")
    doc = refined(plain, text, ["effusion"], attach_modifiers=False)
    (entity,) = doc._.clinical_entities
    assert (entity.text, entity._.assertion) == ("effusion", "absent")
    doc = refined(plain, text, ["effusion"], attach_assertion=False)
    (entity,) = doc._.clinical_entities
    assert (entity.text, entity._.assertion) == ("small left effusion", "present")
    assert entity._.cue is None
    assert [s.text for s in doc._.normal_statements] == ["Heart size is normal"]
    doc = refined(plain, text, ["effusion"], find_normal_statements=False)
    assert doc._.normal_statements == []


def test_sections_that_count_are_a_setting(plain: Language) -> None:
    text = "HISTORY: Pneumonia. FINDINGS: Left effusion. IMPRESSION: Rib fracture."
    terms = ["Pneumonia", "effusion", "fracture"]

    def entities(**config: Any) -> list[str]:
        return [
            e.text for e in refined(plain, text, terms, **config)._.clinical_entities
        ]

    assert entities() == ["Left effusion", "Rib fracture"]
    assert entities(sections=None) == ["Pneumonia", "Left effusion", "Rib fracture"]
    assert entities(sections=["impression"]) == ["Rib fracture"]
    dropped = refined(plain, text, terms)._.dropped_entities
    assert [(d["text"], d["reason"]) for d in dropped] == [("Pneumonia", "section")]


# analyze_pipes


def test_analyze_pipes_finds_no_problem(nlp: Language, own_nlp: Language) -> None:
    for pipe in (nlp, own_nlp, with_source()):
        assert not any(pipe.analyze_pipes()["problems"].values())


def test_analyze_pipes_names_what_is_missing() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("mcse_embedder")
    nlp.add_pipe("mcse_entity_refiner")
    assert nlp.analyze_pipes()["problems"] == {
        "mcse_embedder": ["doc.spans", "doc._.clinical_entities"],
        "mcse_entity_refiner": ["doc.ents"],
    }
    with pytest.raises(ValueError, match=r"E201.*mcse_entity_refiner"):
        nlp("Edema.")


def test_what_components_say_they_assign_is_assigned() -> None:
    nlp = with_source()
    doc = nlp(REPORT)
    for attribute in nlp.analyze_pipes()["attrs"]:
        target, _, name = attribute.rpartition("._.")
        if target:
            assert {"doc": Doc, "span": Span}[target].has_extension(name)
    assigned = {name: set(nlp.get_pipe_meta(name).assigns) for name in nlp.pipe_names}
    assert assigned["mcse_entity_source"] == {"doc.spans", "doc.ents"}
    assert doc.ents
    assert {"mcse_candidates", "clinical_entities"} <= set(doc.spans)
    assert {
        "doc._.clinical_entities",
        "doc._.normal_statements",
        "doc._.dropped_entities",
        *(f"span._.{name}" for name in SPAN_GETTERS),
    } <= assigned["mcse_entity_refiner"]
    assert "doc.ents" not in assigned["mcse_entity_refiner"]
    assert "doc._.mcse" in assigned["mcse_embedder"]


# PC-074: unknown words


def test_pc_074_unknown_words_without_vectors() -> None:
    """PC-074: identical unknown words get 1, and spaCy never warns of zero vectors.

    Warnings are errors here (pyproject.toml), W007 and W008 among them.
    """
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns(
        [{"label": "FINDING", "pattern": word} for word in ("xqzt", "vrblk")]
    )
    nlp.add_pipe("mcse_entity_refiner")
    nlp.add_pipe("mcse_embedder")
    assert not nlp.vocab.vectors_length
    one, same, other = nlp.pipe(["xqzt", "xqzt", "vrblk"])
    assert one.similarity(same) == 1.0
    assert one._.mcse(same).f1 == 1.0
    assert 0 <= one.similarity(other) <= 1
    assert one._.mcse(other).f1 < 0.5


# PC-085, PC-086: config


OPTIONS: dict[str, dict[str, Any]] = {
    "mcse_entity_source": {
        "spans_key": "mine",
        "annotate_ents": False,
        "keep_ents": False,
        "noun_phrases": False,
    },
    "mcse_entity_refiner": {
        "spans_in": "mine",
        "ent_types": ["FINDING", "ANATOMY"],
        "sections": ["impression"],
        "drop_devices": False,
        "attach_modifiers": False,
        "find_normal_statements": False,
    },
    "mcse_embedder": {
        "encoder": {"@misc": HASH_ENCODER},
        "similarity": "f1",
        "scoring": {"side_wrong": 0.125, "ignore_change": True},
        "cache_size": 77,
    },
}


def test_pc_085_config_round_trip() -> None:
    """PC-085: options that are not the defaults come back as they were."""
    nlp = spacy.blank("en")
    for name, options in OPTIONS.items():
        nlp.add_pipe(name, config=options)
    again = load_model_from_config(Config().from_str(nlp.config.to_str()))
    assert again.config["components"] == nlp.config["components"]
    for name, options in OPTIONS.items():
        block = again.config["components"][name]
        assert {key: block[key] for key in options} == options
    refiners = [n.get_pipe("mcse_entity_refiner") for n in (nlp, again)]
    assert refiners[0].cfg == refiners[1].cfg
    assert refiners[0].fingerprint == refiners[1].fingerprint
    embedder = again.get_pipe("mcse_embedder")
    assert embedder.similarity == "f1"
    assert embedder.cache_size == 77
    assert embedder.settings == nlp.get_pipe("mcse_embedder").settings
    assert embedder.settings.side_wrong == 0.125
    text = "IMPRESSION: Small left effusion. No edema."
    assert facts(again(text)) == facts(nlp(text))


def test_pc_085_the_default_pipeline_reloads_from_its_config(nlp: Language) -> None:
    read = Config().from_str(nlp.config.to_str())
    assert read["components"] == nlp.config["components"]
    for name in OPTIONS:
        block = nlp.config["components"][name]
        defaults = nlp.get_pipe_meta(name).default_config
        assert set(block) == {*defaults, "factory"}


def test_pc_085_sets_are_kept_as_sorted_lists() -> None:
    refiner = EntityRefiner(ent_types={"B", "A"}, sections=frozenset({"impression"}))
    assert refiner.cfg["ent_types"] == ["A", "B"]
    assert refiner.cfg["sections"] == ["impression"]
    same = EntityRefiner(ent_types=["A", "B"], sections=["impression"])
    assert refiner.fingerprint == same.fingerprint


@pytest.mark.parametrize(
    ("factory", "config", "named"),
    [
        ("mcse_entity_refiner", {"ent_types": '["FINDING"'}, "ent_types"),
        ("mcse_entity_refiner", {"ent_types": "FINDING"}, "ent_types"),
        ("mcse_entity_refiner", {"sections": "findings"}, "sections"),
        ("mcse_entity_refiner", {"drop_device": True}, "drop_device"),
        ("mcse_entity_refiner", {"drop_devices": "maybe"}, "drop_devices"),
        ("mcse_entity_refiner", {"spans_in": 3}, "spans_in"),
        ("mcse_entity_source", {"spans_key": None}, "spans_key"),
        ("mcse_entity_source", {"keys": "x"}, "keys"),
        ("mcse_embedder", {"cache_size": "many"}, "cache_size"),
        ("mcse_embedder", {"encoder": "static"}, "encoder"),
        ("mcse_embedder", {"scoring": ["side_wrong"]}, "scoring"),
        ("mcse_embedder", {"vectors": True}, "vectors"),
    ],
)
def test_pc_086_bad_options_are_refused(
    plain: Language, factory: str, config: dict[str, Any], named: str
) -> None:
    """PC-086: a wrong type and an unknown name are errors that name the component."""
    with pytest.raises(ConfigValidationError, match=rf"{factory} -> {named}"):
        plain.add_pipe(factory, config=config)


@pytest.mark.parametrize("argument", ["ent_types", "sections"])
def test_pc_086_a_string_is_no_list(argument: str) -> None:
    """PC-086: never read letter by letter, in code either."""
    with pytest.raises(ValueError, match=rf"E104.*'{argument}'.*the string 'abc'"):
        EntityRefiner(**{argument: "abc"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("factory", "config", "message"),
    [
        ("mcse_embedder", {"similarity": "cosine"}, r"E105.*'cosine'.*mcse, f1"),
        ("mcse_embedder", {"cache_size": -1}, r"E105.*cache_size.*-1"),
        ("mcse_embedder", {"scoring": {"sides": 1}}, r"E406.*sides.*side_wrong"),
        ("mcse_embedder", {"scoring": {"side_wrong": 7}}, r"E407.*side_wrong.*7"),
        ("mcse_entity_source", {"lexicons": {"a": "b"}}, r"E105.*'a'.*findings"),
        ("mcse_entity_refiner", {"lexicons": {"a": "b"}}, r"E105.*'a'.*findings"),
    ],
)
def test_values_that_are_not_allowed_are_refused(
    plain: Language, factory: str, config: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        plain.add_pipe(factory, config=config)


def w101(found: list[warnings.WarningMessage]) -> list[str]:
    return [str(w.message) for w in found if "W101" in str(w.message)]


def test_pc_086_a_label_that_never_occurs_is_warned_of_once() -> None:
    """PC-086: at the end of a stream, with the label and the number of texts."""
    nlp = make_blank(ent_types=["FINDINGS", "finding"])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(3):
            assert all(not d._.clinical_entities for d in nlp.pipe(["Edema."] * 5))
    (message,) = w101(found)
    assert "first 5 documents" in message
    assert "FINDINGS, finding" in message


def test_pc_086_a_label_that_never_occurs_one_by_one() -> None:
    nlp = make_blank(ent_types=["PROBLEM"])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(250):
            nlp("Edema.")
    assert len(w101(found)) == 1


def test_pc_086_a_label_that_occurs_is_not_warned_of() -> None:
    nlp = make_blank(ent_types=["FINDING", "OTHER"])
    texts = ["Nothing."] * 60 + ["Edema."] + ["Nothing."] * 60
    docs = list(nlp.pipe(texts))
    assert sum(len(doc._.clinical_entities) for doc in docs) == 1


def test_pc_086_texts_without_any_entity_say_nothing_about_labels() -> None:
    """A pair of normal reports is no sign of a misspelt label."""
    nlp = make_blank(ent_types=["FINDING"])
    result = spacy_mcse.score("Lungs are clear.", "Clear lungs.", nlp=nlp)
    assert result.f1 == 1


def w102(found: list[warnings.WarningMessage]) -> list[str]:
    return [str(w.message) for w in found if "W102" in str(w.message)]


def test_a_span_group_that_no_doc_has_is_warned_of_once() -> None:
    for ent_types in (None, ["FINDING"]):
        nlp = make_blank(spans_in="nobody_wrote_this", ent_types=ent_types)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for _ in range(3):
                list(nlp.pipe(["Edema.", "", "Mild effusion."]))
        (message,) = w102(found)
        assert "first 2 documents" in message
        assert "'nobody_wrote_this'" in message
        assert not w101(found)


def test_a_refiner_in_front_of_its_source_is_warned_of_one_by_one() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("mcse_entity_refiner", config={"spans_in": "sc"})
    ruler = nlp.add_pipe("span_ruler", config={"spans_key": "sc"})
    ruler.add_patterns([{"label": "FINDING", "pattern": "Edema"}])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(250):
            nlp("Edema.")
    (message,) = w102(found)
    assert "in front of 'mcse_entity_refiner'" in message


def test_a_span_group_that_some_docs_have_is_not_warned_of() -> None:
    nlp = make_blank(spans_in="sc")
    docs = [nlp.make_doc("Edema.") for _ in range(250)]
    docs[60].spans["sc"] = []
    list(nlp.pipe(docs))
    list(nlp.pipe(["Edema."] * 250))


def test_ent_types_choose_what_is_read() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns(
        [
            {"label": "DISEASE", "pattern": "edema"},
            {"label": "PROBLEM", "pattern": "effusion"},
        ]
    )
    nlp.add_pipe("mcse_entity_refiner", config={"ent_types": ["PROBLEM"]})
    doc = nlp("Edema. Mild edema and left effusion.")
    assert [e.text for e in doc._.clinical_entities] == ["left effusion"]


# PC-088, PC-089: streams


def test_pc_088_as_tuples_keeps_the_order(blank_nlp: Language) -> None:
    """PC-088: 1,000 texts with ids, in batches that do not divide them."""
    texts = [("" if i % 7 == 0 else f"{i} mm effusion.", i) for i in range(1000)]
    result = list(blank_nlp.pipe(texts, as_tuples=True, batch_size=37))
    assert [i for _, i in result] == list(range(1000))
    for doc, i in result:
        assert doc.text == texts[i][0]
        assert len(doc._.clinical_entities) == (i % 7 != 0)


def test_pc_089_the_embedder_encodes_in_batches() -> None:
    """PC-089: 256 Docs take two calls of the encoder and not 256."""
    nlp = make_blank()
    encoder = nlp.get_pipe("mcse_embedder").encoder
    assert isinstance(encoder, HashEncoder)
    texts = [f"{i} mm effusion." for i in range(256)]
    docs = list(nlp.pipe(texts, batch_size=128))
    assert encoder.calls == 2
    # Each distinct phrase once.
    assert max(Counter(encoder.texts).values()) == 1
    phrases = {
        text
        for doc in docs
        for entity in doc._.clinical_entities
        for text in (entity._.mcse_text, entity._.concept)
    }
    assert set(encoder.texts) == phrases
    one_by_one = make_blank()
    for text in texts:
        one_by_one(text)
    assert one_by_one.get_pipe("mcse_embedder").encoder.calls == 256


def test_pc_089_a_batch_gives_what_single_docs_give(nlp: Language) -> None:
    texts = [REPORT, "", "No edema.", "Mild edema, left effusion.", REPORT]
    alone = [nlp(text) for text in texts]
    for size in (1, 2, 100):
        batch = list(nlp.pipe(texts, batch_size=size))
        for one, two in zip(alone, batch, strict=True):
            assert facts(one) == facts(two)
            result, expected = two._.mcse(batch[0]), one._.mcse(alone[0])
            assert result.f1 == pytest.approx(expected.f1, abs=1e-6)
            assert result.mcse == pytest.approx(expected.mcse, abs=1e-6)


def test_phrases_seen_before_are_not_encoded_again() -> None:
    nlp = make_blank()
    encoder = nlp.get_pipe("mcse_embedder").encoder
    list(nlp.pipe(["Mild effusion."] * 300))
    (entity,) = nlp("Mild effusion.")._.clinical_entities
    assert encoder.texts == [entity._.mcse_text, entity._.concept]
    assert encoder.calls == 1


def test_the_cache_is_bounded_and_the_oldest_go_first() -> None:
    embedder = Embedder(HashEncoder(), cache_size=4)
    words = [f"word{i}" for i in range(20)]
    rows = embedder.encode(words)  # more at once than the cache holds
    assert np.allclose(rows, HashEncoder().encode(words))
    embedder.encoder.texts.clear()
    embedder.encode(words[-4:])
    assert embedder.encoder.texts == []
    assert np.allclose(embedder.encode(words[:1]), rows[:1])
    assert embedder.encoder.texts == words[:1]


def test_no_cache_at_all() -> None:
    embedder = Embedder(HashEncoder(), cache_size=0)
    one = embedder.encode(["edema", "mass", "edema"])
    assert embedder.encoder.texts == ["edema", "mass"]
    assert np.array_equal(one[0], one[2])
    assert np.array_equal(embedder.encode(["mass"])[0], one[1])
    assert len(embedder.encoder.texts) == 3


def test_threads_share_a_cache_that_is_too_small() -> None:
    embedder = Embedder(HashEncoder(), cache_size=2)
    words = [f"word{i}" for i in range(40)]
    wanted = HashEncoder().encode(words)

    def encode(first: int) -> bool:
        order = [(first + 7 * i) % 40 for i in range(3)]
        rows = embedder.encode([words[i] for i in order])
        return np.array_equal(rows, wanted[order])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(encode, range(4000)))
    finally:
        sys.setswitchinterval(interval)
    assert len(embedder._cache) <= 2
    assert len(pickle.loads(pickle.dumps(embedder)).encode(words[:3])) == 3


def test_another_thread_may_drop_a_phrase_at_any_moment() -> None:
    class Dropping(HashEncoder):
        def encode(self, texts: Sequence[str]) -> np.ndarray:
            embedder._cache.clear()
            return super().encode(texts)

    embedder = Embedder(Dropping(), cache_size=2)
    first = embedder.encode(["edema", "mass"])
    assert np.array_equal(
        embedder.encode(["mass", "effusion", "edema"])[::2], first[::-1]
    )


class FailingEncoder(HashEncoder):
    """Cannot read one word."""

    def encode(self, texts: Any) -> np.ndarray:
        if any("fracture" in text for text in texts):
            raise RuntimeError("cannot encode")
        return super().encode(texts)


def test_an_encoder_that_fails_reaches_the_error_handler() -> None:
    nlp = make_blank()
    embedder = nlp.get_pipe("mcse_embedder")
    embedder.encoder = FailingEncoder()
    texts = ["Edema.", "Rib fracture.", "Left effusion."]
    with pytest.raises(RuntimeError, match="cannot encode"):
        list(nlp.pipe(texts))
    failed: list[Doc] = []
    embedder.set_error_handler(lambda name, pipe, docs, error: failed.extend(docs))
    docs = list(nlp.pipe(texts, batch_size=1))
    assert [doc.text for doc in docs] == ["Edema.", "Left effusion."]
    assert [doc.text for doc in failed] == ["Rib fracture."]


# PC-091: long texts


def test_pc_091_the_only_finding_stands_last_in_1500_words(nlp: Language) -> None:
    """PC-091: nothing is cut off."""
    filler = "The examination was performed on the same day as the last one. " * 125
    text = f"{filler}Small left pleural effusion."
    assert len(text.split()) > 1500
    doc = nlp(text)
    assert [e.text for e in doc._.clinical_entities] == ["Small left pleural effusion"]
    short = nlp("Small left pleural effusion.")
    assert short._.mcse(doc).f1 == doc._.mcse(short).f1 == 1


def test_pc_091_a_thousand_line_breaks(nlp: Language) -> None:
    """PC-091: nor do line breaks end the text."""
    doc = nlp("Mild edema." + "\n" * 1000 + "No left effusion.")
    assert [(e.text, e._.assertion) for e in doc._.clinical_entities] == [
        ("Mild edema", "present"),
        ("left effusion", "absent"),
    ]


# Word lists of the user's own


def own_lists(path: Path) -> Language:
    lists = {"findings": str(path)}
    nlp = with_source({"lexicons": lists}, lexicons=lists)
    return nlp


TEXT_OF_OWN_LIST = "Mild zork disease. No pleural effusion."


def check_own_list(nlp: Language) -> None:
    doc = nlp(TEXT_OF_OWN_LIST)
    found = [(e._.concept, e._.mcse_text) for e in doc._.clinical_entities]
    assert found == [("zorkopathy", "mild zork disease")]


@pytest.fixture
def own_list(tmp_path: Path) -> Path:
    path = tmp_path / "lists" / "our_findings.tsv"
    path.parent.mkdir()
    path.write_text(OWN_LIST, "utf8")
    return path


def test_own_word_list_replaces_the_packaged_one(own_list: Path) -> None:
    nlp = own_lists(own_list)
    doc = nlp("Mild zork disease, zorkopathy, two zorks. No pneumonia.")
    concepts = {e._.concept for e in doc._.clinical_entities}
    assert concepts == {"zorkopathy"}
    packaged = with_source()
    refiners = [n.get_pipe("mcse_entity_refiner") for n in (nlp, packaged)]
    assert refiners[0].fingerprint != refiners[1].fingerprint
    with pytest.raises(ValueError, match=r"E404.*refiner"):
        nlp("Zorks.")._.mcse(packaged("Edema."))


def test_own_word_list_is_saved_inside_the_pipeline(
    own_list: Path, tmp_path: Path
) -> None:
    nlp = own_lists(own_list)  # never used before it is saved
    nlp.to_disk(tmp_path / "saved")
    data = nlp.to_bytes()
    pickled = pickle.dumps(nlp)
    config = Config().from_str(nlp.config.to_str())
    own_list.unlink()
    check_own_list(spacy.load(tmp_path / "saved"))
    check_own_list(pickle.loads(pickled))
    again = load_model_from_config(config).from_bytes(data)
    check_own_list(again)
    again.to_disk(tmp_path / "saved again")
    check_own_list(spacy.load(tmp_path / "saved again"))
    fingerprints = {
        n.get_pipe("mcse_entity_refiner").fingerprint
        for n in (again, pickle.loads(pickled), spacy.load(tmp_path / "saved"))
    }
    assert len(fingerprints) == 1


def test_packaged_word_lists_are_not_copied(tmp_path: Path) -> None:
    nlp = with_source()
    nlp("Edema.")
    nlp.to_disk(tmp_path)
    assert not list(tmp_path.rglob("findings.tsv"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("term\tconcept\nzork\tzorks\n", 1),
        ("# comment\nconcept\tterms\tkind\na\tb\tc\td\n", 3),
    ],
)
def test_a_malformed_word_list_is_named_with_its_line(
    own_list: Path, text: str, line: int
) -> None:
    own_list.write_text(text, "utf8")
    with pytest.raises(ValueError, match=rf"E106.*'findings', line {line}"):
        own_lists(own_list)("Zorks.")


def test_a_missing_word_list_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"E107.*nowhere\.tsv"):
        own_lists(tmp_path / "nowhere.tsv")("Zorks.")


# Saving parts, loading


def test_pc_092_exclude_on_save(tmp_path: Path) -> None:
    """PC-092: a pipeline saved without the embedder's folder loads and works."""
    nlp = spacy.blank("en")
    nlp.add_pipe("mcse_entity_source")
    nlp.add_pipe("mcse_entity_refiner")
    nlp.add_pipe("mcse_embedder", config={"similarity": "f1"})
    nlp.to_disk(tmp_path / "all")
    nlp.to_disk(tmp_path / "some", exclude=["mcse_embedder", "mcse_entity_source"])
    assert (tmp_path / "all" / "mcse_embedder").is_dir()
    assert not (tmp_path / "some" / "mcse_embedder").exists()
    again = spacy.load(tmp_path / "some")
    one, two = again.pipe(["Left effusion. Edema.", "Edema."])
    assert one.similarity(two) == pytest.approx(
        nlp(one.text).similarity(nlp(two.text)), abs=1e-6
    )
    # What was left out comes from the package: one can be compared with the other.
    assert one._.mcse(nlp("Edema.")).recall == 0.5


def test_pc_092_exclude_on_load(tmp_path: Path) -> None:
    """PC-092: without the component the score says what is missing."""
    nlp = make_blank()
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path, exclude=["mcse_embedder"])
    doc = again("Left effusion.")
    assert [e.text for e in doc._.clinical_entities] == ["Left effusion"]
    with pytest.raises(ValueError, match=r"E405.*add_pipe\('mcse_embedder'\)"):
        doc._.mcse(doc)
    with pytest.raises(ValueError, match=r"E405.*mcse_embedder"):
        spacy_mcse.attach_similarity(doc).similarity(doc)
    with pytest.raises(ValueError, match=r"E103.*add_pipe\('mcse_embedder'\)"):
        spacy_mcse.score("Edema.", "Edema.", nlp=again)
    none = spacy.load(tmp_path, exclude=["mcse_embedder", "mcse_entity_refiner"])
    with pytest.raises(ValueError, match=r"E201.*mcse_entity_refiner"):
        none("Edema.")._.mcse(doc)


def test_a_missing_base_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "is_package", lambda name: False)
    for name in ("en_mcse_cxr_sm", "en_mcse_cxr_trf"):
        message = rf"E102.*{name}.*pip install \"spacy-mcse\[cxr\]\""
        with pytest.raises(OSError, match=message) as caught:
            spacy_mcse.load(name)
        assert "\n" not in str(caught.value)


def test_a_missing_encoder_names_the_command(
    nlp: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipelines, "find_spec", lambda name: None)
    with pytest.raises(OSError, match=r"E102.*Get it with: pip install") as caught:
        spacy_mcse.load("en_mcse_cxr_trf")
    assert "\n" not in str(caught.value)


def test_an_unknown_pipeline_names_what_is_allowed() -> None:
    with pytest.raises(OSError, match=r"E101.*'en_no_such'.*en_mcse_cxr_sm"):
        spacy_mcse.load("en_no_such")


def test_an_installed_package_is_loaded_in_place_of_the_config(
    blank_nlp: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Any] = []

    def load_model(name: str) -> Language:
        loaded.append(name)
        return blank_nlp

    monkeypatch.setattr(pipelines, "is_package", lambda name: True)
    monkeypatch.setattr(pipelines, "load_model", load_model)
    assert spacy_mcse.load() is blank_nlp
    assert spacy_mcse.load("en_core_sci_md") is blank_nlp
    assert loaded == ["en_mcse_cxr_sm", "en_core_sci_md"]


def test_a_saved_pipeline_is_loaded_by_its_path(tmp_path: Path) -> None:
    make_blank().to_disk(tmp_path / "mine")
    for path in (tmp_path / "mine", str(tmp_path / "mine")):
        assert spacy_mcse.load(path)("Edema.")._.clinical_entities


def test_the_default_pipeline_says_what_it_is(nlp: Language) -> None:
    assert (nlp.lang, nlp.meta["name"]) == ("en", "mcse_cxr_sm")
    assert nlp.meta["version"] == spacy_mcse.__version__
    signature = str(spacy_mcse.score("Edema.", "Edema.", nlp=nlp).signature)
    assert f"en_mcse_cxr_sm-{spacy_mcse.__version__}" in signature


def test_the_default_pipeline_loads_from_a_bare_source_tree(
    nlp: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    signature.package_version.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(signature, "version", missing)
        assert spacy_mcse.load().meta["version"] == "0.0.0"
    signature.package_version.cache_clear()


# Other packages on the same Doc


def test_other_span_groups_and_attributes_stay() -> None:
    nlp = make_blank()
    doc = nlp.make_doc("Left effusion.")
    doc.spans["mine"] = SpanGroup(doc, name="mine", spans=[doc[0:1]])
    doc.user_data["mine"] = [1]
    for _, component in nlp.pipeline:
        doc = component(doc)
    assert [s.text for s in doc.spans["mine"]] == ["Left"]
    assert doc.user_data == {"mine": [1]}


def _of_another_package(*arguments: Any) -> None: ...


@pytest.mark.parametrize(
    ("target", "name", "kind"),
    [(Doc, "mcse", "method"), (Doc, "mcse", "getter"), (Span, "concept", "getter")],
)
def test_the_attribute_of_another_package_is_kept_with_a_warning(
    target: Any, name: str, kind: str
) -> None:
    ours = target.get_extension(name)
    try:
        target.set_extension(name, force=True, **{kind: _of_another_package})
        theirs = target.get_extension(name)
        with pytest.warns(UserWarning, match=rf"W201.*doc\._\.{name} "):
            install()
        assert target.get_extension(name) == theirs
    finally:
        _, method, getter, _ = ours
        target.set_extension(name, force=True, method=method, getter=getter)
    assert target.get_extension(name) == ours
    install()  # no warning for our own


def test_spans_that_are_no_clinical_entities_have_no_record(nlp: Language) -> None:
    doc = nlp("The film. No left effusion.")
    span = doc[0:2]
    assert span._.assertion is None
    assert span._.negated is False
    assert (span._.cue, span._.attributes) == (None, {})
    assert (span._.mcse_text, span._.concept, span._.denies) == ("", "", [])
