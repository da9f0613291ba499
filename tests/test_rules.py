"""What the rules make of report language: tables of marked sentences, see markup.py.

More of them, by the faults that others reported, stand in test_public_cases.py.
All sentences are written for these tests.
"""

import pytest
import spacy
from markup import check_markup, parse_markup
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_mcse.data import ASSERTIONS, ATTRIBUTES, LABELS

LISTS = [
    "There is no <e a=absent>pneumothorax</e>, <e a=absent>pleural effusion</e> or "
    "<e a=absent>focal consolidation</e>.",
    "No <e a=absent>pneumothorax</e>/<e a=absent>effusion</e>.",
    "Neither <e a=absent cue=Neither>fracture</e> nor "
    "<e a=absent cue=nor>dislocation</e> is seen.",
    "The lungs show no <e a=absent>nodule</e> nor <e a=absent>mass</e>.",
    "Without <e a=absent>effusion</e>, <e a=absent>edema</e> or "
    "<e a=absent>consolidation</e>.",
    "No <e a=absent>effusion</e> and no <e a=absent>pneumothorax</e>.",
    "<e>Cardiomegaly</e> with no <e a=absent>edema</e> and <e a=absent>effusion</e>.",
    "<e>Left effusion</e> without <e a=absent>pneumothorax</e>.",
    "The film is negative for <e a=absent>fracture</e>/<e a=absent>dislocation</e>.",
    "negative for <e a=absent>fracture</e>/<e a=absent>dislocation</e>",
    "The chest is negative for <e a=absent>pneumonia</e>.",
    "No evidence of <e a=absent>nodule</e> <e a=absent>large mass</e> or "
    "<e a=absent>effusion</e>. Clavicles look fine.",
    "No <e a=absent>effusion</e>, <e a=absent>acute rib fracture</e>, "
    "<e a=absent>pneumothorax</e>, or <e a=absent>edema</e> is identified.",
    "No <e a=absent>consolidation</e> or <e a=absent>large effusion</e>.",
    "<e a=absent>Pneumothorax</e>, <e a=absent>effusion</e> and "
    "<e a=absent>edema</e> are not seen.",
    "<e a=absent>Effusion</e> and <e a=absent>pneumothorax</e> are absent.",
]

SCOPE_ENDS = [
    "No <e a=absent>effusion</e>; <e>mild edema</e>.",
    "No <e a=absent>effusion</e>. <e>Mild edema</e>.",
    "No <e a=absent>effusion</e>, however there is <e>mild edema</e>.",
    "There is no <e a=absent>effusion</e> and the <e>heart is enlarged</e>.",
    "There is no <e a=absent>focal consolidation</e>, and the "
    "<e>pleural effusion</e> is small.",
    "No <e a=absent>consolidation</e>, the <e>pleural effusion</e> is small.",
    "Without <e a=absent>effusion</e> or <e a=absent>edema</e>, but with a "
    "<e>nodule</e>.",
    "<e>Cardiomegaly</e> without <e a=absent>edema</e> and a <e>small effusion</e>.",
    "No <e a=absent>pneumothorax</e> although a <e>small effusion</e> is present.",
    "No <e a=absent>pneumonia</e>, except for <e>mild atelectasis</e>.",
    "There is a <e>moderate right pleural effusion</e>. No "
    "<e a=absent>left pleural effusion</e>.",
    "The catheter does not reach the cavoatrial junction and a "
    "<e>right effusion</e> is seen.",
    "Normal heart. <e>Nodular density</e> at the right base.",
    "The <e>nodule</e> has not changed and there is an <e>effusion</e>.",
    "The patient could not be positioned; <e>edema</e> is present.",
    "No <e a=absent>fracture</e> seen, <e>old granuloma</e> and "
    "<e>healed rib deformity</e>.",
    "No <e a=absent>edema</e> with <e>small left effusion</e>.",
    "No <e a=absent>fracture</e> <e>Mild scoliosis</e>. The aorta is normal",
    "No <e a=absent>fracture</e> or <e a=absent>pneumonia</e> The <e>heart is "
    "enlarged</e>.",
    "No <e a=absent>Right lower lobe Pneumonia</e>.",
]

