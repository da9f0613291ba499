"""Shorthand, speech recognition and structured reports, in our own words."""

import pytest
from markup import check_markup, parse_markup
from spacy.language import Language

from spacy_mcse.data import read_devices
from spacy_mcse.sections import counted_ranges, find_sections
from spacy_mcse.vocabulary import load_vocabulary

COUNTED = ("findings", "impression")
SHORTHAND = [
    "No <e a=absent>eff</e> or <e a=absent>consol</e>.",
    "<e severity=minimal side=left>Min atx</e> L base.",
    "Bilat <e>effs</e>, no <e a=absent>fxs</e>.".replace("Bilat <e>", "<e>Bilat "),
    "<e severity=moderate change=unchanged>Mod pulm edema</e>, unchgd.",
    "Film at 5 min, no <e a=absent>ptx</e>.",
    "Cannot r/o <e a=uncertain>pneumonia</e>.",
    "<e a=uncertain>PNA</e> not excl.",
    "nil <e a=absent>collapse</e>. <e>Emphysema++</e>.",
    "<e concept='low lung volume'>Lung vols ↓</e> now.",
    "<e>Ao tortuous</e>, <e>L hemidiaph elev</e>.",
    "<e>Aorta - unfolded</e>\nBones - nad",
]
SPEECH = [
    "no <e a=absent>pneumo thorax</e> period <e severity=small>small left plural "
    "effusion</e> period",
    "<e concept=cardiomegaly>cardio megaly</e> comma no <e a=absent>edema</e>",
    "Over this time period the <e>effusion</e> grew.",
    "the study of today shows no <e a=absent>consolidation</e>\n"
    "or <e a=absent>effusion</e> in either lung",
    "compared with the film of last week the large <e>effusion</e> on the right is\n"
    "still there".replace("large <e>", "<e>large ").replace("large <e>", "<e>large "),
]
STRUCTURED = [
    "Technique: portable.\nLungs: <e>Consolidation</e>.\nBones: no <e a=absent>"
    "fracture</e>.",
    "Pleura: Extensive <e>calcified plaques</e>.".replace(
        "Extensive <e>", "<e severity=severe>Extensive "
    ),
    "<e a=absent>Mediastinum: Normal contour, not widened</e>.",
    "<e side=left>Hemidiaphragms: Left elevated</e>.",
    "HEART:\n<e severity=mild>Mildly enlarged</e>.".replace(
        "HEART:\n<e severity=mild>", "<e severity=mild>HEART:\n"
    ),
    "HISTORY fall. <e>Rib fracture</e>.",
    "Indication cough. No <e a=absent>pneumonia</e>.",
    "REASON FOR EXAM: Asthma.\n\n<e>Nodule</e> on the left.\n\nIMPRESSION: "
    "<e>Nodule</e>.",
]
HEDGES = [
    "The <e>linear density</e> is likely <e a=uncertain>atelectasis</e>.",
    "<e>Opacities</e> of unclear etiology.",
    "A <e a=uncertain>left pneumothorax</e> is difficult to exclude given technique.",
    "<e a=uncertain>Blunting</e>".replace("Blunting", "Nodule")
    + " versus <e a=uncertain>granuloma</e>.",
    "<e a=uncertain>Abscess</e> is the leading consideration.",
    "History of smoking points to <e a=uncertain>carcinoma</e>.",
]
ALL_ELSE = [
    "Improved after surgery. No <e a=absent>effusion</e>.",
    "<e>Opacity</e> <e concept='obscured heart border'>obscures the right heart "
    "border</e>.",
    "CT w contrast may help. <e>Nodule</e>.",
    "She is not going to pass out. <e>Edema</e>.",
]


