import multiprocessing
import pickle
from collections.abc import Iterator

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from stub_linker import add_linker

from spacy_mcse.lexicons import read_table, split_terms
from spacy_mcse.linked import KnowledgeBases
from spacy_mcse.refiner import EntityRefiner
from spacy_mcse.vocabulary import COLUMNS

CATEGORIES = {"FINDING", "ANATOMY", "DEVICE", "PROCEDURE", "CHEMICAL", "IGNORE", "?"}
# Labels of scispaCy's recognizers of BC5CDR, BioNLP13CG, JNLPBA and CRAFT.
SCISPACY = [
    "ENTITY",
    "DISEASE",
    *("CHEMICAL", "SIMPLE_CHEMICAL", "AMINO_ACID", "CHEBI"),
    *("CANCER", "PATHOLOGICAL_FORMATION"),
    *("ANATOMICAL_SYSTEM", "IMMATERIAL_ANATOMICAL_ENTITY"),
    *("DEVELOPING_ANATOMICAL_STRUCTURE", "ORGANISM_SUBDIVISION"),
    *("MULTI_TISSUE_STRUCTURE", "MULTI-TISSUE_STRUCTURE", "ORGANISM_SUBSTANCE"),
    *("ORGAN", "TISSUE", "CELL", "CELLULAR_COMPONENT", "CELL_TYPE", "CL"),
    *("ORGANISM", "GENE_OR_GENE_PRODUCT", "DNA", "RNA", "PROTEIN", "CELL_LINE"),
    *("GGP", "SO", "TAXON", "GO"),
]
SPAN_KEY = "found"


@pytest.fixture
def unlinked() -> Iterator[None]:
    """The extension of a linker is there for one test only."""
    yield
    if Span.has_extension("kb_ents"):
        Span.remove_extension("kb_ents")


def linked_pipeline(label: str = "ENTITY") -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    add_linker(nlp, label)
    nlp.add_pipe("mcse_entity_refiner", config={"sections": None})
    return nlp


def labels(doc: Doc) -> dict[str, str]:
    """Label or reason of each entity and dropped candidate, by its text."""
    kept = {span.text.lower(): span.label_ for span in doc._.clinical_entities}
    dropped = {d["text"].lower(): d["reason"] for d in doc._.dropped_entities}
    return dropped | kept


def refined(label: str, text: str, start: int, end: int) -> Doc:
    nlp = spacy.blank("en")
    doc = nlp.make_doc(text)
    doc.ents = [Span(doc, start, end, label)]
    return EntityRefiner(sections=None)(doc)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("There is a quillwort sign.", "FINDING"),
        ("There is a gubbins catheter.", "device"),
        ("There is a left gubbins lobe.", "anatomy"),
        ("There is a gubbins imaging.", "procedure"),
        ("There is zorvatide.", "CHEMICAL"),
        ("There is a tuesday habit.", "not_clinical"),
    ],
)
@pytest.mark.usefixtures("unlinked")
def test_type_of_the_linked_concept_tells_the_category(text: str, label: str) -> None:
    assert list(labels(linked_pipeline()(text)).values()) == [label]


@pytest.mark.usefixtures("unlinked")
def test_type_wins_over_the_label() -> None:
    found = labels(linked_pipeline("DISEASE")("A gubbins catheter, zorvatide."))
    assert found == {"gubbins catheter": "device", "zorvatide": "CHEMICAL"}


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Mild quillwort.", "FINDING"),  # the best score, not the first
        ("Two twin gubbins.", "device"),  # the first of equals
        ("A gubbins tumor.", "FINDING"),  # of several types the first of the list
        ("A left pleural effusion.", "FINDING"),  # the lists know the finding
        ("Mild gubbins density.", "FINDING"),  # a type that says nothing: the label
        ("Mild unheard of.", "FINDING"),  # a concept that no linker has: the label
    ],
)
@pytest.mark.usefixtures("unlinked")
def test_which_concept_and_type_decide(text: str, label: str) -> None:
    assert list(labels(linked_pipeline("DISEASE")(text)).values()) == [label]


@pytest.mark.usefixtures("unlinked")
def test_filters_of_linked_entities_can_be_switched_off() -> None:
    nlp = linked_pipeline()
    nlp.remove_pipe("mcse_entity_refiner")
    off = {"drop_devices": False, "drop_anatomy": False, "drop_procedures": False}
    nlp.add_pipe("mcse_entity_refiner", config=off)
    found = labels(nlp("A gubbins catheter, a left gubbins lobe, a gubbins imaging."))
    assert list(found.values()) == ["DEVICE", "ANATOMY", "PROCEDURE"]


@pytest.mark.usefixtures("unlinked")
def test_linked_spans_of_a_group_are_read_as_well() -> None:
    nlp = linked_pipeline()
    doc = nlp("A gubbins catheter.")
    doc.spans[SPAN_KEY] = list(doc.ents)
    refiner = EntityRefiner(spans_in=SPAN_KEY, nlp=nlp)
    assert labels(refiner(doc)) == {"gubbins catheter": "device"}