BEHIND = [
    '<e a=absent cue="not seen">Pneumothorax</e> is not seen.',
    "<e a=absent>Pleural effusion</e> has resolved.",
    "The previously seen <e a=absent>nodule</e> is no longer visualized.",
    "<e a=absent>Consolidation</e> was ruled out.",
    "<e a=absent>Fracture</e> is ruled out.",
    "<e a=absent>Effusion</e> is absent.",
    "A <e a=absent>fracture</e> is not identified.",
    "<e a=absent>Free air</e> is not present.",
    "<e>Edema</e> has improved and <e a=absent>effusion</e> has resolved.",
    "<e a=absent>Right effusion</e> has resolved, and <e>left effusion</e> persists.",
    "No longer seen is the <e a=absent>left apical pneumothorax</e>.",
    "The <e a=absent>heart is not enlarged</e>.",
    "The <e a=absent>heart is no longer enlarged</e>.",
    "<e a=absent>Pneumothorax</e>: none.",
    "<e a=absent>Effusion</e> - no.",
    "<e a=absent>Edema</e>, <e a=absent>effusion</e>, <e a=absent>nodules</e> were "
    "absent.",
    "<e a=absent>Edema</e> and <e a=absent>effusion</e> are both absent.",
    "The <e>nodule</e> was not present on the prior film.",
    "<e>Edema</e>, <e a=absent>effusions</e> are absent.",
]

BEFORE = [
    "Without evidence of <e a=absent>edema</e>.",
    "No evidence of <e a=absent>pulmonary edema</e> or "
    "<e a=absent>pleural effusion</e>.",
    "Free of <e a=absent>consolidation</e>.",
    "The patient denies <e a=absent>chest pain</e>.",
    "No <e a=absent>displaced rib fracture</e>.",
    "Absent <e a=absent>effusion</e>.",
    "Resolved <e a=absent>left effusion</e>.",
    "There has been interval resolution of the <e a=absent>right effusion</e>.",
    "No new <e a=absent>nodule</e>. No <e a=absent>abnormal density</e>.",
    "No <e a=absent>acute fracture</e>.",
    "No <e a=absent>rib abnormality</e>.",
    "No sign of <e a=absent>edema</e>.",
    "1.No evidence of <e a=absent>pneumothorax</e>.2.<e>Small nodule</e>.",
    "Lungs without <e a=absent>consolidation</e>.",
    "There isn't any <e a=absent>effusion</e>.",
    "The lungs do not show <e a=absent>consolidation</e>.",
    "Absence of <e a=absent>edema</e>.",
    "Nor were there any <e a=absent>nodules</e>.",
    "None of the films shows a <e a=absent>fracture</e>.",
    "No focal areas of <e a=absent>consolidation</e>.",
    "Resolution of the <e a=absent>left effusion</e>.",
    "(-) <e a=absent>effusion</e>, (+) <e>edema</e>.",
    "Ø <e a=absent>fracture</e>.",
]

NOT_OF_THIS_STUDY = [
    "History of asthma and edema, now with <e>small effusion</e>.",
    "No history of <e a=absent>asthma</e>.",
    "<e>Effusion</e> in a patient with a history of asthma.",
    "Given history of edema, the <e>opacity</e> is older.",
    "<e>Nodule</e>; CT to exclude a mass.",
    "Cannot rule out <e a=uncertain>pneumonia</e>.",
    "<e a=absent>Pneumonia</e> is ruled out.",
    "History of pneumonia. <e>Edema</e>.",
    "<e>Nodule</e> that would explain the patient's cough.",
    "The patient presents with chest pain. <e>Small effusion</e>.",
    "The clinical presentation includes fever. <e>Edema</e>.",
]

CHANGE_IS_NO_DENIAL = [
    "No change in the <e>small left effusion</e>.",
    "There is no significant interval change in <e>cardiomegaly</e>.",
    "No interval change in the <e>right apical nodule</e>.",
    "Not only <e>pneumonia</e> but also <e>effusion</e> is present.",
    "No increase in the <e>right effusion</e>.",
    "No improvement of the <e>edema</e>.",
    "The <e>effusion</e> has not changed.",
    "<e>Cardiomegaly</e> without change.",
    "The <e>edema</e> has not improved.",
    "No worsening of the <e>left basilar atelectasis</e>.",
    "Without significant interval change of the <e>right effusion</e>.",
    "Partial resolution of the <e>left effusion</e>.",
]

