"""Faults that users of other packages reported: public cases PC-001 to PC-044.

Each case stands for a kind of fault. Its own sentence comes first, more of the kind
follow. PC-046 to PC-073 stand in test_score.py and test_corpus.py, PC-074 to PC-092 in
test_integration.py and test_serialize.py, PC-094 and PC-095 in
test_privacy_offline.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import spacy
from conftest import HASH_ENCODER
from markup import check_markup, parse_markup, refine_spans
from spacy.language import Language
from spacy.tokens import Doc

import spacy_mcse
from spacy_mcse.refiner import EntityRefiner


def by_case(table: Mapping[str, Sequence[Any]]) -> list[Any]:
    """Parameters with the name of their case: "PC-001-0"."""
    parameters = []
    for case, values in table.items():
        for number, value in enumerate(values):
            marks = getattr(value, "marks", ())
            if hasattr(value, "values") and hasattr(value, "marks"):
                (value,) = value.values
            parameters.append(pytest.param(value, id=f"{case}-{number}", marks=marks))
    return parameters


SENTENCES = {
    # "not" belongs to the verb of a device
    "PC-002": [
        "The tube does not reach the carina and a <e side=left>left effusion</e> is "
        "seen.",
        "The catheter does not extend beyond the clavicle and there is "
        "<e severity=mild>mild edema</e>.",
        "The feeding tube does not cross the diaphragm; a "
        "<e>right pneumothorax</e> is present.",
        "The pacemaker leads have not moved, and a <e>small effusion</e> is seen.",
        "The tip of the nasogastric tube is not included, but the "
        "<e>heart is enlarged</e>.",
        "The central line cannot be followed to its end and the "
        "<e>aorta is tortuous</e>.",
        "The port does not overlie the <e>right upper lobe nodule</e>.",
    ],
    # a slash between two findings
    "PC-004": [
        "negative for <e a=absent>pneumonia</e>/<e a=absent>edema</e>",
        "The film is negative for <e a=absent>pneumonia</e>/<e a=absent>edema</e>.",
        "Negative for <e a=absent>consolidation</e>/<e a=absent>effusion</e>/"
        "<e a=absent>pneumothorax</e>.",
        "No <e a=absent>mass</e> / <e a=absent>nodule</e>.",
        "<e a=absent>Pneumothorax</e>/<e a=absent>effusion</e> not seen.",
        "Possible <e a=uncertain>atelectasis</e>/<e a=uncertain>pneumonia</e>.",
        "<e>Atelectasis</e>/<e>scarring</e> at the left base.",
        "No <e a=absent>effusion</e> and/or <e a=absent>pneumothorax</e>.",
    ],
    # an adjective between cue and finding
    "PC-005": [
        "No new <e a=absent>infiltrate</e>.",
        "No <e a=absent>abnormal opacity</e>.",
        "No recurrent <e a=absent>pneumothorax</e>.",
        "No enlarging <e a=absent>mass</e>.",
        "No convincing <e a=absent>consolidation</e>.",
        "No discernible <e a=absent>effusion</e>.",
        "No <e a=absent>acute focal airspace opacity</e>.",
        "Without <e a=absent>gross abnormality</e>.",
    ],
    # a list whose commas are missing
    "PC-007": [
        "No evidence of <e a=absent>mass</e> <e a=absent>large nodule</e> or "
        "<e a=absent>edema</e>. Ribs look fine.",
        "No sign of <e a=absent>pneumothorax</e> "
        "<e a=absent>displaced rib fracture</e> or <e a=absent>effusion</e>. "
        "Heart looks fine.",
        "No <e a=absent>effusion</e> <e a=absent>focal consolidation</e> "
        "<e a=absent>pneumothorax</e>.",
        "Without <e a=absent>nodule</e> <e a=absent>cavitary lesion</e> and "
        "<e a=absent>effusion</e>.",
        "Negative for <e a=absent>fracture</e> <e a=absent>small pneumothorax</e> or "
        "<e a=absent>atelectasis</e>. Spine is fine.",
    ],
    # where a scope ends, and where not
    "PC-008": [
        "No <e a=absent>effusion</e> but <e severity=mild>mild edema</e>.",
        "No <e a=absent cue=No>effusion</e>, <e a=absent cue=No>mass</e>, or "
        "<e a=absent cue=No>nodule</e>.",
        "No <e a=absent>pneumothorax</e> yet <e>small effusion</e> on the right.",
        "No <e a=absent>consolidation</e> apart from <e>linear atelectasis</e>.",
        "No <e a=absent>effusion</e>, though the <e>heart is large</e>.",
        "No <e a=absent>fracture</e> with the exception of an <e>old rib fracture</e>.",
        "No <e a=absent>edema</e> while <e>cardiomegaly</e> is marked.",
        "No <e a=absent>mass</e> other than the <e>calcified granuloma</e>.",
        "No <e a=absent>edema</e>, there is <e>left basilar atelectasis</e>.",
        "Without <e a=absent>nodule</e> or <e a=absent>mass</e> however "
        "<e>scoliosis</e> is noted.",
        "No <e a=absent>fracture</e>, <e a=absent>subluxation</e>, "
        "<e a=absent>pneumothorax</e>, <e a=absent>effusion</e>.",
        "No <e a=absent>effusion</e> - <e>mild edema</e>.",
    ],
    # numbers of list items without spaces
    "PC-010": [
        "1.No sign of <e a=absent>fracture</e>.2.<e>Small effusion</e>.",
        "1)No <e a=absent>effusion</e>.2)<e>Mild cardiomegaly</e>.",
        "1. No <e a=absent>pneumothorax</e> 2. <e>Left basilar atelectasis</e> "
        "3. No <e a=absent>fracture</e>",
        "1-No <e a=absent>mass</e>. 2-<e>Edema</e>.",
        "#1 No <e a=absent>nodule</e>. #2 <e>Right effusion</e>.",
        "1.<e>Scoliosis</e>.2.No <e a=absent>consolidation</e>.3.<e count=2>Two "
        "nodules</e>.",
        "10.No <e a=absent>fracture</e>.11.<e>Large effusion</e>.",
    ],
    # cues behind the finding, and cues of several words
    "PC-011": [
        "<e a=absent>Pneumonia</e> is ruled out.",
        "No history of <e a=absent>heart failure</e>.",
        "<e a=absent>Fracture</e> has been excluded.",
        "<e a=absent>Consolidation</e> is not demonstrated.",
        "<e a=absent>Pneumonia</e> and <e a=absent>effusion</e> are ruled out.",
        "No prior history of <e a=absent>pneumonia</e>.",
        "<e a=absent>Mass</e> no longer evident.",
        "<e a=absent>Edema</e> was not found.",
        "<e a=absent>Rib fracture</e> not appreciated.",
        "<e a=absent>Pneumothorax</e> can be excluded.",
    ],
    "PC-013": [
        "There is neither <e a=absent>consolidation</e> nor <e a=absent>edema</e>.",
        "No <e a=absent cue=No>effusion</e> nor <e a=absent>pneumothorax</e>.",
        "<e a=absent>Effusion</e> is neither seen nor suspected.",
    ],
    # noun phrases that no NER knows
    "PC-016": [
        "No <e a=absent>rib deformity</e>.",
        "No <e a=absent>clavicle irregularity</e>.",
        "No <e a=absent>hilar prominence</e>.",
        "No <e a=absent>vertebral wedging</e>.",
        "<e>Rib deformity</e> on the left.",
    ],
    # words that begin like a cue
    "PC-017": [
        "Normal heart. <e side=left location=base>Nodular opacity</e> at the left "
        "base.",
        "<e side=right>Nonspecific opacity</e> at the right base.",
        "Notable for <e>cardiomegaly</e>.",
        "Noted is a <e>left effusion</e>.",
        "<e>Noncardiogenic edema</e>.",
        "<e>Rib notching</e> and <e>nodules</e>.",
        "<e>Nondisplaced rib fracture</e>.",
        "Normal mediastinum with <e>mild edema</e>.",
        "Unresolved <e>pneumonia</e>.",
        "Nonetheless <e>edema</e> persists.",
        "Withdrawn catheter, <e>effusion</e>.",
        "Without doubt, <e>edema</e>.",
    ],
    # change in front of a finding, requests behind it
    "PC-019": [
        'Partial resolution of <e change=better text="right apical opacity">right '
        "apical opacity</e>; please correlate clinically.",
        "Partial clearing of <e change=better>left basilar consolidation</e>; clinical "
        "correlation is advised.",
        "Interval improvement of <e change=better>edema</e>; correlate with symptoms.",
        "Near complete clearing of <e change=better>left lower lobe pneumonia</e>.",
        "Partially resolved <e change=better>left pneumothorax</e>.",
        "<e change=better>Left upper lobe infiltrate</e> is resolving; follow up as "
        "clinically needed.",
        "<e change=better>Right apical opacity</e> has partly resolved; please "
        "correlate clinically.",
        "Incomplete resolution of <e change=better>pneumonia</e>.",
        "Slow resolution of the <e change=better>right effusion</e>.",
        "Partial regression of <e change=better>right hilar mass</e>.",
    ],
    "PC-020": [
        "Findings suggest <e a=uncertain>flu-like pneumonitis</e>.",
        "The reading suggests <e a=uncertain>reactive pneumonitis</e>.",
        "Findings suggest <e a=uncertain>pleuritis</e>.",
        "Pattern may reflect <e a=uncertain>atypical pneumonitis</e>.",
        "Findings favor <e a=uncertain>bronchiolitis</e>.",
        "<e>Opacity</e> suggesting <e a=uncertain>mycetoma</e>.",
        "Findings suggest <e a=uncertain>bronchiolitis-like opacities</e>.",
    ],
    # the same words twice
    "PC-031": [
        "<e>Left effusion</e>. No <e a=absent>right effusion</e>.",
        "<e>Edema</e> on the left. No <e a=absent>edema</e> on the right.",
        "No <e a=absent>nodule</e> in the left lung. <e>Nodule</e> in the right lung.",
        "<e a=absent>Pneumothorax</e> has resolved. <e>Small right pneumothorax</e>.",
        "No <e a=absent>left effusion</e>. <e>Left effusion</e> is seen on the lateral "
        "view.",
        "<e>Right nodule</e>, no <e a=absent>left nodule</e>.",
        "Possible <e a=uncertain>nodule</e>. No other <e a=absent>nodule</e>.",
    ],
    # words that have letters of a cue in them
    "PC-032": [
        "<e>Pulmonary venous congestion</e>.",
        "<e>Abnormality of the left hilum</e>.",
        "<e>Vascular congestion</e> and <e>nodules</e>.",
        "Known <e>pneumonia</e>.",
        "<e>Adenocarcinoma</e>.",
        "<e>Fibronodular scarring</e>.",
        "<e>Abnormal opacity</e> on the right.",
        "<e>Venous engorgement</e>.",
    ],
    # white space within sentences
    "PC-034": [
        "<e>Rib\nnotching</e> is noted.",
        "The <e>left rib\nnotching</e> is  old.",
        "<e>Patchy  left\nbasilar  opacity</e>  is\nseen.",
        "There is  a  <e>large\nright   pleural\neffusion</e>.\n\n\nNo  "
        "<e a=absent>rib\nfracture</e>.",
        "No\n<e a=absent>pneumothorax</e>.\n\n   <e>Mild\n   cardiomegaly</e>.",
        "The <e>heart\nis enlarged</e>.  No\n<e a=absent>edema</e>.",
        "<e>Pleural\r\nthickening</e>.",
    ],
    # line breaks between sentences
    "PC-035": [
        "No <e a=absent>effusion</e>.\n<e>Edema</e>.",
        "<e>Edema</e>.\nNo <e a=absent>effusion</e>.",
        "\n\nNo <e a=absent>mass</e>.\n\n<e>Nodule</e>.\n",
        "No <e a=absent>fracture</e>.\r\n<e>Mild edema</e>.\r\n",
        "No <e a=absent>effusion</e>.\t<e>Edema</e>.",
        "No <e a=absent>effusion</e>;\n<e>edema</e>.",
        "No <e a=absent>pneumothorax</e>.\r<e>Small nodule</e>.",
    ],
    # slips in headings
    "PC-037": [
        "NDICATION: rule out pneumonia. IMPRESION: normal.",
        "INDICTION: fracture. FINDINGS: <e>edema</e>.",
        "IDNICATION: fracture. FINDINGS: <e>edema</e>.",
        "INDICATION : fracture. FINDNGS: <e>edema</e>.",
        "HISTROY: fracture. IMPRESSON: <e>edema</e>.",
        "HISTORY: fracture. INPRESSION: <e>edema</e>.",
        "CLINCAL HISTORY: fracture. FIDNINGS: <e>edema</e>.",
        "Inidcation: fracture.\nImpresssion: <e>edema</e>.",
        "RECOMENDATION: CT for fracture. FINDINGS: <e>edema</e>.",
    ],
    # headings without line breaks
    "PC-038": [
        "FINDINGS: <e>Edema</e>. IMPRESSION: No <e a=absent>effusion</e>.",
        "HISTORY: Fracture. FINDINGS: <e>Edema</e>. IMPRESSION: No "
        "<e a=absent>effusion</e>.",
        "INDICATION: fracture FINDINGS: <e>edema</e> IMPRESSION: no "
        "<e a=absent>effusion</e>",
        "Indication: Rule out fracture Findings: <e>edema</e> Impression: "
        "<e>pulmonary edema</e>",
        "INDICATION: SOB, fracture CLINICAL HISTORY: COPD FINDINGS: <e>edema</e>",
        "REASON FOR EXAM: fracture.FINDINGS:<e>Edema</e>.IMPRESSION:No "
        "<e a=absent>effusion</e>.",
        "REASON FOR EXAM: FRACTURE.FINDINGS:<e>EDEMA</e>.IMPRESSION:NO "
        "<e a=absent>EFFUSION</e>.",
        "HISTORY: Fracture - FINDINGS: <e>Edema</e> - IMPRESSION: <e>Nodule</e>",
        "INDICATION: ___ FINDINGS: <e>Edema</e>",
        "INDICATION: Fracture (rib) FINDINGS: <e>Edema</e>.",
        "EXAM: Chest, two views. INDICATION: Fracture? FINDINGS: <e>Small effusion</e>."
        " RECOMMENDATION: CT for nodule.",
        # no headings
        "FINDINGS: <e>Effusion</e> since the PRIOR EXAM: <e>small nodule</e>.",
        "FINDINGS: <e>Effusion</e>, seen on the last Study: <e>small nodule</e>.",
        "The main findings: <e>edema</e> and <e>nodule</e>.",
    ],
    # what stands where names and dates were
    "PC-043": [
        "Discussed with ___ at ___. <e>Edema</e>.",
        "Discussed with Dr. ___ by phone. <e>Left effusion</e>.",
        "Compared with [**2099-01-02**], <e>edema</e> has worsened.",
        "<e>Edema</e> since XXXX.",
        "[**Known lastname 12**] has a <e>rib fracture</e>.",
        "<e>Nodule</e> seen on <DATE>, no <e a=absent>effusion</e>.",
        "[NAME] was called about the <e>pneumothorax</e>.",
        "Patient ____, age ___, has <e>cardiomegaly</e>.",
        "___F with <e>pneumonia</e>.",
        "The <e>left effusion</e> is ___ cm deep.",
    ],
    # numbered lists
    "PC-044": [
        "1. <e>Edema</e>. 2. No <e a=absent>mass</e>. 3. <e>Edema</e> unchanged.",
        "1. <e>Left effusion</e>\n2. No <e a=absent>fracture</e>\n3. <e>Effusion</e> "
        "is new",
        "(1) <e>Nodule</e>; (2) <e>edema</e>; (3) no <e a=absent>effusion</e>",
        "1 <e>Cardiomegaly</e>\n2 No <e a=absent>edema</e>\n3 <e>Scoliosis</e>",
        "I. <e>Cardiomegaly</e>. II. No <e a=absent>edema</e>. III. <e>Scoliosis</e>.",
        "IMPRESSION: 1. <e>Edema</e>. 2. <e>Small nodule</e>.",
        "1 . <e>Edema</e>. 2 . No <e a=absent>mass</e>.",
    ],
}


@pytest.mark.parametrize("markup", by_case(SENTENCES))
def test_sentence(nlp: Language, markup: str) -> None:
    text, marked = parse_markup(markup)
    check_markup(nlp(text), marked)


# Entities as some NER gives them: marked sentence, words of the spans.
GIVEN: dict[str, list[tuple[str, list[str]]]] = {
    # the cue within the span
    "PC-001": [
        (
            "Stable <e change=stable text=cardiomegaly>cardiomegaly</e> with no "
            '<e a=absent text="no effusion">effusion</e> and '
            '<e a=absent text="no edema">edema</e>.',
            ["cardiomegaly", "no effusion", "edema"],
        ),
        (
            'Chest without <e a=absent cue=without text="no pneumothorax">'
            "pneumothorax</e>.",
            ["without pneumothorax"],
        ),
        (
            'No evidence of <e a=absent text="no left pneumonia">left pneumonia</e> or '
            "<e a=absent>mass</e>.",
            ["No evidence of left pneumonia", "mass"],
        ),
        (
            'There is possible <e a=uncertain cue=possible text="consolidation">'
            "consolidation</e>.",
            ["possible consolidation"],
        ),
        (
            'Free of <e a=absent text="no infiltrate">infiltrate</e>.',
            ["Free of infiltrate"],
        ),
        (
            '<e a=absent cue="not seen" text="no effusion">Effusion</e> not seen; '
            "<e>mild edema</e>.",
            ["Effusion not seen", "mild edema"],
        ),
        ('No new <e a=absent text="no nodules">nodules</e>.', ["No new nodules"]),
        (
            '<e a=absent text="no pneumonia">Pneumonia</e> is ruled out.',
            ["Pneumonia is ruled out"],
        ),
        (
            '<e a=absent text="no edema">Edema</e> has resolved; '
            "<e a=uncertain text=mass>mass</e> not excluded.",
            ["Edema has resolved", "mass not excluded"],
        ),
        (
            '<e a=absent text="no pneumothorax">Pneumothorax</e>: none.',
            ["Pneumothorax: none"],
        ),
        (
            '<e text="right effusion">Right effusion</e> is present.',
            ["Right effusion is present"],
        ),
        (
            'The <e a=absent text="no enlarged heart">heart is not enlarged</e>.',
            ["heart is not enlarged"],
        ),
    ],
    # words of an NER that takes every noun
    "PC-019": [
        (
            "Partial resolution of <e change=better>right apical opacity</e>; please "
            "correlate clinically.",
            [
                "Partial",
                "resolution",
                "right apical opacity",
                "correlate",
                "clinically",
            ],
        ),
        (
            "Interval improvement of <e change=better>edema</e>; clinical correlation "
            "is advised.",
            ["Interval improvement", "edema", "clinical correlation", "advised"],
        ),
        (
            "The patient has <e>cardiomegaly</e>; comparison with the prior study is "
            "recommended.",
            ["patient", "cardiomegaly", "comparison", "prior study", "recommended"],
        ),
        (
            "Decrease in <e change=better>left effusion</e>, stable exam.",
            ["Decrease", "left effusion", "stable", "exam"],
        ),
    ],
    # several in a row that go
    "PC-029": [
        ("patchy bilateral new <e>edema</e>", ["patchy", "bilateral", "new", "edema"]),
        (
            "mild diffuse left <e>opacity</e>",
            ["mild", "diffuse", "left", "opacity"],
        ),
        ("stable acute large", ["stable", "acute", "large"]),
        (
            "small, right, basilar, unchanged; <e>pneumonia</e>",
            ["small", "right", "basilar", "unchanged", "pneumonia"],
        ),
        (
            "<e>effusion</e>; focal; apical; chronic; <e>nodule</e>",
            ["effusion", "focal", "apical", "chronic", "nodule"],
        ),
    ],
    # words with the letters of a cue
    "PC-032": [
        ("The <e>nodule</e> is seen.", ["nodule"]),
        ("The <e>nodular lesion</e> is seen.", ["nodular lesion"]),
        ("<e>Abnormality</e> at the left base.", ["Abnormality"]),
        ("<e>Noncalcified nodule</e>.", ["Noncalcified nodule"]),
        ("<e>Adenopathy</e> and <e>congestion</e>.", ["Adenopathy", "congestion"]),
    ],
}


# A recognizer that says that all its spans are findings is believed: not in PC-019.
LABELS = {
    "PC-001": ["ENTITY", "DISEASE", "PROBLEM"],
    "PC-019": ["ENTITY"],
    "PC-029": ["ENTITY"],
    "PC-032": ["ENTITY", "FINDING"],
}


@pytest.mark.parametrize(
    ("label", "given"),
    [
        pytest.param(label, given, id=f"{case}-{number}-{label}")
        for case, labels in LABELS.items()
        for label in labels
        for number, given in enumerate(GIVEN[case])
    ],
)
def test_given_spans(nlp: Language, label: str, given: tuple[str, list[str]]) -> None:
    """What is marked stays, with bounds of ours; all else goes, with a reason."""
    markup, spans = given
    text, marked = parse_markup(markup)
    doc = refine_spans(nlp, text, [(words, label) for words in spans])
    check_markup(doc, marked)
    dropped = {item["text"]: item["reason"] for item in doc._.dropped_entities}
    assert all(dropped.values())
    for words in spans:
        kept = any(mark.text in words for mark in marked)
        # Articles and cues at the edges are no part of what is dropped.
        assert kept or any(item in words for item in dropped), words


# PC-013, PC-014: the text of each entity's cue and where it begins in the report
CUES: dict[str, list[tuple[str, list[tuple[str, int] | None]]]] = {
    "PC-013": [
        ("Neither effusion nor pneumothorax.", [("Neither", 0), ("nor", 17)]),
        (
            "Neither mass nor nodule nor fracture.",
            [("Neither", 0), ("nor", 13), ("nor", 24)],
        ),
        ("Nodules are not seen. Mild edema.", [("not seen", 12), None]),
        (
            "Likely pneumonia. Edema cannot be excluded.",
            [("Likely", 0), ("cannot be excluded", 24)],
        ),
        ("Possible mass; no evidence of edema.", [("Possible", 0), ("no", 15)]),
    ],
    "PC-014": [
        ("Heart is large. Lungs are clear. No effusion.", [None, ("No", 33)]),
        ("Heart is large.\nLungs are clear.\n\nNo effusion.", [None, ("No", 34)]),
        ("FINDINGS:  Mild edema. Without mass.", [None, ("Without", 23)]),
        ("No edema. No mass. No nodule.", [("No", 0), ("No", 10), ("No", 19)]),
        ("[**2099-1-1**] ___  No\u00a0edema.", [("No", 20)]),
    ],
}


@pytest.mark.parametrize("case", by_case(CUES))
def test_cues(nlp: Language, case: tuple[str, list[tuple[str, int] | None]]) -> None:
    text, cues = case
    entities = nlp(text)._.clinical_entities
    assert len(entities) == len(cues)
    for entity, expected in zip(entities, cues, strict=True):
        cue = entity._.cue
        if expected is None:
            assert cue is None
            continue
        assert text[cue["start_char"] : cue["end_char"]] == cue["text"]
        assert cue["text"].startswith(expected[0])
        assert cue["start_char"] == expected[1]


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        (
            "The tube does not reach the carina and a left effusion is seen.",
            {"tube": "device", "carina": "anatomy"},
        ),
        (
            "The catheter does not cross the clavicle and edema is seen.",
            {"catheter": "device", "clavicle": "anatomy"},
        ),
        (
            "The pacemaker is not over the sternum; small nodule.",
            {"pacemaker": "device", "sternum": "anatomy"},
        ),
    ],
)
def test_pc_002_devices_and_landmarks_go(
    nlp: Language, text: str, reasons: dict[str, str]
) -> None:
    dropped = {item["text"]: item["reason"] for item in nlp(text)._.dropped_entities}
    assert {word: dropped.get(word) for word in reasons} == reasons


@pytest.mark.parametrize(
    "text",
    ["No rib deformity.", "No vertebral wedging.", "Rib deformity is not seen."],
)
def test_pc_016_without_entities_nothing_is_found(nlp: Language, text: str) -> None:
    """The refiner alone reads what it is given and makes nothing of noun chunks."""
    doc = nlp(text)
    assert list(doc.noun_chunks)
    doc.set_ents([])
    refined = EntityRefiner("alone")(doc)
    assert refined._.clinical_entities == []
    assert refined._.dropped_entities == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Findings suggest flu-like pneumonitis.", "pneumonitis"),
        ("This could be sarcoidosis.", "sarcoidosis"),
        ("Possible pneumothorax or bronchiolitis.", "bronchiolitis"),
        ("Suspected lymphangitis.", "lymphangitis"),
    ],
)
def test_pc_020_the_lists_find_what_an_ner_misses(text: str, found: str) -> None:
    nlp = spacy.blank("en")
    ner = nlp.add_pipe("entity_ruler")
    ner.add_patterns([{"label": "DISEASE", "pattern": "pneumothorax"}])
    nlp.add_pipe("mcse_entity_source")
    nlp.add_pipe("mcse_entity_refiner", config={"spans_in": "mcse_candidates"})
    (entity,) = (e for e in nlp(text)._.clinical_entities if found in e.text)
    assert entity._.assertion == "uncertain"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Moderate left hydrothorax.", "moderate LEFT Hydrothorax."),
        (
            "No Pneumothorax; small RIGHT Effusion.",
            "NO pneumothorax; SMALL right effusion.",
        ),
        ("The Heart Is Enlarged.", "the heart is enlarged."),
        ("Possible pneumonia, no CHF.", "POSSIBLE PNEUMONIA, NO chf."),
        ("9 mm nodule, Unchanged.", "9 MM NODULE, UNCHANGED."),
    ],
)
def test_pc_022_case_does_not_matter(nlp: Language, one: str, other: str) -> None:
    score = spacy_mcse.score(one, other, nlp=nlp)
    assert (score.f1, score.mcse) == (1.0, 1.0)
    assert score.n_reference > 0


def parse_forwards(doc: Doc) -> Doc:
    """Each word a compound of the next one, as a parser might have it."""
    for token in doc:
        token.pos_ = "NOUN"
        token.head = doc[min(token.i + 1, len(doc) - 1)]
        token.dep_ = "compound"
    doc[-1].dep_ = "ROOT"
    return doc


def parse_backwards(doc: Doc) -> Doc:
    """Each word the object of the one before it."""
    for token in doc:
        token.pos_ = "VERB" if token.i == 0 else "NOUN"
        token.head = doc[max(token.i - 1, 0)]
        token.dep_ = "dobj"
    doc[0].dep_ = "ROOT"
    return doc


@pytest.mark.parametrize(
    "markup",
    [
        "<e>Patchy right basal opacities</e> are increased.",
        "<e>Dense left apical scarring</e> is unchanged.",
        "No <e a=absent>large left pleural effusion</e> is seen.",
        "<e>Several small calcified nodules</e> are noted.",
        "The <e>right hemidiaphragm is elevated</e>.",
    ],
)
def test_pc_023_any_parser_gives_the_same(nlp: Language, markup: str) -> None:
    text, marked = parse_markup(markup)
    check_markup(nlp(text), marked)
    for parse in (None, parse_forwards, parse_backwards):
        doc = nlp.make_doc(text)
        if parse is not None:
            parse(doc)
        for name, component in nlp.pipeline:
            if name.startswith("mcse"):
                doc = component(doc)
        check_markup(doc, marked)


@pytest.mark.parametrize(
    ("text", "mentions", "once"),
    [
        ("Edema. Edema. Edema.", 3, "Edema."),
        ("Nodule. Nodules. Nodule.", 3, "Nodule."),
        ("Cardiomegaly. Enlarged heart. The heart is enlarged.", 3, "Cardiomegaly."),
        ("Left effusion. LEFT EFFUSION.\nLeft effusions.", 3, "Left effusion."),
        ("Possible pneumonia. Possible pneumonia.", 2, "Possible pneumonia."),
    ],
)
def test_pc_025_a_finding_said_again_is_one_finding(
    nlp: Language, text: str, mentions: int, once: str
) -> None:
    doc = nlp(text)
    starts = [entity.start_char for entity in doc._.clinical_entities]
    assert len(set(starts)) == mentions
    assert len({entity._.concept for entity in doc._.clinical_entities}) == 1
    score = spacy_mcse.score(once, doc, nlp=nlp)
    assert (score.f1, score.n_reference, score.n_candidate) == (1.0, 1, 1)


@pytest.mark.parametrize(
    ("reference", "near", "far"),
    [
        ("Lung lesion.", "Pulmonary nodule.", "Rib fracture."),
        ("Enlarged heart.", "Cardiomegaly.", "Pneumothorax."),
        ("Pleural fluid.", "Pleural effusion.", "Scoliosis."),
        ("Left lower lobe collapse.", "Left lower lobe atelectasis.", "Rib fracture."),
        ("Air in the pleural space.", "Pneumothorax.", "Edema."),
        ("Degenerative changes of the spine.", "Spondylosis.", "Pneumonia."),
        ("Infiltrate.", "Consolidation.", "Scoliosis."),
        ("Lung scarring.", "Pulmonary fibrosis.", "Clavicle fracture."),
        ("Emphysema.", "Hyperinflated lungs.", "Aortic aneurysm."),
        ("Lung tumor.", "Pulmonary mass.", "Pleural effusion."),
    ],
)
def test_pc_026_related_words_score_above_others(
    nlp: Language, reference: str, near: str, far: str
) -> None:
    first, second = (
        spacy_mcse.score(reference, text, nlp=nlp).f1 for text in (near, far)
    )
    assert first > second + 0.2


OTHER_PARTS = [
    "3 cm lesion in hepatic segment VI.",
    "Meniscal tear of the left knee.",
    "Acute infarct in the territory of the middle cerebral artery.",
    "Simple cyst at the lower pole of the left kidney.",
]


@pytest.mark.parametrize("text", OTHER_PARTS)
def test_pc_028_other_parts_of_the_body_score(nlp: Language, text: str) -> None:
    assert len(nlp(text)._.clinical_entities) == 1
    score = spacy_mcse.score(text, text, nlp=nlp)
    assert (score.f1, score.mcse) == (1.0, 1.0)
    assert spacy_mcse.score(text, "Pneumothorax.", nlp=nlp).f1 < 0.3


@pytest.mark.parametrize("text", OTHER_PARTS)
def test_pc_028_other_parts_of_the_body_are_warned_of(text: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("mcse_entity_source")
    nlp.add_pipe("mcse_entity_refiner", config={"spans_in": "mcse_candidates"})
    nlp("Nodule in the left lung. Normal abdomen.")
    with pytest.warns(UserWarning, match="chest") as caught:
        list(nlp.pipe([text, text]))
    # Once, and without a word of the report.
    assert len(caught) == 1
    assert not set(text.lower().rstrip(".").split()) & set(
        str(caught[0].message).lower().split()
    ) - {"of", "the", "in"}


@pytest.mark.parametrize(
    "text",
    [
        "Pulmonary venous congestion.",
        "Nodule at the left base and adenopathy.",
        "Abnormality of the right hilum.",
        "Noncalcified nodule. Notching of the left fifth rib.",
    ],
)
def test_pc_032_no_half_weight_by_letters(nlp: Language, text: str) -> None:
    doc = nlp(text)
    assert doc._.clinical_entities
    assert not any(entity._.negated for entity in doc._.clinical_entities)
    score = spacy_mcse.score(doc, doc, nlp=nlp)
    assert (score.f1, score.mcse) == (1.0, 1.0)
    assert {pair.credit for pair in score.pairs} == {1.0}


@pytest.mark.parametrize(
    "text",
    [
        "Rib  notching.\n\n\n\nThe  heart is\nlarge.\n \n\t\n",
        "\n\n \n Edema .  \n . \n\n No mass .",
        "Edema.\r\n\r\n\r\nNodule.  \r\n",
        "\u00a0\n\u2028Edema.\u2029\u00a0.\u00a0Nodule.",
    ],
)
def test_pc_034_no_sentence_is_empty(nlp: Language, text: str) -> None:
    refiner = nlp.get_pipe("mcse_entity_refiner")
    words = refiner.refine(nlp(text)).reading.words
    assert len(words.sentences) == 2
    assert all(
        any(words.is_word[at] for at in range(start, end))
        for start, end in words.sentences
    )


def test_pc_032_a_normal_variant_is_not_denied(nlp: Language) -> None:
    doc = refine_spans(nlp, "A normal variant.", [("normal variant", "FINDING")])
    assert not any(entity._.negated for entity in doc._.clinical_entities)


def test_pc_037_an_impression_with_a_slip_is_normal(nlp: Language) -> None:
    for heading in ("IMPRESION", "IMPRESSOIN", "IMPRESSION", "Impresson"):
        doc = nlp(f"NDICATION: rule out pneumonia. {heading}: normal.")
        assert doc._.clinical_entities == []
        assert len(doc._.normal_statements) == 1
        assert [d["reason"] for d in doc._.dropped_entities] == ["section"]


def with_sections(sections: list[str] | None, **scoring: Any) -> Language:
    """The word lists with other sections that count and other scoring."""
    nlp = spacy.blank("en")
    nlp.add_pipe("mcse_entity_source")
    refiner: dict[str, Any] = {"spans_in": "mcse_candidates", "sections": sections}
    nlp.add_pipe("mcse_entity_refiner", config=refiner)
    embedder = {"encoder": {"@misc": HASH_ENCODER}, "scoring": scoring}
    nlp.add_pipe("mcse_embedder", config=embedder)
    return nlp


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        (
            "FINDINGS: Edema. IMPRESSION: Edema and a rib fracture.",
            "FINDINGS: Edema.",
        ),
        ("FINDINGS: Nodule.\n\nIMPRESSION:\nLarge effusion.", "FINDINGS: Nodule."),
        ("Findings: Edema, no mass. Conclusion: Pneumonia.", "Edema. No mass."),
        ("IMPRESSION: Effusion. FINDINGS: Scoliosis.", "Scoliosis."),
    ],
)
def test_pc_040_sections_that_count_can_be_chosen(
    reference: str, candidate: str
) -> None:
    both, findings = (
        with_sections(["findings", "impression"]),
        with_sections(["findings"]),
    )
    score = spacy_mcse.score(reference, candidate, nlp=both)
    chosen = spacy_mcse.score(reference, candidate, nlp=findings)
    assert score.f1 < 1
    assert chosen.f1 == 1
    # The settings of a result tell one choice from the other.
    assert score.signature.settings != chosen.signature.settings


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        ("Effusion is larger than on the prior film.", "Effusion."),
        ("New nodule.", "Nodule."),
        ("Worsening edema.", "Improved edema."),
        ("Stable cardiomegaly.", "Cardiomegaly."),
        ("The left effusion has decreased.", "Left effusion."),
    ],
)
def test_pc_041_change_counts_and_can_be_left_out(
    nlp: Language, reference: str, candidate: str
) -> None:
    assert 0.9 <= spacy_mcse.score(reference, candidate, nlp=nlp).f1 < 1
    ignoring = with_sections(None, ignore_change=True)
    assert spacy_mcse.score(reference, candidate, nlp=ignoring).f1 == 1


@pytest.mark.parametrize(
    ("text", "distinct"),
    [
        ("1. Edema. 2. No mass. 3. Edema unchanged.", 2),
        ("1. Left effusion. 2. Effusion. 3. No fracture. 4. No fractures.", 2),
        ("(1) Nodule (2) No edema (3) Nodule (4) No edema (5) Scoliosis", 3),
    ],
)
def test_pc_044_numbered_lists_have_distinct_findings(
    nlp: Language, text: str, distinct: int
) -> None:
    entities = nlp(text)._.clinical_entities
    assert len({(e._.concept, e._.assertion) for e in entities}) == distinct
    assert not any(char.isdigit() for e in entities for char in e._.mcse_text)
    assert not any(e._.attributes.get("count") for e in entities)
