"""What must hold for any text: bounds, offsets, invariances, and silence."""

import logging
import math
import time
from typing import Any

import pytest
import spacy
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc

import spacy_mcse
from spacy_mcse.data import ASSERTIONS, ATTRIBUTES, LABELS

COMMON: dict[str, Any] = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "suppress_health_check": [
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
    ],
}
TOLERANCE = 0.02
MARKER = "Zyxquorble"

SIDES = ("", "left ", "right ", "bilateral ")
LEVELS = ("", "small ", "mild ", "large ", "severe ")
FINDINGS = (
    "pleural effusion",
    "pneumothorax",
    "nodule",
    "consolidation",
    "atelectasis",
    "pulmonary edema",
    "rib fracture",
    "opacity",
)
FRAMES = (
    "There is {}.",
    "No {}.",
    "Possible {}.",
    "{} is unchanged.",
    "{} may be present.",
    "No evidence of {}.",
    "{} has resolved.",
    "New {}.",
)
PLAIN = (
    "Heart size is normal.",
    "The lungs are clear.",
    "The mediastinal contours are unremarkable.",
    "Left chest tube is in place.",
    "Comparison is made with the prior film.",
)


@st.composite
def sentences(draw: st.DrawFn) -> str:
    phrase = draw(st.sampled_from(SIDES)) + draw(st.sampled_from(LEVELS))
    phrase += draw(st.sampled_from(FINDINGS))
    text = draw(st.sampled_from(FRAMES)).format(phrase)
    return text[0].upper() + text[1:]


reports = st.lists(sentences(), min_size=1, max_size=5)
mixed_reports = st.lists(
    st.one_of(sentences(), st.sampled_from(PLAIN)), min_size=0, max_size=6
).map(" ".join)
BITS = (
    "no",
    "effusion",
    "and",
    "or",
    "?",
    ",",
    ".",
    "-",
    "/",
    "(",
    ")",
    "[**",
    "**]",
    "left",
    "12",
    "x",
    "mm",
    "cm",
    "nodule",
    "of",
    "the",
    "heart",
    "is",
    "not",
    "enlarged",
    "\n",
    "\r\n",
    "  ",
    "___",
    "XXXX",
    "IMPRESSION:",
    "FINDINGS:",
    "1.",
    "mild-to-moderate",
    "clear",
    "lungs",
    "unchanged",
    "may",
    "represent",
    ";",
    "ed",
)
soups = st.lists(st.sampled_from(BITS), max_size=30).map(" ".join)
any_text = st.text(st.characters(exclude_categories=("Cs",)), max_size=80)
control_text = st.text(
    "\x00\x01\x07\x1b\x7f\u200b\ufeff\u2028\x85 \t\n\r.no?", max_size=40
)


def check_doc(doc: Doc) -> None:
    """Everything that is stored on a Doc is in bounds and of its kind."""

    def placed(item: dict[str, Any]) -> None:
        start, end = item["start_char"], item["end_char"]
        assert 0 <= start < end <= len(doc.text)
        assert doc.text[start:end] == item["text"]

    entities = doc._.clinical_entities
    assert [e.start_char for e in entities] == sorted(e.start_char for e in entities)
    for entity in entities:
        assert entity.label_ in LABELS
        assert entity._.assertion in ASSERTIONS
        assert entity._.mcse_text
        assert entity._.mcse_text.startswith("no ") >= entity._.negated
        assert entity._.concept
        assert doc.text[entity.start_char : entity.end_char] == entity.text
        if entity._.cue is not None:
            placed(entity._.cue)
        for kind, items in entity._.attributes.items():
            assert kind in ATTRIBUTES
            for item in items:
                placed(item)
                if kind == "size":
                    assert all(math.isfinite(n) and n >= 0 for n in item["value"])
    for item in doc._.dropped_entities:
        placed(item)
        assert item["reason"]
        assert item["label"] in LABELS
    for span in doc._.normal_statements:
        assert doc.text[span.start_char : span.end_char] == span.text
        assert all(isinstance(denied, str) for denied in span._.denies)


def check_score(score: spacy_mcse.MCSEScore) -> None:
    for name in ("mcse", "precision", "recall", "f1"):
        value = getattr(score, name)
        assert isinstance(value, float)
        assert 0 <= value <= 1, name
    shares = [(p.share_recall, p.share_precision) for p in score.pairs]
    assert math.isclose(sum(s[0] for s in shares), score.recall, abs_tol=1e-9)
    assert math.isclose(sum(s[1] for s in shares), score.precision, abs_tol=1e-9)


