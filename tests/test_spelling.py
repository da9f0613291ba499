import pickle
import time
from importlib.resources import files

import pytest
import spacy
from markup import check_markup, parse_markup
from spacy.language import Language

import spacy_mcse
from spacy_mcse.entity_source import make_entity_source
from spacy_mcse.inflection import plurals, singulars
from spacy_mcse.lexicons import read_table, split_terms
from spacy_mcse.spelling import SHORTEST, Spelling, is_one_edit
from spacy_mcse.vocabulary import COLUMNS, load_vocabulary

MISSPELT = [
    "<e concept=pneumothorax severity=small side=left>Small left pneumothroax</e>.",
    "<e concept=cardiomegaly severity=mild>MILD CARDIOMEGALLY</e>.",
    "<e concept=atelectasis>Atelectesis</e> and "
    "<e concept=consolidation>consolidaton</e>.",
    'No <e a=absent concept="pleural effusion">pleural effussions</e>.',
    "<e concept=granuloma quality=calcified>Calcifed granulooma</e>.",
    "<e side=bilateral>Bilaterl infiltrates</e>.",
    "Questionble <e a=uncertain concept=pneumomediastinum>pneumomediastinm</e>.",
    "The <e concept=cardiomegaly>cardiac silhouete is enlarrged</e>.",
]
# Real words one edit from words of the lists, and forms of words of the lists.
RIGHT = [
    "infusion",
    "profusion",
    "perfusion",
    "diffusion",
    "hyperemia",
    "hypoxemia",
    "incubation",
    "confusion",
    "injected",
    "inflection",
    "contiguous",
    "precious",
    "perineal",
    "pupillary",
    "attitude",
    "evacuation",
    "mediastinal",
    "mediastinum",
    "consolidated",
    "consolidating",
    "opacities",
    "pneumothoraces",
    "hypoxemic",
    "atypical",
    "thoracotomy",
    "thoracostomy",
    "dysphagia",
    "dysphasia",
]


@pytest.fixture(scope="module")
def spelling() -> Spelling:
    found = load_vocabulary().spelling
    assert found is not None
    return found


@pytest.mark.parametrize("markup", MISSPELT)
def test_misspelt_words_are_read_as_what_was_meant(nlp: Language, markup: str) -> None:
    text, marked = parse_markup(markup)
    check_markup(nlp(text), marked)


@pytest.mark.parametrize(
    ("right", "misspelt"),
    [
        ("Small left pneumothorax.", "Small left pneumothroax."),
        ("Cardiomegaly. No pleural effusion.", "Cardiomegally. No pleural effussion."),
        ("Bibasilar atelectasis.", "Bibasilar atelectesis."),
        ("The heart is mildly enlarged.", "The heart is mildly enlarrged."),
    ],
)
def test_a_misspelt_report_scores_as_the_right_one(
    nlp: Language, right: str, misspelt: str
) -> None:
    result = spacy_mcse.score(right, misspelt, nlp=nlp)
    assert result.f1 == 1.0
    assert result.mcse == pytest.approx(spacy_mcse.score(right, right, nlp=nlp).mcse)


def test_the_text_stays_that_of_the_report(nlp: Language) -> None:
    doc = nlp("No large pneumothroax.")
    (entity,) = doc._.clinical_entities
    assert entity.text == "large pneumothroax"
    assert doc.text[entity.start_char : entity.end_char] == entity.text
    assert entity._.mcse_text == "no large pneumothorax"


@pytest.mark.parametrize("word", RIGHT)
def test_right_words_are_left_alone(spelling: Spelling, word: str) -> None:
    assert spelling.correct(word) == word


def test_real_words_stand_in_a_list_with_source_and_licence(spelling: Spelling) -> None:
    text = (files("spacy_mcse.lexicons") / "real_words.tsv").read_text("utf8")
    assert [line.split(":")[0] for line in text.splitlines()[1:3]] == [
        "# source",
        "# licence",
    ]
    rows = read_table("real_words", COLUMNS["real_words"])
    words = [word for row in rows for word in split_terms(row["terms"])]
    assert len(words) == len(set(words)) > 300
    assert all(spelling.correct(word) == word for word in words)


