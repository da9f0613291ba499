"""Sides, places, degrees, sizes, change and count in every wording: see markup.py.

All sentences are written for these tests.
"""

import pytest
from markup import check_markup, parse_markup
from spacy.language import Language

SIDES = [
    "<e side=left>L effusion</e>.",
    "<e side=right severity=small>R effusion</e>, small.",
    "<e side=left location=base>Lt base opacity</e>.",
    "<e side=right>Rt pneumothorax</e>.",
    "<e side=left>Effusion</e> on the L.",
    "<e side=bilateral>R>L effusions</e>.",
    "<e side=bilateral>Effusions</e>, R > L.",
    "<e side=bilateral>B/L effusions</e>.",
    '<e side=bilateral change="">Effusions</e>, right greater than left.',
    '<e side=bilateral change="">Pleural effusions</e>, right larger than left.',
    '<e side=bilateral change="">Small bilateral effusions</e> (left greater than '
    "right).",
    "<e side=bilateral>Bilateral effusions</e>, left > right.",
    '<e side=bilateral change="">Effusions</e> are seen, more on the right than on '
    "the left.",
    '<e side=bilateral change="">Opacities</e> are worse on the left than on the '
    "right.",
    '<e side=bilateral change="">Bilateral opacities</e>, worse on the right.',
    '<e side=bilateral change="">Effusions</e>, larger on the left.',
    '<e side=bilateral location="lower lobe" change="">Airspace disease</e>, left '
    "lower lobe greater than right.",
    '<e side=bilateral location=base change="">Atelectasis</e> in both bases, more '
    "marked on the right than the left.",
    "<e side=right>Trachea deviated</e> to the right.",
    "The <e side=left>trachea is shifted</e> to the left.",
    "<e side=left>Leftward tracheal deviation</e>.",
    "<e side=left>Mediastinal shift</e> towards the left.",
    "<e side=right>Shift of the mediastinum</e> to the right.",
    "The <e side=right>mediastinum is displaced</e> to the right.",
    'The <e side="left; right" severity="large; small">effusion</e> is small on the '
    "left and large on the right.",
    "<e side=left>Effusion</e>: left, small.",
    "<e side=left severity=small>Pleural effusion</e>: small, left.",
    "<e side=bilateral severity=small>EFFUSION</e>: SMALL, BILATERAL.",
    "<e side=left>Pleural effusion</e> - left.",
    "<e severity=moderate>Pleural effusion</e> - moderate.",
    "On the left, there is a <e side=left severity=small>small effusion</e>.",
    "On the right there is a <e side=right>pneumothorax</e>.",
    "LEFT: <e side=left>small effusion</e>. RIGHT: <e side=right>pneumothorax</e>.",
    "Left lung: <e side=left>nodule</e>.",
    "On the left, there is <e side=left location=base>basilar atelectasis</e>.",
    "In both bases, there is <e side=bilateral location=base>atelectasis</e>.",
    "The left lung demonstrates a <e side=left>small nodule</e>.",
    "Noted in the right base is a <e side=right location=base>nodule</e>.",
    "There is, in the left base, a <e side=left location=base>nodule</e>.",
    "<e side=left>Lingular opacity</e>.",
    "<e side=left>Left-sided effusion</e>.",
    "<e side=bilateral location=base>BIBASILAR ATELECTASIS</e>.",
    '<e side=right location="middle lobe">RML opacity</e>.',
    '<e side=bilateral location="lower lobe">Opacities</e> in the bilateral lower '
    "lobes.",
    "<e side=left>Atelectasis</e> or <e side=left>scarring</e> on the left.",
    "Left: <e side=left>effusion</e> and <e side=left>atelectasis</e>.",
    "<e side=right>Rt. sided effusion</e>.",
    "<e side=left>Left scarring</e> and <e>emphysema</e>, both stable.",
    "<e side=right>Effusion</e> to the right of midline.",
    "<e side=left>Left effusion</e>, both stable.",
    # The place of another finding stays with that finding.
    '<e side=left>Atelectasis</e> at the left base, <e side="">small effusion</e>.',
    'Clear right lung. <e side="">Effusion</e>.',
    "<e side=left>Left effusion</e>, right lung clear.",
]