@settings(max_examples=60, **COMMON)
@given(any_text)
@example("")
@example(" ")
@example("\n")
@example("   \n\n ")
@example("\x00")
@example("\u200b\u200b")
@example("[**")
@example("[** [** **]")
@example("?")
@example("-")
@example(".")
@example("1.")
@example("no")
@example("No.")
@example("not")
@example("mm")
@example("12 x")
@example("1,2,3 mm nodule")
@example("1.2.3 cm nodule")
@example("٣ mm nodule")
@example("² cm nodule")
@example("½ cm nodule")
@example("İ nodule")
@example("e\u0301dema no e\u0301dema")
@example("99999999999999999999999999999999 mm nodule")
@example("nodule " * 50)
def test_any_text(nlp: Language, text: str) -> None:
    doc = nlp(text)
    check_doc(doc)
    score = spacy_mcse.score(doc, doc, nlp=nlp)
    check_score(score)


@settings(max_examples=25, **COMMON)
@given(control_text)
def test_control_characters(nlp: Language, text: str) -> None:
    check_doc(nlp(text))


@settings(max_examples=80, **COMMON)
@given(soups, soups)
def test_words_of_reports_in_any_order(nlp: Language, one: str, other: str) -> None:
    first, second = nlp(one), nlp(other)
    check_doc(first)
    check_doc(second)
    score = spacy_mcse.score(first, second, nlp=nlp)
    check_score(score)
    swapped = spacy_mcse.score(second, first, nlp=nlp)
    assert swapped.f1 == score.f1
    assert (swapped.precision, swapped.recall) == (score.recall, score.precision)


@settings(max_examples=30, **COMMON)
@given(soups)
def test_without_parser_or_tags(blank_nlp: Language, text: str) -> None:
    check_doc(blank_nlp(text))


@settings(max_examples=30, **COMMON)
@given(st.data(), soups)
def test_spans_of_any_ner(nlp: Language, data: st.DataObject, text: str) -> None:
    """Any spans, overlapping or of white space alone, as entities and in `assess`."""
    from spacy_mcse.refiner import EntityRefiner

    doc = nlp.make_doc(text)
    assume(len(doc))
    starts = st.integers(0, len(doc) - 1)
    places = data.draw(st.lists(st.tuples(starts, st.integers(1, 6)), max_size=6))
    spans = [doc[start : start + length] for start, length in places]
    labels = ("X", "FINDING", "DISEASE", "ANATOMY", "")
    for span in spans:
        span.label_ = data.draw(st.sampled_from(labels))
    refiner = EntityRefiner("other", spans_in="given")
    assert len(refiner.assess(doc, spans)) == len(spans)
    doc.spans["given"] = spans
    check_doc(refiner(doc))


@settings(max_examples=40, **COMMON)
@given(reports)
def test_a_report_agrees_with_itself(nlp: Language, parts: list[str]) -> None:
    text = " ".join(parts)
    score = spacy_mcse.score(text, text, nlp=nlp)
    check_score(score)
    states = [e._.assertion for e in nlp(text)._.clinical_entities]
    if any(state != "absent" for state in states):
        assert (score.precision, score.recall, score.f1) == (1, 1, 1)
    assert score.mcse == 1


@settings(max_examples=40, **COMMON)
@given(mixed_reports, mixed_reports)
def test_swapping_swaps(nlp: Language, one: str, other: str) -> None:
    score = spacy_mcse.score(one, other, nlp=nlp)
    swapped = spacy_mcse.score(other, one, nlp=nlp)
    check_score(score)
    assert math.isclose(swapped.precision, score.recall, abs_tol=1e-12)
    assert math.isclose(swapped.f1, score.f1, abs_tol=1e-12)


def _upper(parts: list[str]) -> str:
    return " ".join(parts).upper()


def _lower(parts: list[str]) -> str:
    return " ".join(parts).lower()


def _lines(parts: list[str]) -> str:
    return "\n".join(parts)


def _windows_lines(parts: list[str]) -> str:
    return "\r\n".join(parts)


def _wrapped(parts: list[str]) -> str:
    """A line break in place of every third blank."""
    words = " ".join(parts).split(" ")
    return "".join(word + ("\n" if i % 3 == 2 else " ") for i, word in enumerate(words))


def _wide(parts: list[str]) -> str:
    return "  ".join(parts).replace(" ", "  ")


def _reversed(parts: list[str]) -> str:
    return " ".join(reversed(parts))


def _twice(parts: list[str]) -> str:
    return " ".join([*parts, *parts])


def _more_normal(parts: list[str]) -> str:
    return " ".join([*parts, "Heart size is normal.", "Trachea is midline."])


