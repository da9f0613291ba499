"""What survives `to_bytes`, `DocBin`, worker processes, `to_disk` and `from_docs`."""

import json
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from conftest import make_blank
from contract import SPAN_GETTERS
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

import spacy_mcse
from spacy_mcse.data import read_embedding, read_facts

TEXTS = [
    "Moderate right pleural effusion. Mild cardiomegaly. No pneumothorax.",
    "",
    "SMALL LEFT EFFUSION. THE HEART IS ENLARGED. POSSIBLE 3 MM NODULE.",
    "Heart size is normal. Lungs are clear.",
    "FINDINGS:\nLeft chest tube. Two nodules, stable.\n\nIMPRESSION: ?edema",
    "   \n",
    "Mild increased opacity in the right lower lobe, 2.1 x 3 cm.",
]
PAIRS = [(i, j) for i in range(len(TEXTS)) for j in range(len(TEXTS))]

# Run by a process of its own, and once more by each of its workers under spawn. It has
# no import of ours, and nobody may open the weights that came with the package.
USER_SCRIPT = """
import sys


def watch(event, args):
    if event == "open" and str(args[0]).endswith("static_cxr.npz"):
        raise PermissionError("the packaged weights were read")


sys.addaudithook(watch)

import json
import multiprocessing

import spacy


def facts(doc):
    spans = [*doc._.clinical_entities, *doc._.normal_statements]
    return [
        [span.text, span.label_, span.start_char]
        + [getattr(span._, name) for name in GETTERS]
        for span in spans
    ]


def scores(docs):
    results = [docs[i]._.mcse(docs[j]) for i, j in PAIRS]
    return [[r.mcse, r.precision, r.recall, r.f1, str(r.signature)] for r in results]


GETTERS = %(getters)r
PAIRS = %(pairs)r
TEXTS = %(texts)r

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    nlp = spacy.load(sys.argv[1])
    one = list(nlp.pipe(TEXTS))
    two = list(nlp.pipe(TEXTS, n_process=2, batch_size=2))
    hooks = [len(doc.user_hooks) for doc in two]
    attach = sys.modules["spacy_mcse"].attach_similarity
    result = {
        "one": [facts(doc) for doc in one],
        "two": [facts(doc) for doc in two],
        "dropped": [doc._.dropped_entities for doc in two],
        "scores": scores(one),
        "worker_scores": scores(two),
        "hooks": hooks,
        "similarity": [attach(two[i]).similarity(two[j]) for i, j in PAIRS],
    }
    print(json.dumps(result))
"""


def facts(doc: Doc) -> list[list[Any]]:
    spans = [*doc._.clinical_entities, *doc._.normal_statements]
    return [
        [span.text, span.label_, span.start_char]
        + [getattr(span._, name) for name in SPAN_GETTERS]
        for span in spans
    ]


def scores(docs: list[Doc]) -> list[list[Any]]:
    results = [docs[i]._.mcse(docs[j]) for i, j in PAIRS]
    return [[r.mcse, r.precision, r.recall, r.f1, str(r.signature)] for r in results]


def check_same_scores(got: list[list[Any]], wanted: list[list[Any]]) -> None:
    for one, other in zip(got, wanted, strict=True):
        assert one[:4] == pytest.approx(other[:4], abs=1e-6)
        assert one[4] == other[4]


def check_same(got: list[Doc], wanted: list[Doc]) -> None:
    """Equal to the type of each value: no list came back as a tuple."""
    for one, other in zip(got, wanted, strict=True):
        assert one.text == other.text
        assert repr(facts(one)) == repr(facts(other))
        assert repr(one._.dropped_entities) == repr(other._.dropped_entities)
        first, second = read_embedding(one), read_embedding(other)
        assert first is not None
        assert second is not None
        assert np.array_equal(first.texts, second.texts)
        assert np.array_equal(first.concepts, second.concepts)
        assert first.scoring == second.scoring
    assert scores(got) == scores(wanted)


@pytest.fixture(scope="module")
def docs(nlp: Language) -> list[Doc]:
    return list(nlp.pipe(TEXTS))