PLACES = [
    "<e side=left location=lung size=5>Nodule</e>, 5 mm, left lung.",
    '<e side=left location="upper lobe">NODULE</e>, LEFT UPPER LOBE.',
    "<e side=left location=base>Opacity</e>, in the left base.",
    '<e location="lateral; upper lobe" side=right>Consolidation</e> in the lateral '
    "aspect of the right upper lobe.",
    '<e location="lower lobe" side=left>Opacity</e> which appears to be within the '
    "left lower lobe.",
    "<e location=base side=right>Opacity</e> projects over the right base.",
    '<e location="mid lung" side=left>Density</e> overlies the left mid lung.',
    '<e location="apex; base" side="left; right">Scarring of the right apex</e> and '
    "of the left base.",
    '<e location="apex; base" side="left; right">Scarring</e> in the right apex, left '
    "base.",
    '<e location="lower lobe; middle lobe" side=right>Opacities</e> in the right '
    "middle and lower lobes.",
    '<e location="lower lobe; middle lobe; upper lobe" side=right>Right upper, middle '
    "and lower lobe opacities</e>.",
    '<e location="posterior segment; lower lobe" side=left change=new>Nodule</e> has '
    "developed in the posterior segment of the left lower lobe.",
    '<e location="upper lobe" side=bilateral>Bilateral opacities</e>, mostly in the '
    "upper lobes.",
    # What a view or another structure says is no place of the finding.
    '<e location="">Opacity</e> seen on the lateral view.',
    'The lateral view shows an <e location="">opacity</e>.',
    '<e location="">Cardiomegaly</e>, stable mediastinal contours.',
    # ribs and vertebrae
    '<e side=left location="rib 4; rib 5; rib 6; rib 7">Fractures of the left 4th '
    "through 7th ribs</e>.",
    '<e side=left location="rib 4; rib 5; rib 6">Left 4th-6th rib fractures</e>.',
    '<e side=left location="rib 4; rib 5">Fractures of ribs</e> 4-5 on the left.',
    '<e side=left location="rib 4; rib 5; rib 6">Left rib fractures</e> 4-6.',
    '<e side=left location="rib 5; rib 6">Rib fractures</e> (left 5-6).',
    '<e location="rib 4">Old fracture of the fourth rib</e>.',
    '<e side=left location="rib 4">Left fourth rib fracture</e>.',
    '<e side=right location="rib 3; rib 4; rib 5">Acute fractures of the right third '
    "through fifth ribs</e>.",
    '<e side=right location="rib 5; rib 6">Fracture of the right 5th and 6th ribs</e>.',
    '<e side=right location="rib 2">Fracture of the right second rib</e>.',
    '<e location="rib 8; lateral" side=right>Right lateral 8th rib fracture</e>.',
    '<e location="rib 8" side=right>Healed fracture</e> through the right 8th rib.',
    '<e location="rib 5" side=right>Nodule</e> overlying the right 5th rib.',
    '<e location="rib 9" side=left>FRACTURE</e>, LEFT RIB 9.',
    '<e location=t8 side="">Compression fracture of T8</e>.',
    '<e location=l1 side="">L1 compression fracture</e>.',
    '<e location=l2 side="">Compression deformity</e> at L2.',
    '<e location="t7; t8; t9">Wedge deformities</e> at T7-T9.',
    '<e location="t7; t8; t9">Wedge deformities</e> at T7-9.',
    '<e location="t10; t11; t12">Degenerative changes</e> at T10 through T12.',
    '<e location="t12; l1">Compression fractures of T12 and L1</e>.',
    '<e location="">Effusion</e> first seen in 2010.',
]