def _numbered(parts: list[str]) -> str:
    return "\n".join(f"{i}. {part}" for i, part in enumerate(parts, 1))


FORMS = [
    _upper,
    _lower,
    _lines,
    _windows_lines,
    _wrapped,
    _wide,
    _reversed,
    _twice,
    _more_normal,
    _numbered,
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__.strip("_"))
@settings(max_examples=20, **COMMON)
@given(reports, mixed_reports)
def test_form_does_not_matter(
    nlp: Language, form: Any, parts: list[str], candidate: str
) -> None:
    plain, changed = " ".join(parts), form(parts)
    own = spacy_mcse.score(plain, changed, nlp=nlp)
    same = spacy_mcse.score(plain, plain, nlp=nlp)
    assert own.f1 >= same.f1 - TOLERANCE
    one = spacy_mcse.score(plain, candidate, nlp=nlp)
    other = spacy_mcse.score(changed, candidate, nlp=nlp)
    for name in ("precision", "recall", "f1"):
        assert getattr(one, name) == pytest.approx(
            getattr(other, name), abs=TOLERANCE
        ), name


LONG = [
    "There is a small left effusion and no pneumothorax. ",
    "small left effusion and no pneumothorax or edema ",
    "effusion ",
    "no effusion , edema , ",
    "no ",
    "may represent ",
    "left lung base ",
    "of the heart ",
    "12 x ",
    "heart and lungs and ",
    "clear and normal ",
    "heart is mildly and very ",
    "? ",
    "[** a ",
    "new or increased ",
    "patchy , nodular , ",
    "FINDINGS: IMPRESSION: ",
    "ABCDEF ",
]
# An eighth of 20,000 words in an eighth of 20 seconds, so that a failure ends soon.
WORDS = 2_500
MAX_SECONDS = 2.5


def _without_parser() -> Language:
    """No tagger and no parser: the time is that of the rules alone."""
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": TOKENIZER}}})
    nlp.add_pipe("mcse_entity_source")
    nlp.add_pipe("mcse_entity_refiner", config={"spans_in": "mcse_candidates"})
    nlp("Edema.")
    return nlp


@pytest.mark.parametrize("text", LONG)
def test_long_texts_take_no_more_than_their_time(text: str) -> None:
    nlp = _without_parser()
    start = time.process_time()
    doc = nlp(text * (WORDS // len(text.split())) + "\nFINDINGS: scoliosis.")
    seconds = time.process_time() - start
    assert doc._.clinical_entities[-1]._.concept == "scoliosis"
    assert seconds < MAX_SECONDS


def test_a_report_of_20_000_words() -> None:
    nlp = _without_parser()
    start = time.process_time()
    doc = nlp(LONG[0] * 2_200)
    assert time.process_time() - start < 20
    assert len(doc._.clinical_entities) == 4_400


TOKENIZER = "spacy-mcse.ReportTokenizer.v1"


def test_the_only_finding_at_the_end_of_a_long_report(nlp: Language) -> None:
    text = "The patient was seen again on the next day. " * 170 + "Left effusion."
    doc = nlp(text)
    assert [e.text for e in doc._.clinical_entities] == ["Left effusion"]
    assert spacy_mcse.score("Left effusion.", doc, nlp=nlp).f1 == 1


def test_line_breaks_in_a_row(nlp: Language) -> None:
    doc = nlp("Edema." + "\n" * 1000 + "No effusion.")
    assert [e._.mcse_text for e in doc._.clinical_entities] == ["edema", "no effusion"]


def test_repeating_a_denial_earns_nothing(nlp: Language) -> None:
    reference = "No effusion. Edema."
    once = spacy_mcse.score(reference, "No effusion.", nlp=nlp)
    often = spacy_mcse.score(reference, "No effusion. " * 30, nlp=nlp)
    assert often.f1 <= once.f1
    assert often.mcse <= once.mcse


def test_nothing_of_a_report_is_printed_or_logged(
    nlp: Language,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    text = f"{MARKER}: no {MARKER} effusion, mild {MARKER}itis. ? {MARKER} nodule."
    with caplog.at_level(logging.DEBUG):
        docs = list(nlp.pipe([text, text.upper(), f"{MARKER} " * 300]))
        docs[0]._.mcse(docs[1])
        spacy_mcse.score_corpus([text, ""], ["", text], nlp=nlp)
        nlp.get_pipe("mcse_entity_refiner").assess(docs[0], [docs[0][0:3]])
    out, err = capfd.readouterr()
    said = (out + err + caplog.text).lower()
    assert MARKER.lower() not in said