# What looks like one of the styles above and is ordinary English, or the reverse.
COLLISIONS = [
    "No sig. <e a=absent>effusion</e>. No evid. of <e a=absent>edema</e>.",
    "<e>effusion</e> min.\n<e severity=moderate>edema</e> mod.\nno "
    "<e a=absent>ptx</e>.",
    "No sig.  <e a=absent>effusion</e>. No signif.\n<e a=absent>edema</e>.",
    "<e severity=moderate>Mod. cardiomegaly</e>, poss. <e a=uncertain>edema</e>.",
    "no <e a=absent>ptx</e>. <e severity=minimal>min. effusion</e>.",
    "No <e a=absent>effusion</e> or\nPneumothorax.".replace(
        "Pneumothorax", "<e a=absent>Pneumothorax</e>"
    ),
    "no <e a=absent>effusion</e> on the right\n<e>edema</e>",
    "<e>effusion</e> small\n<e side=''>edema</e> mild\nno <e a=absent>mass</e>",
    "there is a <e severity=small>small\neffusion</e>",
    "<e>Heart - enlarged</e>. No <e a=absent>effusion</e>.",
    "The <e>effusion</e> has gone up. The <e a=absent>edema</e> has gone.",
    "<e>Opacity</e> is likely due to <e a=uncertain>aspiration</e>.",
    "<e>Opacities</e> are probably from <e a=uncertain>edema</e>.",
    "<e a=absent>Heart not enlarged</e>, <e>tortuous aorta</e>.",
    "<e concept='congestive heart failure'>Cong heart failure</e>.",
    "No <e a=absent concept=fracture>acute #</e>.",
    "<e concept='rib fracture'>Rib #</e>. Film # 3, tube #2. ? <e a=uncertain>#</e>.",
    "More <e>nodules</e>, increased in # and size.",
    "# Findings\nNo <e a=absent>effusion</e>.",
    "<e concept=headache>Tension headache</e>. Pick up the <e>nodule</e>.",
]


@pytest.mark.parametrize(
    "markup", [*SHORTHAND, *SPEECH, *STRUCTURED, *HEDGES, *ALL_ELSE, *COLLISIONS]
)
def test_style(nlp: Language, markup: str) -> None:
    text, marked = parse_markup(markup.replace("'", '"'))
    check_markup(nlp(text), marked)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Heart N. Bones NAD.", ["heart", "bone"]),
        ("Trachea central, CP angles free.", ["trachea", "costophrenic angle"]),
        ("Otherwise neg: no eff.", ["examination"]),
        ("Airway: patent, midline.", ["airway", "airway"]),
        ("Lungs: hyperexpanded but clear.", ["lung"]),
        ("CP angles: left blunted, right clear.", ["costophrenic angle"]),
        ("LUNGS: Contusion on the right. Left clear.", ["lung"]),
        ("Heart size is hard to judge but appears normal.", ["heart size"]),
        ("The left hilum keeps its normal shape.", ["hilum"]),
        ("The mediastinum is of normal width.", ["mediastinum"]),
        ("The lungs are poorly inflated.", []),
        ("Prominent central vessels.", []),
        ("Pleura clear of effusion.", []),
        ("Lungs: fine reticular opacities.", []),
        ("Abdomen: free air.", []),
        ("Pleura: smooth thickening. Bones: benign appearing cyst.", []),
        ("Lungs: n/a. Hila smooth.", ["hilum"]),
        ("Lungs fine, pleura free.", ["lung", "pleura"]),
        ("Right: pneumothorax. Left: clear.", []),
    ],
)
def test_normal_statement(nlp: Language, text: str, normal: list[str]) -> None:
    doc = nlp(text)
    assert [one._.concept for one in doc._.normal_statements] == normal


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        ("Lines/tubes: Two chest tubes.", [("Two chest tubes", "present")]),
        ("Support devices: None.", [("Support devices", "absent")]),
        ("Central line: tip in the SVC.", [("Central line", "present")]),
        ("ETT: 3 cm above the carina.", [("ETT", "present")]),
        ("NG tube out.", [("NG tube", "absent")]),
    ],
)
def test_devices_and_their_heading(nlp: Language, text: str, devices: list) -> None:
    found = [(one.text, one.assertion) for one in read_devices(nlp(text))]
    assert found == devices


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("TECHNIQUE: AP.\nHEART: big.", ["HEART: big."]),
        ("FINDINGS: All well.\nHeart: big.", ["All well.\nHeart: big."]),
        ("HISTORY: Left: scar.\nFINDINGS: Clear.", ["Clear."]),
        ("HISTORY: Cough.\nHeart: big.\nIMPRESSION: Big.", ["Heart: big.", "Big."]),
        ("IMPRESSION: Dx: edema.", ["Dx: edema."]),
        ("History of cough. Clear.", ["History of cough. Clear."]),
        ("History cough. Clear.", ["Clear."]),
        ("INDICATION: cough\n\nClear.\n\nIMPRESSION: Normal.", ["Clear.", "Normal."]),
    ],
)
def test_parts_that_count(text: str, counted: list[str]) -> None:
    sections = find_sections(text, load_vocabulary().sections)
    ranges = counted_ranges(text, sections, COUNTED)
    bodies = [text[start:end].strip() for start, end in ranges]
    assert [body for body in bodies if body] == counted