SIZES = [
    "<e size=4,5>4-5 mm nodule</e>.",
    "A <e size=4,5>4 to 5 mm nodule</e> in the right upper lobe.",
    "<e size=30>Nodule</e> measuring up to 3 cm.",
    "The <e size=8 change=worse>nodule</e> has grown from 5 mm to 8 mm.",
    "The <e size=5 change=better>nodule</e> has decreased from 8 to 5 mm.",
    '<e size="4; 7">Nodules</e> measuring 4 mm and 7 mm.',
    "<e size=12,9>Mass</e>, 1.2 x 0.9 cm.",
    "<e size=12,9>12x9mm nodule</e>.",
    "<e size=12>12MM NODULE</e>.",
    "<e size=12>1,2 cm nodule</e>.",
    "<e size=30>3-cm mass</e>.",
    '<e size="" severity=minimal>Subcentimeter nodule</e>.',
    "There is a <e size=5>5 mm nodule</e> and a <e size=7>7 mm nodule</e>.",
    "The <e size=23>mass</e> measures 2.3 cm, previously 2.1 cm.",
    "<e size=8>Nodule</e> now measures 8 mm (previously 6 mm).",
    "The <e size=8>nodule</e>, previously 6 mm, now measures 8 mm.",
    '<e size=10 change="">Mass</e> greater than 1 cm.',
    '<e size=5 change="">Nodules</e> less than 5 mm.',
    "<e size=10>Mass</e> >1 cm.",
    "<e size=6>Nodule</e> of about 6 mm.",
    "The <e size=6>nodule</e> is approximately 6 mm in diameter.",
    "<e size=6 side=left>Nodule</e>: 6 mm, left.",
    "<e size=6>Nodule</e> (size 6 mm).",
    "The <e size=8 change=worse>nodule</e> has increased in size, now 8 mm.",
    '<e size="">Nodule</e> 4 cm above the carina.',
]

COUNTS = [
    "<e count=2>2 nodules</e>.",
    "There are <e count=3 side=left>3 left rib fractures</e>.",
    "At least <e count=3>3 nodules</e>.",
    '<e count="2; 3">2-3 nodules</e>.',
    '<e count="2; 3">Two to three nodules</e>.',
    "<e count=2>A couple of nodules</e>.",
    "<e count=single>Solitary nodule</e>.",
    "<e count=single>One nodule</e> is seen.",
    "<e count=multiple>NUMEROUS NODULES</e>.",
    "<e count=few>A few nodules</e>.",
    '2. <e count="">Nodules</e>.',
    '1. <e count="">Nodules</e>.\n2. <e count="">Effusions</e>.',
    '<e count="" size=5>5 mm nodules</e>.',
    'Some <e count="">atelectasis</e>.',
]

DEGREES = [
    "<e severity=borderline>Heart borderline enlarged</e>.",
    "<e severity=borderline>Heart size borderline</e>.",
    "The <e severity=borderline>heart is borderline enlarged</e>.",
    "<e severity=mild>MINOR ATELECTASIS</e>.",
    "<e severity=minimal>Effusion</e>, trace.",
    '<e severity="mild; moderate">Mild-moderate edema</e>.',
    '<e severity="moderate; small" side=bilateral>Effusion</e>: bilateral, small to '
    "moderate.",
    "<e severity=moderate>Moderate-sized effusion</e>.",
    "<e severity=small side=left>EFFUSION</e> SMALL LEFT.",
    # A degree of change is no degree of the finding.
    'The <e severity="" change=better>edema</e> has slightly improved.',
    'The <e severity="" change=worse>opacity</e> is slightly more prominent.',
    'Mild interval improvement in the <e severity="" change=better>edema</e>.',
    'Slightly larger <e severity="" change=worse side=left>left effusion</e>.',
    'Markedly increased <e severity="" change=worse>effusion</e>.',
    '<e severity="" change=worse>Effusion</e> increased slightly in size.',
    "The <e severity=mild>left hemidiaphragm remains mildly elevated</e>.",
    'The <e severity="mild; moderate">heart is mildly to moderately enlarged</e>.',
    '<e severity="" side=right>Opacity</e> most pronounced at the right base.',
    "<e severity=small change=stable>Small stable effusion</e>.",
    "<e severity=mild>Mildly increased interstitial markings</e>.",
]

