"""The assertion that another component gives: `assertion_attr` of the refiner."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import spacy
from conftest import make_blank
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_mcse.refiner import EntityRefiner

ATTR = "given_by_test"
# No rule of ours finds "quux": what is said of a span is said by the test alone.
TEXT = "Small effusion. No edema. Quux pneumothorax."


@pytest.fixture(autouse=True)
def extension() -> Iterator[None]:
    Span.set_extension(ATTR, default=None, force=True)
    yield
    if Span.has_extension(ATTR):
        Span.remove_extension(ATTR)


def spans_of(doc: Doc, *texts: str) -> list[Span]:
    spans = []
    for text in texts:
        start = doc.text.index(text)
        span = doc.char_span(start, start + len(text), "ENTITY")
        assert span is not None
        spans.append(span)
    return spans


def given(text: str, said: dict[str, Any], **settings: Any) -> Doc:
    """Refine a text whose entities are the keys of `said`, with the values set."""
    nlp = spacy.blank("en")
    doc = nlp.add_pipe("sentencizer")(nlp.make_doc(text))
    doc.ents = spans_of(doc, *said)
    for span, value in zip(doc.ents, said.values(), strict=True):
        if value is not ...:
            span._.set(ATTR, value)
    settings = {"sections": None, **settings}
    return EntityRefiner(assertion_attr=ATTR, **settings)(doc)


def assertions(doc: Doc) -> dict[str, str]:
    return {span.text: span._.assertion for span in doc._.clinical_entities}


@pytest.mark.parametrize(
    ("value", "assertion"),
    [
        (True, "absent"),
        (False, "present"),
        (np.bool_(True), "absent"),
        ("absent", "absent"),
        ("present", "present"),
        ("uncertain", "uncertain"),
    ],
)
def test_values_are_read(value: Any, assertion: str) -> None:
    # "No" is a cue of ours: it does not count.
    doc = given("No effusion.", {"effusion": value})
    (span,) = doc._.clinical_entities
    assert span._.assertion == assertion
    assert span._.negated == (assertion == "absent")
    assert span._.cue is None
    assert span._.mcse_text == ("no effusion" if assertion == "absent" else "effusion")


def test_our_rules_decide_where_nothing_is_said() -> None:
    doc = given(TEXT, {"effusion": True, "edema": None, "pneumothorax": ...})
    assert assertions(doc) == {
        "Small effusion": "absent",
        "edema": "absent",
        "pneumothorax": "present",
    }
    cues = [span._.cue and span._.cue["text"] for span in doc._.clinical_entities]
    assert cues == [None, "No", None]


@pytest.mark.parametrize("value", [1, 0.5, "negated", ["absent"], {"a": 1}])
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"E109.*span\._\.given_by_test") as error:
        given("Large effusion.", {"effusion": value})
    assert "ffusion" not in str(error.value).replace("mcse_entity_refiner", "")
    assert "negated" not in str(error.value)


def test_missing_extension_names_the_component_to_add() -> None:
    refiner = EntityRefiner(assertion_attr="not_there")
    for run in (refiner, lambda doc: refiner.assess(doc, [doc[0:1]])):
        with pytest.raises(ValueError, match=r"E108.*span\._\.not_there.*'negex'"):
            run(spacy.blank("en")("Lungs are clear."))


def test_empty_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"E105.*assertion_attr"):
        make_blank(assertion_attr="")


def test_all_findings_of_a_candidate_have_what_was_said_of_it() -> None:
    text = "Small right and large left effusions. There is opacity with atelectasis."
    doc = given(text, {"left effusions": "uncertain", "opacity with atelectasis": True})
    assert assertions(doc) == {
        "Small right and large left effusions": "uncertain",
        "large left effusions": "uncertain",
        "opacity": "absent",
        "atelectasis": "absent",
    }


def test_devices_are_denied_by_it_too() -> None:
    doc = given("The chest tube.", {"chest tube": True})
    assert doc._.clinical_entities == []
    (device,) = doc.spans["mcse_devices"].attrs["records"]
    assert device["assertion"] == "absent"


def test_filters_and_normal_statements_go_by_our_rules() -> None:
    text = "History of edema. CT to exclude a fracture. The lungs are clear."
    for value in (True, False):
        doc = given(text, {"edema": value, "fracture": value})
        assert doc._.clinical_entities == []
        reasons = [item["reason"] for item in doc._.dropped_entities]
        assert reasons == ["history", "hypothetical"]
        assert [span.text for span in doc._.normal_statements] == ["lungs are clear"]


def test_nothing_is_denied_without_the_step() -> None:
    doc = given(TEXT, {"effusion": True, "edema": True}, attach_assertion=False)
    assert set(assertions(doc).values()) == {"present"}


def test_what_is_left_of_a_finding_has_not_resolved() -> None:
    for value, change in ((True, "resolved"), (False, "better")):
        doc = given("The effusion has resolved.", {"effusion": value})
        (span,) = doc._.clinical_entities
        assert [item["value"] for item in span._.attributes["change"]] == [change]


def test_span_groups_share_values_by_offsets() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    doc = nlp("Small effusion. Edema.")
    doc.spans["found"] = spans_of(doc, "effusion", "Edema")
    doc.ents = spans_of(doc, "effusion")
    doc.ents[0]._.set(ATTR, True)
    refiner = EntityRefiner(spans_in="found", assertion_attr=ATTR, sections=None)
    assert assertions(refiner(doc)) == {"Small effusion": "absent", "Edema": "present"}


def test_a_getter_is_asked() -> None:
    Span.set_extension(ATTR, getter=_is_small, force=True)
    doc = given(TEXT, {"effusion": ..., "edema": ...})
    assert assertions(doc) == {"Small effusion": "absent", "edema": "present"}


def _is_small(span: Span) -> bool:
    return span.start > 0 and span.doc[span.start - 1].lower_ == "small"


def test_assess_reads_the_given_spans() -> None:
    Span.set_extension(ATTR, default=False, force=True)
    doc = given(TEXT, {"effusion": True})
    before = dict(doc.user_data)
    refiner = EntityRefiner(assertion_attr=ATTR)
    spans = spans_of(doc, "effusion", "edema", "Small effusion")
    found = refiner.assess(doc, spans)
    # Nobody has said anything of the others: they have the default of the extension.
    assert [one["assertion"] for one in found] == ["absent", "present", "present"]
    assert [one["cue"] for one in found] == [None] * 3
    assert found[0]["mcse_text"] == "no small effusion"
    assert doc.user_data == before


def test_the_hash_changes_only_where_it_is_used() -> None:
    default = EntityRefiner()
    assert "assertion_attr" not in default.cfg
    assert EntityRefiner(assertion_attr=None).fingerprint == default.fingerprint
    assert EntityRefiner(assertion_attr=ATTR).fingerprint != default.fingerprint


def test_the_setting_is_saved(tmp_path: Any) -> None:
    make_blank(assertion_attr=ATTR).to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    assert nlp.get_pipe("mcse_entity_refiner").cfg["assertion_attr"] == ATTR


def test_a_warning_where_nobody_says_anything() -> None:
    Span.set_extension(ATTR, default=False, force=True)
    nlp = make_blank(assertion_attr=ATTR)
    texts = ["No edema."] * 150
    with pytest.warns(UserWarning, match="W104.*span_keys") as caught:
        list(nlp.pipe(texts))
    assert len(caught) == 1


def test_no_warning_once_something_was_said() -> None:
    Span.set_extension(ATTR, default=False, force=True)
    nlp = make_blank(assertion_attr=ATTR)
    docs = [nlp.make_doc("Edema.") for _ in range(150)]
    docs[40][0:1]._.set(ATTR, True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [doc._.clinical_entities[0]._.negated for doc in nlp.pipe(docs)]
    assert found == [False] * 40 + [True] + [False] * 109


class TestNegex:
    """With negspaCy itself."""

    @pytest.fixture
    def nlp(self) -> Iterator[Language]:
        pytest.importorskip("negspacy")
        import negspacy.negation  # noqa: F401

        nlp = make_blank(assertion_attr="negex")
        nlp.add_pipe("negex", before="mcse_entity_refiner")
        yield nlp
        Span.remove_extension("negex")

    def test_it_decides(self, nlp: Language) -> None:
        doc = nlp("No effusion. Edema was ruled out. Possible pneumothorax.")
        assert assertions(doc) == {
            "effusion": "absent",
            "Edema": "absent",
            # It has no doubt, and our rules are not asked.
            "pneumothorax": "present",
        }
        # The first "no" of a sentence reaches its end for it.
        assert assertions(nlp("No effusion; large opacity.")) == {
            "effusion": "absent",
            "large opacity": "absent",
        }
        assert assertions(make_blank()("No effusion; large opacity.")) == {
            "effusion": "absent",
            "large opacity": "present",
        }

    def test_without_it_the_error_names_it(self, nlp: Language) -> None:
        Span.remove_extension("negex")
        with pytest.raises(ValueError, match=r"E108.*import negspacy\.negation"):
            nlp.get_pipe("mcse_entity_refiner")(nlp.make_doc("No effusion."))
        Span.set_extension("negex", default=False)
