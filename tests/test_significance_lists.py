from collections import Counter
from importlib.resources import files
from itertools import combinations

import pytest

from spacy_mcse.lexicons import read_table, split_terms
from spacy_mcse.vocabulary import COLUMNS, load_vocabulary

CLASSES = {"urgent", "actionable", "minor", "expected"}
PLACEHOLDER = "{anatomy}"
LISTS_OF_CONCEPTS = ("findings", "abnormal_states", "devices", "procedures")
LISTS = ("significance", "families")
# Findings that call for different things; half a credit for them would be wrong.
APART = [
    ("pneumothorax", "pleural effusion"),
    ("pneumothorax", "atelectasis"),
    ("pneumothorax", "lung collapse"),
    ("pneumothorax", "pneumomediastinum"),
    ("pneumothorax", "bulla"),
    ("pulmonary edema", "pulmonary embolism"),
    ("pulmonary edema", "pneumonia"),
    ("pleural thickening", "pleural effusion"),
    ("pleural effusion", "consolidation"),
    ("pleural effusion", "atelectasis"),
    ("rib fracture", "scoliosis"),
    ("rib fracture", "vertebral compression fracture"),
    ("cardiomegaly", "pulmonary edema"),
    ("cardiomegaly", "pericardial effusion"),
    ("tortuous aorta", "aortic dissection"),
    ("aortic aneurysm", "aortic dissection"),
    ("aortic calcification", "tortuous aorta"),
    ("pulmonary nodule", "consolidation"),
    ("bone island", "bone metastasis"),
    ("blastic lesion", "lucent lesion"),
    ("scoliosis", "kyphosis"),
    ("hepatomegaly", "splenomegaly"),
    ("low lung volume", "hyperinflation"),
    ("chest tube", "central venous catheter"),
    ("endotracheal tube", "tracheostomy tube"),
    ("nasogastric tube", "endotracheal tube"),
    ("pacemaker", "port"),
]
TOGETHER = [
    ("opacity", "pneumonia"),
    ("consolidation", "airspace disease"),
    ("vascular congestion", "congestive heart failure"),
    ("pleural effusion", "blunted costophrenic angle"),
    ("cardiomegaly", "enlarged cardiomediastinal silhouette"),
    ("low lung volume", "bronchovascular crowding"),
    ("emphysema", "hyperinflation"),
    ("aortic calcification", "atherosclerosis"),
    ("osteophyte", "spondylosis"),
    ("atelectasis", "volume loss"),
    ("picc", "central venous catheter"),
    ("feeding tube", "nasogastric tube"),
    ("pacemaker", "implantable cardioverter defibrillator"),
    ("rib fracture", "rib deformity"),
]


def rows_of(name):
    return read_table(name, COLUMNS[name])


def concepts_of(name):
    return [c for row in rows_of(name) for c in split_terms(row["concepts"])]


def known_concepts():
    return {row["concept"] for name in LISTS_OF_CONCEPTS for row in rows_of(name)}


@pytest.fixture(scope="module")
def vocabulary():
    return load_vocabulary()


@pytest.mark.parametrize("name", LISTS)
def test_list_starts_with_title_source_and_licence(name):
    text = (files("spacy_mcse.lexicons") / f"{name}.tsv").read_text("utf8")
    title, source, licence, header = text.splitlines()[:4]
    assert title.startswith("# ")
    assert source == (
        "# source: compiled for this package by its authors from general "
        "radiology knowledge"
    )
    assert licence == "# licence: MIT"
    assert header == "\t".join(COLUMNS[name])


@pytest.mark.parametrize("name", LISTS)
def test_every_concept_is_one_of_the_lists(name):
    assert sorted(set(concepts_of(name)) - known_concepts()) == []


def test_classes_of_significance_are_the_four():
    assert {row["significance"] for row in rows_of("significance")} == CLASSES


def test_no_concept_has_two_classes_or_is_listed_twice():
    counts = Counter(concepts_of("significance"))
    assert [concept for concept, count in counts.items() if count > 1] == []


def test_every_device_and_every_state_of_any_structure_has_a_class(vocabulary):
    devices = {row["concept"] for row in rows_of("devices")}
    patterns = {c for c in known_concepts() if PLACEHOLDER in c}
    assert sorted((devices | patterns) - set(vocabulary.significance)) == []


def test_families_have_members_and_names_of_their_own():
    names = [row["family"] for row in rows_of("families")]
    assert len(names) == len(set(names))
    for row in rows_of("families"):
        members = split_terms(row["concepts"])
        assert len(members) >= 2, row["family"]
        assert len(members) == len(set(members)), row["family"]


def test_no_family_has_a_state_of_any_structure():
    # "Enlarged liver" and "prominent vein" would be the same.
    assert [c for c in concepts_of("families") if PLACEHOLDER in c] == []


def test_no_family_is_part_of_another():
    families = {
        r["family"]: set(split_terms(r["concepts"])) for r in rows_of("families")
    }
    for a, b in combinations(families, 2):
        assert not families[a] <= families[b], (a, b)
        assert not families[b] <= families[a], (a, b)


@pytest.mark.parametrize(("one", "other"), APART)
def test_different_findings_share_no_family(vocabulary, one, other):
    assert {one, other} <= known_concepts()
    none = frozenset()
    shared = vocabulary.families.get(one, none) & vocabulary.families.get(other, none)
    assert shared == none


@pytest.mark.parametrize(("one", "other"), TOGETHER)
def test_names_of_one_appearance_share_a_family(vocabulary, one, other):
    assert vocabulary.families[one] & vocabulary.families[other]


@pytest.mark.parametrize(
    ("concept", "significance"),
    [
        ("pneumothorax", "urgent"),
        ("ruptured {anatomy}", "urgent"),
        ("device malposition", "urgent"),
        ("consolidation", "actionable"),
        ("atelectasis", "minor"),
        ("picc", "minor"),
        ("osteophyte", "expected"),
        ("sternotomy wire", "expected"),
    ],
)
def test_vocabulary_tells_the_class_of_a_concept(vocabulary, concept, significance):
    assert vocabulary.significance[concept] == significance


def test_lists_of_the_user_replace_the_packaged_ones():
    own = load_vocabulary(
        {
            "significance": "significance\tconcepts\nminor\tpneumothorax\n",
            "families": "family\tconcepts\nair\tpneumothorax | lucency\n",
        }
    )
    assert own.significance == {"pneumothorax": "minor"}
    assert own.families == {"pneumothorax": frozenset({"air"}), "lucency": {"air"}}