def test_no_word_of_a_list_is_changed(spelling: Spelling) -> None:
    for name, columns in COLUMNS.items():
        if name in ("labels", "suffixes", "sections", "abbreviations"):
            continue  # short forms are spelled out before mistakes are looked for
        for row in read_table(name, columns):
            if row.get("class") == "abbreviated":
                continue
            for column in columns:
                for term in split_terms(row[column]):
                    for word in term.replace(":", " ").split():
                        assert spelling.correct(word) == word, (name, term)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("xeffusion", "xeffusion"),  # the first letter counts as right
        ("affusion", "affusion"),
        ("efusion", "effusion"),
        ("edmea", "edmea"),  # short
        ("efffussion", "efffussion"),  # two mistakes
        ("hamithorax", "hemithorax"),
        ("hmithorax", "hemithorax"),
        ("hymothorax", "hymothorax"),  # hemothorax or hydrothorax is two edits: none
        ("hyprinflation", "hyprinflation"),  # hyper- or hypoinflation
        ("hamothorax", "hemothorax"),  # British or American: one concept
        ("cardiomegaly2", "cardiomegaly2"),
    ],
)
def test_what_is_in_doubt_is_left_alone(word: str, meant: str) -> None:
    words = (
        "effusion",
        "edematous",
        "hemithorax",
        "hydrothorax",
        "hyperinflation",
        "hypoinflation",
        "cardiomegaly",
    )
    concepts = {"hemothorax": "hemothorax", "haemothorax": "hemothorax"}
    if word == "hamothorax":
        words = tuple(concepts)
    assert Spelling(words, (), concepts).correct(word) == meant


def test_one_letter_left_out_put_in_changed_or_changed_over() -> None:
    assert is_one_edit("effusion", "efusion")
    assert is_one_edit("effusion", "effusions")
    assert is_one_edit("effusion", "effusoin")
    assert is_one_edit("effusion", "effudion")
    assert not is_one_edit("effusion", "effusion")
    assert not is_one_edit("effusion", "efusions")
    assert not is_one_edit("effusion", "effunios")
    assert not is_one_edit("ab", "ba" * 2)


@pytest.mark.parametrize(
    "noun",
    [
        "opacity",
        "effusion",
        "diagnosis",
        "pneumothorax",
        "vertebra",
        "bronchus",
        "mass",
    ],
)
def test_plurals_lead_back_to_the_singular(noun: str) -> None:
    for plural in plurals(noun):
        assert plural != noun
        assert noun in singulars(plural), plural


def test_it_can_be_switched_off() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    off = {"fix_spelling": False}
    nlp.add_pipe("mcse_entity_source", config=off)
    nlp.add_pipe("mcse_entity_refiner", config={"spans_in": "mcse_candidates", **off})
    text = "Small pneumothroax. Moderate effusion."
    concepts = [e._.concept for e in nlp(text)._.clinical_entities]
    assert "pneumothorax" not in concepts
    assert "pleural effusion" in concepts
    again = spacy.util.load_model_from_config(nlp.config, auto_fill=True)
    again.from_bytes(nlp.to_bytes())
    assert [e._.concept for e in again(text)._.clinical_entities] == concepts


def test_settings_of_one_pipeline_are_not_those_of_another() -> None:
    blank = spacy.blank("en")
    settings = {
        "spans_key": "candidates",
        "annotate_ents": False,
        "keep_ents": False,
        "noun_phrases": False,
        "lexicons": None,
    }
    on = make_entity_source(blank, "on", fix_spelling=True, **settings)
    off = make_entity_source(blank, "off", fix_spelling=False, **settings)
    doc = blank("Large pneumothroax")
    for _ in range(2):
        assert [span.id_ for span in on.find(doc)] == ["pneumothorax"]
        assert not off.find(doc)
    assert pickle.loads(pickle.dumps(off)).vocabulary is off.vocabulary


def test_many_unknown_words_cost_little(spelling: Spelling) -> None:
    spelling.correct("effussion")  # the index is built
    start = time.perf_counter()
    for number in range(20_000):
        spelling.correct(f"pneumothorax{number}".translate(_LETTERS))
    assert time.perf_counter() - start < 5
    assert SHORTEST == 8


_LETTERS = str.maketrans("0123456789", "qwrtzpsdfg")
