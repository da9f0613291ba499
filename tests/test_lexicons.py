import re
from collections import Counter
from importlib.resources import files

import pytest
import spacy

from spacy_mcse.lexicons import read_table, split_terms
from spacy_mcse.vocabulary import load_vocabulary

COLUMNS = {
    "findings": ["concept", "terms", "kind"],
    "anatomy": ["concept", "terms", "region"],
    "devices": ["concept", "terms"],
    "procedures": ["concept", "terms", "kind"],
    "chemicals": ["concept", "terms"],
    "abnormal_states": ["concept", "adjectives", "anatomy", "generic", "nouns"],
    "modifiers": ["kind", "value", "terms"],
    "suffixes": ["suffix", "category", "exceptions"],
}
CONCEPT_LISTS = ["findings", "anatomy", "devices", "procedures", "chemicals"]
ALLOWED = {
    ("findings", "kind"): {"", "generic"},
    ("anatomy", "region"): {
        "lung",
        "pleura",
        "heart",
        "mediastinum",
        "vessel",
        "airway",
        "bone",
        "limb",
        "softtissue",
        "abdomen",
        "other",
    },
    ("procedures", "kind"): {"diagnostic", "treatment", "generic"},
    ("suffixes", "category"): {"finding", "procedure", "chemical"},
    ("modifiers", "kind"): {
        "side",
        "location",
        "severity",
        "quality",
        "change",
        "count",
    },
}
LEAST_ROWS = {
    "findings": 1000,
    "anatomy": 300,
    "devices": 60,
    "procedures": 60,
    "chemicals": 200,
    "abnormal_states": 150,
    "modifiers": 250,
    "suffixes": 80,
}
LEAST_TERMS = {
    "findings": 4000,
    "anatomy": 600,
    "devices": 400,
    "procedures": 400,
    "modifiers": 900,
}
COPD = "chronic obstructive pulmonary disease"
PLACEHOLDER = "{anatomy}"
# "/" and ">" stand between words only: "b / l", "r > l".
TERM = re.compile(r"[a-z0-9]+( ([/>] )?[a-z0-9]+)*")


def rows_of(name):
    return read_table(name, COLUMNS[name])


def terms_of(row):
    return [row["concept"], *split_terms(row["terms"])]


def concepts_of(name):
    return {row["concept"] for row in rows_of(name)}


@pytest.mark.parametrize("name", COLUMNS)
def test_list_reads_with_all_columns_filled_in(name):
    rows = rows_of(name)
    assert len(rows) >= LEAST_ROWS[name]
    assert all(row[COLUMNS[name][0]] for row in rows)


@pytest.mark.parametrize("name", COLUMNS)
def test_list_starts_with_title_source_and_licence(name):
    text = (files("spacy_mcse.lexicons") / f"{name}.tsv").read_text("utf8")
    title, source, licence, header = text.splitlines()[:4]
    assert title.startswith("# ")
    assert len(title) > 10
    assert source == (
        "# source: compiled for this package by its authors from general "
        "radiology vocabulary"
    )
    assert licence == "# licence: MIT"
    assert header == "\t".join(COLUMNS[name])


@pytest.mark.parametrize("name", COLUMNS)
def test_every_line_has_as_many_cells_as_the_header(name):
    text = (files("spacy_mcse.lexicons") / f"{name}.tsv").read_text("utf8")
    for number, line in enumerate(text.splitlines(), start=1):
        if line and not line.startswith("#"):
            assert line.count("\t") == len(COLUMNS[name]) - 1, number


@pytest.mark.parametrize("name", LEAST_TERMS)
def test_list_has_enough_terms(name):
    assert (
        sum(len(split_terms(row["terms"])) for row in rows_of(name))
        >= (LEAST_TERMS[name])
    )


@pytest.mark.parametrize("name", COLUMNS)
def test_terms_are_lower_case_words_without_punctuation(name):
    plain = [c for c in COLUMNS[name] if c not in ("kind", "region", "category")]
    for row in rows_of(name):
        for column in plain:
            for term in split_terms(row[column]):
                if term == "*" and (name, column) == ("abnormal_states", "anatomy"):
                    continue
                if (name, column) == ("abnormal_states", "concept"):
                    term = term.replace(PLACEHOLDER, "anatomy")
                assert TERM.fullmatch(term), (name, row, term)


@pytest.mark.parametrize("name", CONCEPT_LISTS)
def test_no_term_means_two_concepts(name):
    owner = {}
    for row in rows_of(name):
        for term in terms_of(row):
            assert owner.setdefault(term, row["concept"]) == row["concept"], term


@pytest.mark.parametrize("name", CONCEPT_LISTS)
def test_no_concept_has_two_rows(name):
    counts = Counter(row["concept"] for row in rows_of(name))
    assert not [concept for concept, count in counts.items() if count > 1]


@pytest.mark.parametrize("name", CONCEPT_LISTS)
def test_no_term_is_listed_twice(name):
    counts = Counter(term for row in rows_of(name) for term in terms_of(row))
    assert not [term for term, count in counts.items() if count > 1]


def test_no_term_is_in_two_lists():
    owner = {}
    for name in CONCEPT_LISTS:
        for row in rows_of(name):
            for term in terms_of(row):
                assert owner.setdefault(term, name) == name, term


@pytest.mark.parametrize(("name", "column"), ALLOWED)
def test_kinds_are_from_the_allowed_sets(name, column):
    assert {row[column] for row in rows_of(name)} <= ALLOWED[name, column]