UNCERTAIN = [
    "<e a=uncertain>Effusion</e> cannot be excluded.",
    "<e a=uncertain>Pneumonia</e> is not excluded.",
    "Cannot exclude a <e a=uncertain>nodule</e>.",
    "We cannot rule out <e a=uncertain>pneumonia</e>.",
    "A <e a=uncertain>tiny pneumothorax</e> is difficult to exclude.",
    "Possible <e a=uncertain cue=Possible>left lower lobe pneumonia</e>.",
    "<e>Right basilar opacity</e> may represent "
    '<e a=uncertain cue="may represent">atelectasis</e>.',
    "Concerning for <e a=uncertain>pulmonary edema</e>.",
    "<e>Left base opacity</e>, <e a=uncertain>pneumonia</e> versus "
    "<e a=uncertain>atelectasis</e>.",
    "? <e a=uncertain>pneumonia</e> at the left base.",
    "?<e a=uncertain>pneumonia</e>",
    "<e a=uncertain>Effusion</e>?",
    "Question of <e a=uncertain>small right apical pneumothorax</e>.",
    "<e a=uncertain>Pneumonia</e> is unlikely.",
    "<e a=uncertain>Atelectasis</e> is likely.",
    "<e>Streaky opacity</e>, likely <e a=uncertain>atelectasis</e>.",
    "Probable <e a=uncertain>left effusion</e>.",
    "<e>Bibasilar opacities</e> could reflect <e a=uncertain>atelectasis</e> or "
    "<e a=uncertain>pneumonia</e>.",
    "This appearance suggests <e a=uncertain>edema</e>.",
    "Suspected <e a=uncertain>rib fracture</e>.",
    "<e>Opacity</e> suspicious for <e a=uncertain>mass</e>.",
    "Developing <e a=uncertain>pneumonia</e> should be considered.",
    "There may be a <e a=uncertain>small left effusion</e>.",
    "Findings most consistent with <e a=uncertain>edema</e>.",
    "<e>Left apical density</e>, possibly <e a=uncertain>scarring</e>, "
    "<e a=uncertain>atelectasis</e>, or <e a=uncertain>early pneumonia</e>.",
    "May be <e a=uncertain>bronchiectasis</e> or possibly "
    "<e a=uncertain>cavitation</e>.",
    "Maybe due to <e a=uncertain>edema</e> and/or <e a=uncertain>aspiration</e>.",
    "<e a=uncertain>Aspiration</e> is in the differential.",
    "<e a=uncertain>Fracture</e> is thought to be unlikely.",
    "<e a=uncertain>Pneumonia</e> appears unlikely.",
    "It is unclear whether this represents <e a=uncertain>effusion</e> or "
    "<e a=uncertain>pleural thickening</e>.",
    "Possible, though not definite, <e a=uncertain>left apical nodule</e>.",
    "<e a=uncertain>Effusion</e>, if any, is small.",
    "Correlate clinically for <e a=uncertain>pneumonia</e>.",
]

PRESENT = [
    "The study is notable for <e>edema</e>.",
    "There is <e>mild edema</e> now.",
    "Known <e>scoliosis</e>.",
    "Nothing has changed except the <e>effusion</e>, which is larger.",
    "<e>Noncalcified nodule</e> at the left base.",
    "Again seen is a <e>left effusion</e>.",
    "A <e>mass</e> is present.",
    "<e>Mass</e> at the left base.",
    "A <e>lesion</e> is seen in the left lung.",
]

NO_OPACITY_TO_SUGGEST = [
    "No <e a=absent>opacity</e> to suggest <e a=absent>pneumonia</e>.",
    "No <e a=absent>consolidation</e> suggestive of <e a=absent>pneumonia</e>.",
    "No <e a=absent>consolidation</e> concerning for <e a=absent>pneumonia</e>.",
]


@pytest.mark.parametrize(
    "markup",
    [
        *LISTS,
        *SCOPE_ENDS,
        *BEHIND,
        *BEFORE,
        *CHANGE_IS_NO_DENIAL,
        *NOT_OF_THIS_STUDY,
        *UNCERTAIN,
        *PRESENT,
        *NO_OPACITY_TO_SUGGEST,
    ],
)
def test_assertion(nlp: Language, markup: str) -> None:
    text, marked = parse_markup(markup)
    check_markup(nlp(text), marked)