CHANGES = [
    "The <e change=worse>effusion</e> has enlarged.",
    "Again demonstrated is a <e change=unchanged>left effusion</e>.",
    "There is again a <e change=unchanged>left effusion</e>.",
    "Interval development of a <e change=new>left effusion</e>.",
    "<e change=new>Effusion</e> has developed.",
    "<e change=worse>Effusion</e> is again seen and has increased.",
    "<e change=stable>Nodule</e>, stable since 2010.",
    "<e change=unchanged>Effusion</e> unchanged from prior.",
    "<e change=unchanged>CARDIOMEGALY</e> AS BEFORE.",
    "The <e a=absent change=resolved>effusion</e> has resolved.",
    "The <e severity=large>effusion</e>, previously small, is now large.",
    '<e change="">Increased density</e> in the left lower lobe.',
    "Unchanged: <e change=unchanged>left effusion</e>.",
    'The previously seen <e change="">nodule</e>.',
    "RE-DEMONSTRATED <e change=unchanged>LEFT EFFUSION</e>.",
]


# Words of a listed name that would describe the finding anywhere else.
NAMES = [
    '<e concept=cardiomegaly severity="">Large heart</e>.',
    "<e concept=cardiomegaly severity=moderate>Moderately large heart</e>.",
    '<e severity="">Small airways disease</e>.',
    '<e severity="">Complete heart block</e>.',
    '<e concept=atelectasis location="lower lobe">Collapse of the lower lobe</e>.',
    '<e concept=atelectasis location="middle lobe">Middle lobe collapse</e>.',
    'The <e side=right location="middle lobe">right middle lobe is collapsed</e>.',
    "The <e side=left location=base>left lung base is opacified</e>.",
    'The <e concept=cardiomegaly location="">heart is enlarged</e>.',
    'The <e location="">pulmonary vasculature is engorged</e>.',
    # A place that is said apart makes the concept as much as one in its name.
    '<e concept="perihilar opacity" side=right>Opacity</e> in the right perihilar '
    "region.",
    '<e concept="hilar mass" side=left>Mass</e> in the left perihilar region.',
    '<e concept=mass location="upper lobe">Mass</e> in the left upper lobe.',
    # No abbreviation of a state.
    "Left upper lobe: <e concept=mass side=left>Mass</e>.",
]


@pytest.mark.parametrize(
    "markup", [*SIDES, *PLACES, *SIZES, *COUNTS, *DEGREES, *CHANGES, *NAMES]
)
def test_attributes_in_any_wording(nlp: Language, markup: str) -> None:
    text, marked = parse_markup(markup)
    check_markup(nlp(text), marked)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Fractures of the left 4th through 7th ribs.", "4th through 7th"),
        ("Wedge deformities at T7-T9.", "T7-T9"),
        ("Effusions, more on the right than on the left.", None),
        ("Mass greater than 1 cm.", "1 cm"),
        ("2 nodules.", "2"),
    ],
)
def test_each_value_has_the_words_that_say_it(
    nlp: Language, text: str, said: str | None
) -> None:
    doc = nlp(text)
    items = [
        item
        for entity in doc._.clinical_entities
        for found in entity._.attributes.values()
        for item in found
    ]
    assert items
    assert all(
        text[item["start_char"] : item["end_char"]] == item["text"] for item in items
    )
    assert said is None or said in [item["text"] for item in items]