def test_no_modifier_has_two_values_of_one_kind():
    owner = {}
    for row in rows_of("modifiers"):
        for term in split_terms(row["terms"]):
            key = row["kind"], term
            assert key not in owner, key
            owner[key] = row["value"]


def test_modifier_values_of_side_and_severity_are_canonical():
    values = {
        kind: {row["value"] for row in rows_of("modifiers") if row["kind"] == kind}
        for kind in ("side", "severity")
    }
    assert values["side"] == {"left", "right", "bilateral", "midline", "unilateral"}
    assert values["severity"] == {
        "borderline",
        "minimal",
        "mild",
        "moderate",
        "severe",
        "small",
        "large",
    }


def test_abnormal_states_name_known_findings_and_anatomy():
    findings, anatomy = concepts_of("findings"), concepts_of("anatomy")
    for row in rows_of("abnormal_states"):
        if row["anatomy"] == "*":
            assert row["concept"].count(PLACEHOLDER) == 1, row
        else:
            assert row["concept"] in findings, row
            assert set(split_terms(row["anatomy"])) <= anatomy, row
        assert split_terms(row["adjectives"]), row
        assert not row["generic"], row


def test_abnormal_states_for_any_structure_are_last():
    any_structure = [row["anatomy"] == "*" for row in rows_of("abnormal_states")]
    assert any_structure == sorted(any_structure)


def test_no_state_of_one_structure_means_two_findings():
    owner = {}
    for row in rows_of("abnormal_states"):
        for anatomy in split_terms(row["anatomy"]):
            for column in ("adjectives", "nouns"):
                for word in split_terms(row[column]):
                    key = anatomy, column, word
                    assert owner.setdefault(key, row["concept"]) == row["concept"], key


@pytest.mark.parametrize(
    ("term", "concept"),
    [
        ("enlarged heart", "cardiomegaly"),
        ("cardiac enlargement", "cardiomegaly"),
        ("effusion", "pleural effusion"),
        ("pleural fluid", "pleural effusion"),
        ("ptx", "pneumothorax"),
        ("hydropneumothorax", "hydropneumothorax"),
        ("pulmonary oedema", "pulmonary edema"),
        ("air space disease", "airspace disease"),
        ("infiltrate", "infiltrate"),
        ("opacification", "opacity"),
        ("chf", "congestive heart failure"),
        ("blunting of the costophrenic angle", "blunted costophrenic angle"),
        ("dyspnoea", "dyspnea"),
    ],
)
def test_synonyms_share_a_concept(term, concept):
    assert [r["concept"] for r in rows_of("findings") if term in terms_of(r)] == [
        concept
    ]


def test_suffix_exceptions_have_the_suffix():
    for row in rows_of("suffixes"):
        for word in split_terms(row["exceptions"]):
            assert word.endswith(row["suffix"]), row
            assert " " not in word, row


@pytest.mark.parametrize(
    ("text", "concepts"),
    [
        ("Tiny PTX. CHF.", ["pneumothorax", "congestive heart failure"]),
        ("LLL PNA and RUL GGO.", ["pneumonia", "ground glass opacity"]),
        ("ILD. COPD.", ["interstitial lung disease", COPD]),
        ("Cardiac enlargement.", ["cardiomegaly"]),
        ("The cardiothoracic ratio is increased.", ["cardiomegaly"]),
        ("Mediastinal LAD.", ["mediastinal lymphadenopathy"]),
        ("No LAD.", ["lymphadenopathy"]),
        ("Calcified proximal LAD.", ["coronary artery calcification"]),
        ("Mild PVC.", ["vascular congestion"]),
        ("Frequent PVCs.", ["premature ventricular contraction"]),
        ("Blunted left CP angle.", ["blunted costophrenic angle"]),
        ("Pulmonary oedema.", ["pulmonary edema"]),
        ("Haemothorax. Haemorrhage.", ["hemothorax", "hemorrhage"]),
        ("Degenerative disk disease.", ["degenerative disc disease"]),
        ("Pulmonary haemorrhage.", ["pulmonary hemorrhage"]),
        ("Calcified left hilar tumour.", ["tumor"]),
        ("ETT, PICC, NGT, AICD and Dobhoff tube in place.", []),
    ],
)
def test_abbreviations_and_spellings_share_the_concept(nlp, text, concepts):
    assert [e._.concept for e in nlp(text)._.clinical_entities] == concepts


def test_a_class_that_a_list_lacks_has_no_words(tmp_path):
    path = tmp_path / "word_classes.tsv"
    path.write_text("class\tterms\ncopula\tis | are\n", "utf8")
    nlp = spacy.blank("en")
    lists = {"word_classes": str(path)}
    nlp.add_pipe("mcse_entity_source", config={"lexicons": lists})
    nlp.add_pipe(
        "mcse_entity_refiner", config={"spans_in": "mcse_candidates", "lexicons": lists}
    )
    assert len(nlp("Small left effusion, 5 mm.")._.clinical_entities) == 1


def test_an_unknown_significance_is_refused(tmp_path):
    path = tmp_path / "significance.tsv"
    path.write_text("significance\tconcepts\ncritical\tpneumothorax\n", "utf8")
    with pytest.raises(ValueError, match=r"E106.*critical"):
        load_vocabulary({"significance": path.read_text("utf8")})