@pytest.fixture(scope="module")
def saved(nlp: Language, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default pipeline, saved after use."""
    folder: Path = tmp_path_factory.mktemp("pipeline") / "saved"
    nlp("Mild edema.")
    nlp.to_disk(folder)
    return folder


def without_hooks(doc: Doc) -> Doc:
    """The Doc as it is stored, without spaCy's warning that hooks are not."""
    doc.user_hooks.clear()
    return doc


# Docs


def test_the_texts_are_worth_testing(docs: list[Doc]) -> None:
    entities = [e for doc in docs for e in doc._.clinical_entities]
    assert {e._.assertion for e in entities} == {"present", "absent", "uncertain"}
    kinds = {kind for e in entities for kind in e._.attributes}
    assert {"side", "severity", "size", "location"} <= kinds
    assert any(doc._.normal_statements for doc in docs)
    assert any(doc._.dropped_entities for doc in docs)
    assert any(e._.cue for e in entities)


def test_pc_079_to_bytes(nlp: Language, docs: list[Doc]) -> None:
    """PC-079: nothing that spaCy cannot write, and all of it comes back."""
    with pytest.warns(UserWarning, match="W109"):
        data = [doc.to_bytes() for doc in docs]
    check_same([Doc(nlp.vocab).from_bytes(item) for item in data], docs)


@pytest.mark.parametrize("store_user_data", [False, True])
def test_pc_079_doc_bin(
    nlp: Language, docs: list[Doc], store_user_data: bool, tmp_path: Path
) -> None:
    """PC-079: a DocBin with and without user data, through a file."""
    DocBin(docs=docs, store_user_data=store_user_data).to_disk(tmp_path / "x.spacy")
    stored = DocBin().from_disk(tmp_path / "x.spacy")
    check_same(list(stored.get_docs(nlp.vocab)), docs)
    # Another vocabulary, such as that of another process.
    check_same(list(stored.get_docs(spacy.vocab.Vocab())), docs)


def test_pc_079_only_plain_values_are_stored(docs: list[Doc]) -> None:
    """PC-079: no Span, no object of ours, in any place that is written."""
    for doc in docs:
        assert not doc.user_data
        for key in ("clinical_entities", "mcse_normal_statements"):
            check_plain(doc.spans[key].attrs)


def check_plain(value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            assert type(key) is str
            check_plain(item)
    elif isinstance(value, list):
        for item in value:
            check_plain(item)
    else:
        assert type(value) in (str, int, float, bool, bytes, type(None)), type(value)


def test_copies_and_pickles(docs: list[Doc]) -> None:
    check_same(pickle.loads(pickle.dumps(docs)), docs)
    check_same([doc.copy() for doc in docs], docs)


def test_scores_of_stored_docs_meet_new_ones(nlp: Language, docs: list[Doc]) -> None:
    stored = list(DocBin(docs=docs).get_docs(nlp.vocab))
    for doc, old in zip(docs, stored, strict=True):
        assert old._.mcse(doc) == doc._.mcse(old) == doc._.mcse(doc)
        assert spacy_mcse.score(old, doc.text, nlp=nlp) == doc._.mcse(doc)


def test_a_stored_group_is_that_of_its_doc(nlp: Language, docs: list[Doc]) -> None:
    """Several Docs read from one place do not share their records."""
    stored = list(DocBin(docs=docs).get_docs(nlp.vocab))
    for doc in stored:
        assert all(entity.doc is doc for entity in doc._.clinical_entities)
        texts = [entity._.mcse_text for entity in doc._.clinical_entities]
        assert [e.mcse_text for e in read_facts(doc).entities] == texts


# PC-076: hooks


@pytest.mark.parametrize("similarity", ["mcse", "f1"])
def test_pc_076_attach_similarity(similarity: str) -> None:
    """PC-076: the helper brings the hook back, `doc._.mcse` needs none."""
    nlp = make_blank()
    nlp.get_pipe("mcse_embedder").similarity = similarity
    docs = list(nlp.pipe(["Left effusion. Mild edema.", "Mild edema."]))
    wanted = docs[0].similarity(docs[1])
    assert wanted == getattr(docs[0]._.mcse(docs[1]), similarity)
    stored = list(DocBin(docs=docs).get_docs(nlp.vocab))
    assert not stored[0].user_hooks
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # spaCy's own answer, with W007 and W008
        assert stored[0].similarity(stored[1]) != wanted
    attached = spacy_mcse.attach_similarity(stored[0])
    assert attached is stored[0]
    assert attached.similarity(stored[1]) == wanted
    assert stored[0]._.mcse(stored[1]) == docs[0]._.mcse(docs[1])


def test_pc_076_the_helper_says_what_a_doc_lacks(nlp: Language) -> None:
    """PC-076: a Doc that no component of ours has seen."""
    doc = nlp.make_doc("Mild edema.")
    attached = spacy_mcse.attach_similarity(doc)
    with pytest.raises(ValueError, match=r"E201.*mcse_entity_refiner"):
        attached.similarity(doc)
    refined = nlp.get_pipe("mcse_entity_refiner")(doc)
    with pytest.raises(ValueError, match=r"E405.*mcse_embedder"):
        refined.similarity(doc)


def test_similarity_takes_docs_only(docs: list[Doc]) -> None:
    for other in (docs[0][0:2], docs[0][0], "Mild edema.", None):
        name = type(other).__name__
        with pytest.raises(TypeError, match=rf"E203.*got {name}"):
            docs[0].similarity(other)
        with pytest.raises(TypeError, match=rf"E203.*got {name}"):
            docs[0]._.mcse(other)


# PC-080: Docs of different pipelines


def test_pc_080_docs_of_different_pipelines_do_not_compare(
    nlp: Language, docs: list[Doc]
) -> None:
    """PC-080: a coded error that names the difference; no error of shapes."""
    other = make_blank()
    old = Doc(nlp.vocab).from_bytes(without_hooks(other("Mild edema.")).to_bytes())
    for one, two in ((old, docs[0]), (docs[0], old), (old, docs[1]), (docs[1], old)):
        with pytest.raises(ValueError, match=r"E404.*different pipelines"):
            one._.mcse(two)
        with pytest.raises(ValueError, match="E404"):
            spacy_mcse.score(one, two, nlp=nlp)
        with pytest.raises(ValueError, match="E404"):
            spacy_mcse.score_corpus([one], [two])
    with pytest.raises(ValueError, match="E404"):
        spacy_mcse.score(old, "Mild edema.", nlp=nlp)
    # Only the encoder is another one.
    with pytest.raises(ValueError, match="E404"):
        other.get_pipe("mcse_embedder")(nlp("Mild edema."))._.mcse(docs[0])


def test_pc_080_another_pipeline_may_process_the_doc_again(nlp: Language) -> None:
    """PC-080: then it is one of its own, with the vectors of its encoder."""
    text = "Mild edema. No effusion."
    old = without_hooks(make_blank()(text))
    doc = Doc(nlp.vocab).from_bytes(old.to_bytes())
    for _, component in nlp.pipeline:
        doc = component(doc)
    new = nlp(text)
    assert facts(doc) == facts(new)
    assert doc._.mcse(new) == new._.mcse(new)


def test_settings_of_the_score_are_kept_with_the_doc() -> None:
    """A stored Doc is scored as its pipeline was set."""
    strict = make_blank()
    config = {"scoring": {"side_wrong": 0.0}, "similarity": "f1"}
    strict.remove_pipe("mcse_embedder")
    strict.add_pipe("mcse_embedder", config=config)
    docs = list(strict.pipe(["Left effusion.", "Right effusion."]))
    assert docs[0].similarity(docs[1]) == 0
    one, two = DocBin(docs=docs).get_docs(strict.vocab)
    assert one._.mcse(two) == docs[0]._.mcse(docs[1])
    assert spacy_mcse.attach_similarity(one).similarity(two) == 0


# Docs put together or cut


def test_joined_docs_are_a_coded_error(docs: list[Doc]) -> None:
    """`Doc.from_docs` keeps the spans and loses their records: no guess is made."""
    joined = Doc.from_docs([docs[0], docs[6]])
    for one, two in ((joined, docs[0]), (docs[0], joined)):
        with pytest.raises(ValueError, match=r"E202.*joined"):
            one._.mcse(two)
    with pytest.raises(ValueError, match=r"E202.*joined"):
        read_facts(joined)


def test_entities_of_joined_docs_are_not_read_as_present(docs: list[Doc]) -> None:
    """Without its record "no pneumothorax" must not say that it is not negated."""
    joined = Doc.from_docs([docs[0], docs[6]])
    with pytest.raises(ValueError, match="E202"):
        [entity._.negated for entity in joined._.clinical_entities]


def test_joined_docs_can_be_refined_again(nlp: Language, docs: list[Doc]) -> None:
    joined = Doc.from_docs([docs[0], docs[6]])
    for name in ("mcse_entity_source", "mcse_entity_refiner", "mcse_embedder"):
        joined = nlp.get_pipe(name)(joined)
    texts = [
        e._.mcse_text for doc in (docs[0], docs[6]) for e in doc._.clinical_entities
    ]
    assert [e._.mcse_text for e in joined._.clinical_entities] == texts


@pytest.mark.parametrize("change", ["append", "replace"])
def test_a_changed_group_is_a_coded_error(nlp: Language, change: str) -> None:
    doc = nlp("Mild edema. Left effusion.")
    span = Span(doc, 0, 1, "FINDING")
    if change == "append":
        doc.spans["clinical_entities"].append(span)
    else:
        doc.spans["clinical_entities"] = [span]
    with pytest.raises(ValueError, match=r"E202.*mcse_entity_refiner"):
        doc._.mcse(doc)


# Tokens or spans that were changed

CHANGED = "There is mild edema. No effusion. Left fracture. Heart size is normal."


def merge(doc: Doc, start: int, end: int) -> None:
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[start:end])


def split(doc: Doc, at: int) -> None:
    word = doc[at].text
    with doc.retokenize() as retokenizer:
        retokenizer.split(doc[at], [word[:2], word[2:]], [doc[at], doc[at]])


def replace(doc: Doc, key: str, number: int, start: int, end: int) -> None:
    doc.spans[key][number] = Span(doc, start, end, "FINDING", span_id=f"e{number}")


@pytest.mark.parametrize(
    "change",
    [
        lambda doc: merge(doc, 0, 2),
        lambda doc: merge(doc, 2, 4),
        lambda doc: merge(doc, 3, 5),
        lambda doc: merge(doc, 3, len(doc)),  # IndexError of spaCy's, E035
        lambda doc: split(doc, 0),
        lambda doc: split(doc, 3),
        lambda doc: replace(doc, "clinical_entities", 0, 3, 4),
        lambda doc: replace(doc, "clinical_entities", 2, 3, 4),
    ],
)
def test_changed_tokens_and_spans_are_a_coded_error(change: Any) -> None:
    nlp = make_blank()
    doc = nlp(CHANGED)
    held = doc._.clinical_entities
    texts = [entity._.mcse_text for entity in held]
    assert texts == ["mild edema", "no effusion", "left fracture"]
    change(doc)
    reads = [
        lambda: doc._.clinical_entities,
        lambda: [entity._.assertion for entity in held],
        lambda: read_facts(doc),
        lambda: doc._.mcse(doc),
        lambda: doc.similarity(doc),
    ]
    for read in reads:
        with pytest.raises(ValueError, match=r"E202.*clinical_entities.*refiner"):
            read()
    # As the message says.
    for name in ("mcse_entity_refiner", "mcse_embedder"):
        doc = nlp.get_pipe(name)(doc)
    for entity in doc._.clinical_entities:
        assert entity.text == CHANGED[entity.start_char : entity.end_char]
    assert doc._.mcse(doc).f1 == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda doc: merge(doc, 11, len(doc)),
        lambda doc: replace(doc, "mcse_normal_statements", 0, 0, 2),
    ],
)
def test_changed_normal_statements_are_a_coded_error(change: Any) -> None:
    doc = make_blank()(CHANGED)
    (held,) = doc._.normal_statements
    change(doc)
    for read in (lambda: doc._.normal_statements, lambda: read_facts(doc)):
        with pytest.raises(ValueError, match=r"E202.*mcse_normal_statements"):
            read()
    with pytest.raises(ValueError, match="E202"):
        held._.denies  # noqa: B018