@pytest.mark.usefixtures("unlinked")
def test_a_linker_added_later_is_found() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("mcse_entity_refiner")
    add_linker(nlp)
    doc = nlp("A quillwort sign and a gubbins catheter.")
    assert labels(nlp.get_pipe("mcse_entity_refiner")(doc))["gubbins catheter"] == (
        "device"
    )


@pytest.mark.usefixtures("unlinked")
def test_nothing_of_the_linker_is_written() -> None:
    Span.set_extension("kb_ents", default=[], force=True)
    nlp = spacy.blank("en")
    doc = nlp.make_doc("Small quillwort")
    doc.ents = [Span(doc, 0, 2, "DISEASE")]
    EntityRefiner(nlp=nlp)(doc)
    assert not [key for key in doc.user_data if "kb_ents" in key]


@pytest.mark.usefixtures("unlinked")
def test_concepts_of_a_getter_are_read() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("stub_linker")
    Span.set_extension("kb_ents", getter=lambda span: [("C1", 1.0)], force=True)
    doc = nlp.make_doc("Small quillwort")
    doc.ents = [Span(doc, 0, 2, "DISEASE")]
    assert list(labels(EntityRefiner(nlp=nlp)(doc)).values()) == ["device"]


@pytest.mark.usefixtures("unlinked")
def test_a_saved_pipeline_finds_its_linker(tmp_path) -> None:
    text = "A gubbins catheter and a quillwort sign."
    nlp = linked_pipeline()
    before = labels(nlp(text))
    assert before == {"gubbins catheter": "device", "quillwort sign": "FINDING"}
    nlp.to_disk(tmp_path)
    assert labels(spacy.load(tmp_path)(text)) == before


@pytest.mark.usefixtures("unlinked")
def test_workers_find_the_linker() -> None:
    method = multiprocessing.get_start_method()
    multiprocessing.set_start_method("spawn", force=True)
    try:
        texts = ["A gubbins catheter.", "A quillwort sign."] * 3
        docs = list(linked_pipeline().pipe(texts, n_process=2, batch_size=1))
    finally:
        multiprocessing.set_start_method(method, force=True)
    assert [next(iter(labels(doc).values())) for doc in docs] == [
        "device",
        "FINDING",
    ] * 3


@pytest.mark.usefixtures("unlinked")
def test_knowledge_bases_are_pickled_without_the_pipeline() -> None:
    nlp = linked_pipeline()
    again = pickle.loads(pickle.dumps(KnowledgeBases(nlp)))
    assert again.types("C5") == ("T109", "T121")
    assert again.types("C404") == ()
    del nlp
    assert KnowledgeBases().types("C5") == ()


@pytest.mark.parametrize(
    ("label", "category"),
    [
        ("DISEASE", "FINDING"),
        ("CANCER", "FINDING"),
        ("PATHOLOGICAL_FORMATION", "FINDING"),
        ("T047", "FINDING"),
        ("Observation::definitely present", "FINDING"),
        ("ORGAN", "anatomy"),
        ("TISSUE", "anatomy"),
        ("MULTI_TISSUE_STRUCTURE", "anatomy"),
        ("T023", "anatomy"),
        ("MEDICAL_DEVICE", "device"),
        ("T074", "device"),
        ("TEST", "procedure"),
        ("CHEMICAL", "CHEMICAL"),
        ("SIMPLE_CHEMICAL", "CHEMICAL"),
        ("CHEBI", "CHEMICAL"),
        ("ORGANISM", "not_clinical"),
        ("GENE_OR_GENE_PRODUCT", "not_clinical"),
        ("DATE", "not_clinical"),
        ("ENTITY", "not_clinical"),  # the words say nothing either
        ("MY_OWN_LABEL", "OTHER"),  # whoever trained it knows what it is
    ],
)
def test_label_tells_the_category_without_a_linker(label: str, category: str) -> None:
    doc = refined(label, "There is quillwort.", 2, 3)
    assert list(labels(doc).values()) == [category]


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("endotracheal tube", "device"),
        ("right lung", "anatomy"),
        ("pleural effusion", "FINDING"),
        ("chest radiograph", "procedure"),
        ("supplemental oxygen", "CHEMICAL"),
    ],
)
def test_words_tell_the_category_where_the_label_says_nothing(
    text: str, category: str
) -> None:
    doc = refined("ENTITY", text, 0, len(text.split()))
    assert list(labels(doc).values()) == [category]


@pytest.mark.parametrize("label", SCISPACY)
def test_labels_of_scispacy_are_known(label: str) -> None:
    rows = read_table("labels", COLUMNS["labels"])
    assert sum(label in split_terms(row["labels"]) for row in rows) == 1


def test_no_label_and_no_type_has_two_categories() -> None:
    rows = read_table("labels", COLUMNS["labels"])
    names = [name for row in rows for name in split_terms(row["labels"])]
    types = [row["type"] for row in read_table(*SEMANTIC_TYPES)]
    assert len(names) == len(set(names))
    assert len(types) == len(set(types)) > 120
    assert all(name == name.upper() for name in names + types)
    assert {row["category"] for row in rows} <= CATEGORIES
    assert {row["category"] for row in read_table(*SEMANTIC_TYPES)} == CATEGORIES


SEMANTIC_TYPES = "semantic_types", COLUMNS["semantic_types"]
