"""Kinds of text that strangers tried: markup, list marks, terse items, denials.

All sentences are written for these tests; see markup.py for the marks.
"""

import warnings

import pytest
import spacy
from markup import check_markup, parse_markup
from spacy.language import Language

import spacy_mcse

DENIAL_ENDS = [
    "No <e a=absent>pneumothorax</e> and <e>small left effusion</e>.",
    "No <e a=absent>effusion</e> with <e>mild atelectasis</e>.",
    "no <e a=absent>pneumothorax</e> <e>mild edema</e>",
    "NO <e a=absent>PNEUMOTHORAX</e> <e>MILD CARDIOMEGALY</e>",
    "No <e a=absent>effusion</e>, <e>5 mm nodule</e> in the right apex.",
    "<e a=absent>Effusion</e> resolved, <e>atelectasis</e> persists.",
    "<e a=absent>Pneumothorax</e> none, <e>small effusion</e>.",
    "<e a=absent>PTX</e>: negative, <e>effusion</e>: positive.",
    "Pleura: no <e a=absent>effusion</e> Lungs: <e>edema</e> Bones: <e>fracture</e>",
    # These go on.
    "No <e a=absent>pneumothorax</e> or <e a=absent>small effusion</e>.",
    "No <e a=absent>effusion</e>, <e a=absent>mild edema</e> or <e a=absent>mass</e>.",
]

CUES = [
    "<e a=absent>Pneumonia</e> excluded.",
    "<e a=absent>PTX</e> neg",
    "<e a=absent>Pneumothorax</e> cannot be seen.",
    "There isnt any <e a=absent>effusion</e>.",
    "The <e a=absent>pneumothorax</e> seen on the prior study is not present today.",
    "<e a=absent>Pneumothorax</e> has not recurred.",
    "It is unclear whether there is an <e a=uncertain>effusion</e>.",
    "Little if any <e a=uncertain>edema</e>.",
    "Absence of prior films limits assessment of the <e>nodule</e>.",
    "Previously absent <e>left pneumothorax</e> has developed.",
    "Father had lung cancer. <e>Cardiomegaly</e>.",
    "Treated for pneumonia last year.",
    "<e>Skin fold</e> mimicking pneumothorax.",
]

MARKED_UP = [
    "<li>No <e a=absent>pneumothorax</e></li><li><e>Cardiomegaly</e></li>",
    "No <e a=absent>effusion</e><br/><e>Edema</e><br>No <e a=absent>mass</e>",
    "• No <e a=absent>effusion</e> • <e>Cardiomegaly</e> • <e>Edema</e>",
    "* No <e a=absent>effusion</e> * <e>Cardiomegaly</e>",
    "😀 No <e a=absent>effusion</e> 😀 <e>Mild edema</e>",
    "| <e a=absent>Edema</e> | no |\n| <e>Effusion</e> | present |",
    "\u200fNo <e a=absent>effusion</e>\u200f. <e>Mild edema</e>\u202c.",
    "**Indication:** pneumonia **Findings:** <e>effusion</e>",
    "<b>Indication:</b> pneumonia<br><b>Findings:</b> <e>effusion</e>",
]


@pytest.mark.parametrize("markup", [*DENIAL_ENDS, *CUES, *MARKED_UP])
def test_odd_text(nlp: Language, markup: str) -> None:
    text, marked = parse_markup(markup)
    check_markup(nlp(text), marked)


@pytest.mark.parametrize(
    "text",
    [
        "ETT removed.",
        "The endotracheal tube has been removed.",
        "Interval removal of the right IJ catheter.",
        "The left chest tube has been pulled.",
    ],
)
def test_a_removed_device_is_absent(nlp: Language, text: str) -> None:
    doc = nlp(text)
    devices = doc.spans["mcse_devices"]
    assert [device._.assertion for device in devices] == ["absent"]


def test_a_removed_device_does_not_match_one_in_place(nlp: Language) -> None:
    removed = spacy_mcse.score("ETT. Edema.", "ETT removed. Edema.", nlp=nlp)
    in_place = spacy_mcse.score("ETT. Edema.", "ETT in place. Edema.", nlp=nlp)
    assert removed.f1 <= in_place.f1 - 0.1


@pytest.mark.parametrize(
    "text",
    [
        "Stable appearance of the chest. No effusion.",
        "Cardiopulmonary structures are unchanged. Edema.",
        "Pneumothorax. Right upper quadrant clips.",
    ],
)
def test_reports_of_the_chest_are_not_warned_of(text: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("mcse_entity_source")
    nlp.add_pipe("mcse_entity_refiner", config={"spans_in": "mcse_candidates"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp(text)
        # One of another region among reports of the chest is no news.
        nlp("Meniscal tear of the left knee.")