def test_a_change_behind_all_entities_does_no_harm() -> None:
    doc = make_blank()("Mild edema. The film was read again.")
    before = facts(doc)
    merge(doc, 4, 7)
    assert facts(doc) == before


def test_spans_of_before_a_change_are_not_taken_for_others() -> None:
    """Held spans do not say that they are not negated after refining again."""
    nlp = make_blank()
    doc = nlp(CHANGED)
    held = doc._.clinical_entities[1]
    merge(doc, 0, 2)
    nlp.get_pipe("mcse_entity_refiner")(doc)
    with pytest.raises(ValueError, match=r"E202.*before its tokens were changed"):
        held._.negated  # noqa: B018
    assert [e._.negated for e in doc._.clinical_entities] == [False, True, False]
    assert doc[0:0]._.assertion is None


# Pipelines


def test_to_disk_and_load_here(nlp: Language, saved: Path, docs: list[Doc]) -> None:
    again = spacy.load(saved)
    assert again.pipe_names == nlp.pipe_names
    check_same_scores(scores(list(again.pipe(TEXTS))), scores(docs))
    # Docs of before and after meet.
    new = again(TEXTS[0])
    assert new._.mcse(docs[0]).f1 == 1
    assert facts(new) == facts(docs[0])


def test_to_bytes_and_pickle_of_pipelines(nlp: Language, docs: list[Doc]) -> None:
    pickled = pickle.loads(pickle.dumps(nlp))
    check_same_scores(scores(list(pickled.pipe(TEXTS))), scores(docs))
    pickled.get_pipe("mcse_embedder").encoder = type(
        nlp.get_pipe("mcse_embedder").encoder
    )()
    pickled.from_bytes(nlp.to_bytes())
    check_same_scores(scores(list(pickled.pipe(TEXTS))), scores(docs))