ATTRIBUTE_CASES = [
    # side
    "<e side=left>Left effusion</e>.",
    "<e side=right>Right-sided effusion</e>.",
    "<e side=bilateral>Bilateral effusions</e>.",
    "<e side=bilateral>Effusions</e> on both sides.",
    '<e side=bilateral location="lower lobe">Opacities</e> in both lower lobes.',
    "<e side=bilateral>Pleural effusions</e> are present bilaterally.",
    "<e side=bilateral location=base>Bibasilar atelectasis</e>.",
    "<e side=left>Effusion</e> on the left.",
    "There is an <e side=right>effusion</e> on the right side.",
    "<e side=left>Fullness of the left hilum</e>.",
    "<e side=right>Blunting of the right costophrenic angle</e>.",
    "<e side=right>Elevated right hemidiaphragm</e>.",
    "The <e side=left>left hemidiaphragm is elevated</e>.",
    '<e side="">Effusion</e>. Old wires on the left.',
    "<e side=right>Right effusion</e> and <e side=left>left nodule</e>.",
    'In the left lower lobe there is a <e side=left location="lower lobe">nodule</e>.',
    # location
    "<e location=base side=right>Nodular density</e> at the right base.",
    '<e location="upper lobe" side=right>Mass</e> in the right upper lobe.',
    '<e location="lower lobe" side=left>Left lower lobe pneumonia</e>.',
    "<e location=apex side=left>Left apical opacity</e>.",
    "<e location=apex side=right>Right apical pneumothorax</e>.",
    '<e location="lower lobe; upper lobe" side=left>Left upper and lower lobe '
    "opacities</e>.",
    "<e location=lingula>Nodule</e> in the lingula.",
    "<e location=retrocardiac>Retrocardiac opacity</e>.",
    # severity
    "<e severity=mild>Mild edema</e>.",
    '<e severity="mild; moderate">Mild-to-moderate pulmonary edema</e>.',
    '<e severity="moderate; small">Small to moderate left pleural effusion</e>.',
    "The <e severity=mild>heart is mildly enlarged</e>.",
    "<e severity=severe>Cardiac enlargement</e> is severe.",
    "<e severity=large>Large right effusion</e>.",
    "The <e severity=small>effusion</e> is small.",
    '<e severity="">Edema</e> and <e severity=mild>mild cardiomegaly</e>.',
    # size
    "A <e size=12,9>12 x 9 mm nodule</e> in the right upper lobe.",
    "There is a <e size=12>1.2 cm nodule</e> at the left base.",
    "A <e size=7>nodule</e> measuring 7 mm is seen.",
    "<e size=35>Right upper lobe mass</e> measures 3.5 cm.",
    "<e size=8>8mm nodule</e> at the right base.",
    "<e size=25,18>2.5 x 1.8 cm mass</e> in the lingula.",
    "<e size=4>4-mm nodule</e>.",
    "<e size=20,15>Mass</e> measuring 20 mm x 15 mm.",
    "<e size=6>Nodule</e> (6 mm) at the left apex.",
    '<e size="">Nodule</e>. Tube tip 4 cm above the carina.',
    "<e size=9 side=right>Nodule</e> in the right upper lobe, 9 mm.",
    "<e side=left>Effusion</e>, left.",
    # quality
    "<e quality=patchy>Patchy opacity</e>.",
    "Patchy areas of <e quality=patchy>consolidation</e>.",
    "<e quality=focal>Focal consolidation</e>.",
    "<e quality=displaced>Displaced rib fracture</e>.",
    "<e quality=acute>Acute fracture</e>.",
    # change
    "The <e change=unchanged>effusion</e> is unchanged.",
    "<e change=stable text=cardiomegaly>Cardiomegaly</e> is stable.",
    "Stable <e change=stable text=cardiomegaly>cardiomegaly</e>.",
    "New <e change=new>right apical nodule</e>.",
    "The <e change=worse>effusion</e> is larger than before.",
    "Interval increase in the <e change=worse>left effusion</e>.",
    "Worsening <e change=worse>edema</e>.",
    "Slightly increased <e change=worse>left basilar atelectasis</e>.",
    "The <e change=better>edema</e> has improved.",
    "Decreased <e change=better>left effusion</e>.",
    "Partial resolution of <e change=better>left apical opacity</e>.",
    "No change in the <e change=unchanged>small left effusion</e>.",
    "No significant interval change in <e change=unchanged>cardiomegaly</e>.",
    "No increase in the <e change=unchanged>right effusion</e>.",
    "The <e change=unchanged>effusion</e> has not changed.",
    '<e change=better>Edema</e> has improved and <e change="">atelectasis</e> is '
    "present.",
    "The <e change=better>edema</e> has improved and the <e change=worse>effusion</e> "
    "has increased.",
    # count
    "<e count=2>Two nodules</e> in the left lung.",
    "<e count=multiple side=bilateral>Multiple bilateral pulmonary nodules</e>.",
    "<e count=several>Several nodules</e>.",
    "<e count=3>Three rib fractures</e>.",
]


@pytest.mark.parametrize("markup", ATTRIBUTE_CASES)
def test_attributes(nlp: Language, markup: str) -> None:
    text, marked = parse_markup(markup)
    check_markup(nlp(text), marked)


WORDING = [
    '<e text="mild to moderate pulmonary edema">Mild-to-moderate pulmonary edema</e>.',
    'No <e a=absent text="no effusion">effusion</e>.',
    'The <e text="enlarged heart">heart is enlarged</e>.',
    'The <e text="mildly enlarged heart">heart is mildly enlarged</e>.',
    'The <e a=absent text="no enlarged heart">heart is not enlarged</e>.',
    'The <e text="tortuous aorta">aorta is tortuous</e>.',
    '<e text="enlargement of the cardiac silhouette">Enlargement of the cardiac '
    "silhouette</e>.",
    '<e text="fullness of the left hilum">Fullness of the left hilum</e>.',
    '<e text="left upper and lower lobe opacities">Left upper and lower lobe '
    "opacities</e>.",
    'New <e text="right apical nodule">right apical nodule</e>.',
    'Increased <e text="left effusion">left effusion</e>.',
    'Recurrent <e text="left effusion">left effusion</e>.',
    'Patchy areas of <e text="patchy consolidation">consolidation</e>.',
    '<e text="small effusion">SMALL  EFFUSION</e>.',
    '<e text="left sided effusion">Left-sided effusion</e>.',
    'A <e text="12 x 9 mm nodule">12 x 9 mm nodule</e>.',
    '<e text="hazy left apical densities">Hazy left apical densities</e> are '
    "increased.",
    'No <e a=absent text="no large mass">large mass</e>.',
    '<e text="pleural effusion">Pleural effusion</e> is new.',
    'Small amount of <e text="small effusion">effusion</e>.',
    'No new <e a=absent text="no nodule">nodule</e>.',
    '<e text="old rib fracture">Old rib fracture</e>.',
]


