"""Wordings that testers found to go wrong: each line is one kind of fault."""

import pytest
from markup import check_markup, parse_markup
from spacy.language import Language

import spacy_mcse

CHANGE = [
    "No appreciable change in the <e a=present>small left effusion</e>.",
    "There has not been any change in the <e a=present>effusion</e>.",
    "No resolution of the <e a=present>effusion</e>.",
    "The <e a=present>effusion</e> has nearly completely resolved.",
    "Near-complete resolution of the <e a=present change=better>right effusion</e>.",
    "Not yet resolved <e a=present>pneumonia</e>.",
    "<e a=absent>Effusion</e> is gone.",
    "The <e a=absent>effusion</e>, seen earlier on the left, has resolved.",
]
CUES = [
    "Nothing to suggest <e a=absent>pneumonia</e>.",
    "There isn’t any <e a=absent>pneumothorax</e>.",
    "THERE ISN'T ANY <e a=absent>PNEUMOTHORAX</e>.",
    "Unlikely to represent <e a=uncertain>edema</e>.",
    "<e a=uncertain>Pneumonia</e> is doubtful.",
    "<e a=uncertain>Atelectasis</e> is favored over <e a=uncertain>pneumonia</e>.",
    "Less likely, <e a=uncertain>pneumonia</e>.",
    "The <e a=present>costophrenic angles are not sharp</e>.",
    "No <e a=absent>increase in heart size</e>.",
]
SHAPES = [
    "No <e a=absent>pneumothorax</e>\nmild <e a=present>cardiomegaly</e>".replace(
        "mild <e a=present>", "<e a=present>mild "
    ),
    "<e a=present severity=mild>Heart: mildly enlarged</e>.",
    "<e side=left severity=small>Effusion</e>: small left.",
    "<e side=left>Left\N{HYPHEN}sided effusion</e>.",
    "<e side=left severity=small>Small\u200b left\u200d effusion</e>.",
    "No <e a=absent>inﬁltrate</e>.",
]
PLACES = [
    "<e size=5 side=left location='lower lobe'>Nodule</e> of 5 mm in the left lower "
    "lobe.",
    "<e size=5 side=left>Nodule</e> (5 mm) on the left.",
    "<e side=left severity=moderate>Left effusion</e>, moderate in size.",
    "<e severity='moderate; severe'>Edema</e> is moderate to severe.",
    "<e severity=small>Effusion</e> remains small.",
    "<e side=right size=''>Right effusion</e>, <e size=30>3 cm nodule</e>.",
]


@pytest.mark.parametrize("markup", [*CHANGE, *CUES, *SHAPES, *PLACES])
def test_wording_found_by_testers(nlp: Language, markup: str) -> None:
    text, marked = parse_markup(markup.replace("'", '"') if "='" in markup else markup)
    check_markup(nlp(text), marked)


def test_two_findings_share_a_head(nlp: Language) -> None:
    doc = nlp("Small right and moderate left pleural effusions.")
    assert [entity._.mcse_text for entity in doc._.clinical_entities] == [
        "small right pleural effusions",
        "moderate left pleural effusions",
    ]
    values = [
        [item["value"] for kind in ("side", "severity") for item in attributes[kind]]
        for attributes in (e._.attributes for e in doc._.clinical_entities)
    ]
    assert values == [["right", "small"], ["left", "moderate"]]


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("5 mm nodule in the right upper lobe.", "No other nodules."),
        ("Stable left effusion.", "No new effusion."),
        ("Mild edema.", "No overt edema."),
        ("Right lower lobe consolidation.", "Right upper lobe is clear."),
        ("Pneumonia in the left base.", "The lungs are well expanded."),
        ("Scoliosis.", "The bones are intact."),
    ],
)
def test_what_a_statement_leaves_open_costs_nothing(
    nlp: Language, text: str, more: str
) -> None:
    assert spacy_mcse.score(text, f"{text} {more}", nlp=nlp).f1 >= 0.98


def test_an_organ_with_a_colon_denies_its_own_findings_only(nlp: Language) -> None:
    doc = nlp("LUNGS: Clear\nHEART: Normal\nBONES: No fracture")
    assert [s.text for s in doc._.normal_statements] == [
        "LUNGS: Clear",
        "HEART: Normal",
    ]
    assert "pneumothorax" not in doc._.normal_statements[1]._.denies


def test_an_untitled_report_below_an_indication_counts(nlp: Language) -> None:
    doc = nlp("INDICATION: Cough.\n\nThe heart is enlarged. Small left effusion.")
    assert len(doc._.clinical_entities) == 2