@pytest.mark.parametrize("batch_size", [1, 3, 1000])
def test_scores_do_not_depend_on_batches_and_order(
    nlp: Language, docs: list[Doc], batch_size: int
) -> None:
    order = [4, 2, 0, 6, 5, 3, 1]
    mixed = list(nlp.pipe([TEXTS[i] for i in order], batch_size=batch_size))
    back = [mixed[order.index(i)] for i in range(len(TEXTS))]
    check_same_scores(scores(back), scores(docs))
    references = [TEXTS[i] for i, _ in PAIRS]
    candidates = [TEXTS[j] for _, j in PAIRS]
    corpus = spacy_mcse.score_corpus(
        references, candidates, nlp=nlp, batch_size=batch_size
    )
    got = [
        [s.mcse, s.precision, s.recall, s.f1, str(s.signature)] for s in corpus.scores
    ]
    check_same_scores(got, scores(docs))


def test_the_saved_folder_holds_the_weights(saved: Path) -> None:
    packaged = Path(spacy_mcse.__file__).parent / "vectors" / "static_cxr.npz"
    sizes = [p.stat().st_size for p in (saved / "mcse_embedder").rglob("*.npz")]
    assert len(sizes) == 1
    assert sizes[0] > packaged.stat().st_size / 2
    config = (saved / "config.cfg").read_text("utf8")
    assert str(packaged.parent) not in config