@pytest.mark.parametrize("markup", WORDING)
def test_wording(nlp: Language, markup: str) -> None:
    text, marked = parse_markup(markup)
    check_markup(nlp(text), marked)


FORMS = [
    "NO <e a=absent>PLEURAL EFFUSION</e> OR <e a=absent>PNEUMOTHORAX</e>. "
    "<e severity=mild>MILD CARDIOMEGALY</e>.",
    "<e>LEFT BASILAR OPACITY</e> MAY REPRESENT <e a=uncertain>PNEUMONIA</e>.",
    "THE <e>HEART IS ENLARGED</e>. THE LUNGS ARE CLEAR.",
    "No <e a=absent>pleural\neffusion</e> or\n<e a=absent>pneumothorax</e>.",
    "No  <e a=absent>pleural   effusion</e>  or  <e a=absent>pneumothorax</e>.",
    "No <e a=absent>pleural\r\neffusion</e>.\r\n<e>Mild edema</e>.",
    "The <e side=left>left\neffusion</e> is\nsmall.",
    "- No <e a=absent>effusion</e>\n- <e>Mild edema</e>\n- <e>Old rib fracture</e>",
    "* <e>Edema</e>\n* No <e a=absent>pneumothorax</e>",
    "1. <e>Edema</e>.\n2. No <e a=absent>pneumothorax</e>.\n3. <e>Effusion</e>.",
    "1) <e>Edema</e> 2) No <e a=absent>pneumothorax</e>",
    "(1) <e>Edema</e>. (2) No <e a=absent>pneumothorax</e>.",
    "XXXX old man with <e>effusion</e>. No XXXX <e a=absent>pneumothorax</e>.",
    "Compared to XXXX, the <e change=worse>left effusion</e> is larger.",
    "Reported to ___ at ___. <e>Effusion</e>.",
    "Dr. [**Last Name (un) 123**] was told of the <e>left effusion</e>.",
    "[**2101-3-4**]: <e>edema</e>.",
    "No <e a=absent>effusion</e>\n\n<e>Edema</e>",
    "No <e a=absent>effusion</e>\n<e>Edema</e>",
    "No <e a=absent>effusion</e>.<e>Mild edema</e>.No <e a=absent>fracture</e>.",
    "\t<e>Edema</e>\t.",
    "<e>Nodule</e>. <e>Effusion</e>. <e>Edema</e>.",
    "<e>Pneumonia</e>. <e>Small nodule</e>.",
    "<e>Edema</e>, <e>effusion</e>, <e>cardiomegaly</e>",
]


@pytest.mark.parametrize("markup", FORMS)
def test_text_forms(nlp: Language, markup: str) -> None:
    text, marked = parse_markup(markup)
    check_markup(nlp(text), marked)


def test_a_generic_word_in_the_next_sentence_takes_no_finding_with_it(
    nlp: Language,
) -> None:
    doc = nlp("Nodule. Abnormality.")
    assert [e._.concept for e in doc._.clinical_entities][:1] == ["pulmonary nodule"]


@pytest.mark.parametrize(
    "text",
    ["INDICATION: Rule out pneumonia. FINDINGS: Mild edema.", "Nodule. Abnormality."],
)
def test_no_span_crosses_a_sentence(nlp: Language, text: str) -> None:
    doc = nlp(text)
    found = [e.text for e in doc._.clinical_entities]
    found += [item["text"] for item in doc._.dropped_entities]
    assert not [text for text in found if "." in text]


NORMAL = [
    # text, words of the statement, a finding that it denies
    ("Heart size is normal.", "Heart size is normal", "cardiomegaly"),
    ("Lungs are clear.", "Lungs are clear", "consolidation"),
    ("Clear lungs.", "Clear lungs", "consolidation"),
    ("Normal heart size.", "Normal heart size", "cardiomegaly"),
    ("The heart is normal in size.", "heart is normal in size", "cardiomegaly"),
    ("Unremarkable mediastinum.", "Unremarkable mediastinum", None),
    ("Bony structures are intact.", "Bony structures are intact", "fracture"),
    ("The trachea is midline.", "trachea is midline", None),
    ("LUNGS ARE CLEAR.", "LUNGS ARE CLEAR", "consolidation"),
    ("The lungs\nare clear.", "lungs\nare clear", "consolidation"),
    ("No effusion and the lungs are clear.", "lungs are clear", "consolidation"),
    ("Normal chest.", "Normal chest", None),
    ("The left lung is clear.", "left lung is clear", "consolidation"),
]