@pytest.fixture(scope="module")
def elsewhere(
    saved: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], str]:
    """What a process of its own makes of the saved pipeline, and its stderr."""
    folder: Path = tmp_path_factory.mktemp("user")
    script = folder / "user.py"
    values = {"getters": SPAN_GETTERS, "pairs": PAIRS, "texts": TEXTS}
    script.write_text(USER_SCRIPT % values, "utf8")
    done = subprocess.run(
        [sys.executable, str(script), str(saved)],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_pc_083_a_saved_pipeline_loads_without_an_import_of_ours(
    elsewhere: tuple[dict[str, Any], str], docs: list[Doc]
) -> None:
    """PC-083: by its entry points, from its folder alone, with the same scores."""
    result, _ = elsewhere
    assert result["one"] == json.loads(json.dumps([facts(doc) for doc in docs]))
    check_same_scores(result["scores"], scores(docs))


def test_pc_077_worker_processes(
    elsewhere: tuple[dict[str, Any], str], docs: list[Doc]
) -> None:
    """PC-077: two processes under spawn give what one process gives."""
    result, stderr = elsewhere
    assert result["two"] == result["one"]
    assert result["dropped"] == [doc._.dropped_entities for doc in docs]
    check_same_scores(result["worker_scores"], result["scores"])
    assert result["hooks"] == [0] * len(TEXTS)
    wanted = [docs[i].similarity(docs[j]) for i, j in PAIRS]
    assert result["similarity"] == pytest.approx(wanted, abs=1e-6)
    assert "W109" not in stderr
    assert "Warning" not in stderr