@pytest.mark.parametrize(("text", "said", "denied"), NORMAL)
def test_normal_statement(
    nlp: Language, text: str, said: str, denied: str | None
) -> None:
    doc = nlp(text)
    statements = doc._.normal_statements
    assert [span.text for span in statements] == [said]
    assert isinstance(statements[0]._.denies, list)
    if denied is not None:
        assert denied in statements[0]._.denies
    assert said not in [span.text for span in doc._.clinical_entities]


@pytest.mark.parametrize(
    "text",
    [
        "Heart size is not normal.",
        "The lungs are not clear.",
        "The lungs are no longer clear.",
        "The heart is enlarged.",
        "Abnormal mediastinum.",
        "The film is negative for fracture.",
        "The lungs are clear of consolidation.",
        "Mild edema.",
        "",
    ],
)
def test_no_normal_statement(nlp: Language, text: str) -> None:
    assert nlp(text)._.normal_statements == []


def test_a_list_of_structures_gives_a_statement_for_each(nlp: Language) -> None:
    doc = nlp("Heart size and mediastinal contours are normal.")
    concepts = [span._.concept for span in doc._.normal_statements]
    assert concepts == ["heart size", "mediastinal contour"]


@pytest.mark.parametrize("text", ["Normal.", "IMPRESSION: Normal.", "Normal exam."])
def test_a_report_that_is_normal_says_so(nlp: Language, text: str) -> None:
    assert len(nlp(text)._.normal_statements) == 1


# Filters: what goes, why, and the switch that keeps it.
DROPPED = [
    ("A left chest tube is in place.", "chest tube", "device", "drop_devices"),
    ("Sternotomy wires are intact.", "Sternotomy wires", "device", "drop_devices"),
    ("Dual-lead pacemaker.", "Dual-lead pacemaker", "device", "drop_devices"),
    ("CT is recommended.", "CT", "procedure", "drop_procedures"),
    ("Comparison is made.", "Comparison", "procedure", "drop_procedures"),
    ("The carina is seen.", "carina", "anatomy", "drop_anatomy"),
    ("View of the right lung.", "lung", "anatomy", "drop_anatomy"),
    ("Slight change.", "change", "change_only", "drop_change_only"),
    ("Rule out pneumonia.", "pneumonia", "hypothetical", "drop_hypothetical"),
    ("Ribs may obscure a nodule.", "nodule", "hypothetical", "drop_hypothetical"),
    ("CT to exclude a mass.", "mass", "hypothetical", "drop_hypothetical"),
    ("Evaluate for edema.", "edema", "hypothetical", "drop_hypothetical"),
    ("History of asthma.", "asthma", "history", "drop_history"),
    ("Family history of lung cancer.", "lung cancer", "history", "drop_history"),
    ("Patient with h/o edema.", "edema", "history", "drop_history"),
]


@pytest.mark.parametrize(("text", "word", "reason", "switch"), DROPPED)
def test_filter(nlp: Language, text: str, word: str, reason: str, switch: str) -> None:
    doc = nlp(text)
    assert doc._.clinical_entities == []
    dropped = {item["text"].lower(): item for item in doc._.dropped_entities}
    item = dropped[word.lower()]
    assert item["reason"] == reason
    assert doc.text[item["start_char"] : item["end_char"]] == item["text"]
    assert set(item) == {"text", "label", "start_char", "end_char", "reason"}
    kept = _refined(nlp, doc, **{switch: False})
    assert any(word.lower() in e.text.lower() for e in kept._.clinical_entities)
    reasons = [item["reason"] for item in kept._.dropped_entities]
    assert reason not in reasons


def _refined(nlp: Language, doc: Doc, **settings: object) -> Doc:
    """The same text through a refiner with other settings."""
    from spacy_mcse.refiner import EntityRefiner

    given = nlp.make_doc(doc.text)
    for name, component in nlp.pipeline:
        if name == "mcse_entity_refiner":
            break
        given = component(given)
    refiner = EntityRefiner("other", spans_in="mcse_candidates", **settings)
    return refiner(given)


def test_general_cases_of_the_switches(nlp: Language) -> None:
    doc = nlp("No mild edema in the left lung.")
    (entity,) = doc._.clinical_entities
    assert entity._.assertion == "absent"
    (plain,) = _refined(nlp, doc, attach_assertion=False)._.clinical_entities
    assert (plain._.assertion, plain._.cue) == ("present", None)
    assert plain._.mcse_text == "mild edema"
    (bare,) = _refined(nlp, doc, attach_modifiers=False)._.clinical_entities
    assert bare._.attributes == {}
    assert bare.text == "edema"
    doc = nlp("Lungs are clear.")
    assert not _refined(nlp, doc, find_normal_statements=False)._.normal_statements


SECTIONS = [
    # text, concepts of what counts
    ("FINDINGS: Edema. IMPRESSION: No fracture.", ["pulmonary edema", "fracture"]),
    ("INDICATION: Rule out fracture. FINDINGS: Mild edema.", ["pulmonary edema"]),
    ("HISTORY: Fracture.\nFINDINGS: No edema.\nIMPRESSION: None.", ["pulmonary edema"]),
    ("NDICATION: rule out fracture. IMPRESSION: edema.", ["pulmonary edema"]),
    ("INDICATION: fracture\nIMPRESION: edema", ["pulmonary edema"]),
    ("Edema. RECOMMENDATION: CT for the nodule.", ["pulmonary edema"]),
    (
        "Edema.\nINDICATION:\nFracture.\nFINDINGS:\nNodule.",
        ["pulmonary edema", "pulmonary nodule"],
    ),
    ("indication: fracture. findings: edema.", ["pulmonary edema"]),
    ("IMPRESSION\nEdema.", ["pulmonary edema"]),
    ("CLINICAL HISTORY: Fracture.\r\nFINDINGS:\r\nEdema.\r\n", ["pulmonary edema"]),
    ("Edema: mild. Fracture: none.", ["pulmonary edema", "fracture"]),
    (
        "REASON FOR EXAM: Fracture. There is edema. Scoliosis.",
        ["pulmonary edema", "scoliosis"],
    ),
    ("HISTORY: Fracture. Fall. COMPARISON: None. There is edema.", ["pulmonary edema"]),
]


@pytest.mark.parametrize(("text", "concepts"), SECTIONS)
def test_sections(nlp: Language, text: str, concepts: list[str]) -> None:
    doc = nlp(text)
    assert [e._.concept for e in doc._.clinical_entities] == concepts


def test_what_stands_in_other_sections_is_dropped_as_section(nlp: Language) -> None:
    doc = nlp("INDICATION: Old fracture.\nFINDINGS: Mild edema.")
    items = [i for i in doc._.dropped_entities if i["text"] == "fracture"]
    assert [item["reason"] for item in items] == ["section"]
    everything = _refined(nlp, doc, sections=None)
    assert len(everything._.clinical_entities) == 2
    findings = nlp("FINDINGS: Edema. IMPRESSION: Fracture.")
    only = _refined(nlp, findings, sections=["findings"])
    assert [e.text for e in only._.clinical_entities] == ["Edema"]


SAME_CONCEPT = [
    (
        "Cardiomegaly.",
        "Enlarged heart.",
        "Cardiac enlargement.",
        "Heart is enlarged.",
        "The heart size is enlarged.",
        "Enlargement of the heart.",
        "Enlarged cardiac silhouette.",
    ),
    (
        "Effusion.",
        "Effusions.",
        "Pleural effusion.",
        "Pleural effusions.",
        "Left pleural effusion.",
        "Pleural fluid.",
    ),
    ("Edema.", "Oedema.", "Pulmonary edema.", "Lung oedema."),
    ("Consolidation.", "Consolidations."),
    ("Tortuous aorta.", "The aorta is tortuous.", "Aortic tortuosity."),
    (
        "Hyperinflated lungs.",
        "Hyperinflation.",
        "The lungs are hyperinflated.",
        "Lung hyperinflation.",
    ),
    ("Rib fracture.", "Rib fractures.", "Fracture of the rib.", "Fractured rib."),
    ("Low lung volumes.", "Lung volumes are low."),
    (
        "Elevated right hemidiaphragm.",
        "Elevation of the right hemidiaphragm.",
        "The right hemidiaphragm is elevated.",
    ),
    ("Metastasis.", "Metastases."),
    ("Atelectasis.", "Atelectases.", "Atelectatic changes."),
]


@pytest.mark.parametrize("texts", SAME_CONCEPT, ids=lambda texts: texts[0])
def test_synonyms_share_a_concept(nlp: Language, texts: tuple[str, ...]) -> None:
    found = {
        text: [e._.concept for e in nlp(text)._.clinical_entities] for text in texts
    }
    assert all(found[text] == found[texts[0]] for text in texts), found
    assert len(found[texts[0]]) == 1


OTHER_CONCEPT = [
    ("Rib fracture.", "Effusion."),
    ("Pneumonia.", "Pneumothorax."),
    ("Pleural effusion.", "Pericardial effusion."),
    ("Heart is enlarged.", "The aorta is enlarged."),
    ("Granuloma.", "Atelectasis."),
]


@pytest.mark.parametrize(("one", "other"), OTHER_CONCEPT)
def test_other_findings_do_not(nlp: Language, one: str, other: str) -> None:
    (first,), (second,) = (nlp(text)._.clinical_entities for text in (one, other))
    assert first._.concept != second._.concept


UNKNOWN = [
    "A <e>dense retrocardiac frobnication</e> is seen.",
    "No <e a=absent>lipomatosis</e>.",
    "<e label=FINDING>Left lung base zygocele</e>.",
    "The reader suggests <e a=uncertain>flu-like alveolitis</e>.",
    "<e label=FINDING>Mild pyelozosis</e>.",
]


@pytest.mark.parametrize("markup", UNKNOWN)
def test_words_outside_the_lists(nlp: Language, markup: str) -> None:
    text, marked = parse_markup(markup)
    check_markup(nlp(text), marked)


EVERYTHING = (
    "INDICATION: Cough.\nFINDINGS: Patchy left basilar opacity, likely atelectasis; no "
    "effusion. Left lung base zygocele. The heart is mildly enlarged. The aorta is "
    "tortuous and calcified. A 12 x 9 mm nodule in the right upper lobe, unchanged. "
    "Mild thoracic scoliosis. Left pacemaker. Lungs are otherwise clear. Mild "
    "bronchiolitis and a lipoma.\nIMPRESSION: Effusion?"
)


def test_every_value_is_of_its_kind(nlp: Language) -> None:
    doc = nlp(EVERYTHING)
    entities = doc._.clinical_entities
    assert len(entities) > 8
    starts = [e.start_char for e in entities]
    assert starts == sorted(starts)
    for entity in entities:
        assert entity.label_ in LABELS
        assert entity._.assertion in ASSERTIONS
        assert entity._.negated == (entity._.assertion == "absent")
        assert set(entity._.attributes) <= set(ATTRIBUTES)
        assert entity._.mcse_text == entity._.mcse_text.lower()
        assert entity._.concept
        _check_place(doc, entity._.cue)
        for kind, items in entity._.attributes.items():
            assert items
            for item in items:
                assert set(item) == {"text", "value", "start_char", "end_char"}
                _check_place(doc, item)
                assert isinstance(item["value"], list if kind == "size" else str)
    for item in doc._.dropped_entities:
        _check_place(doc, item)
        assert item["label"] in LABELS


def _check_place(doc: Doc, item: dict | None) -> None:
    if item is not None:
        assert doc.text[item["start_char"] : item["end_char"]] == item["text"]


def test_a_label_change_of_the_ner_changes_no_ents(nlp: Language) -> None:
    doc = nlp("No left effusion. Mild edema in the right lung.")
    before = [(e.start, e.end, e.label_, e.id_) for e in doc.ents]
    nlp.get_pipe("mcse_entity_refiner")(doc)
    assert [(e.start, e.end, e.label_, e.id_) for e in doc.ents] == before


# assess


def _snapshot(doc: Doc) -> bytes:
    return doc.to_bytes()


@pytest.mark.filterwarnings("ignore:.*W109")
def test_assess_changes_nothing(nlp: Language) -> None:
    doc = nlp("No left effusion but a 9 mm nodule; possible pneumonia.")
    refiner = nlp.get_pipe("mcse_entity_refiner")
    before = _snapshot(doc)
    found = refiner.assess(doc, [doc[1:3], doc[5:8], doc[9:11]])
    assert _snapshot(doc) == before
    assert [item["assertion"] for item in found] == ["absent", "present", "uncertain"]
    assert all(
        set(item) == {"assertion", "cue", "attributes", "mcse_text"} for item in found
    )
    assert found[0]["mcse_text"] == "no left effusion"
    assert found[0]["cue"] == {"text": "No", "start_char": 0, "end_char": 2}
    assert found[0]["attributes"]["side"][0]["value"] == "left"
    assert found[1]["attributes"]["size"][0]["value"] == [9.0]


def test_assess_filters_nothing_and_needs_no_refined_doc() -> None:
    blank = spacy.blank("en")
    refiner = blank.add_pipe("mcse_entity_refiner")
    doc = blank.make_doc("No chest tube. The carina. Foo bar.")
    spans: list[Span] = [doc[1:3], doc[4:6], doc[7:9], doc[3:4], doc[0:1]]
    found = refiner.assess(doc, spans)
    assert len(found) == len(spans)
    assert not doc.spans
    assert found[0]["assertion"] == "absent"
    assert [item["assertion"] for item in found[1:]] == ["present"] * 4
    assert refiner.assess(doc, []) == []


@pytest.mark.parametrize("words", ["No effusion", "effusion", "left effusion"])
def test_assess_of_a_span_with_its_cue(nlp: Language, words: str) -> None:
    text = "No effusion" if words == "No effusion" else "No left effusion"
    doc = nlp.make_doc(f"{text} is seen.")
    start = doc.text.index(words)
    span = doc.char_span(start, start + len(words))
    (found,) = nlp.get_pipe("mcse_entity_refiner").assess(doc, [span])
    assert found["assertion"] == "absent"
    assert found["mcse_text"].startswith("no ")
    assert not found["mcse_text"].startswith("no no")
