import json
from collections import Counter

import numpy as np
import pytest
import spacy
from conftest import make_blank
from spacy.tokens import Doc, DocBin
from stub_pipeline import make_pipeline

from spacy_mcse import corpus
from spacy_mcse.corpus import doc_score, iter_scores, score, score_corpus, summarize

TEXTS = [
    "mild edema . left effusion .",
    "no edema . left effusion .",
    "possible fracture . severe edema .",
    "right effusion . mass .",
    "normal .",
    "",
    "nothing of note .",
]
FIELDS = ("mcse", "precision", "recall", "f1")


@pytest.fixture(scope="module")
def nlp():
    nlp = make_pipeline()
    nlp.meta["name"] = "stub"  # as its embedder says
    return nlp


@pytest.fixture
def parsed(nlp, monkeypatch):
    """Counts how often each text goes through the pipeline."""
    seen = Counter()
    make_doc = nlp.make_doc
    monkeypatch.setattr(nlp, "make_doc", lambda t: seen.update([t]) or make_doc(t))
    return seen


def pairs():
    return [(a, b) for a in TEXTS for b in TEXTS]


def test_score_takes_texts_and_docs(nlp):
    reference, candidate = TEXTS[0], TEXTS[1]
    result = score(reference, candidate, nlp=nlp)
    assert 0 < result.f1 < 1
    assert score(nlp(reference), candidate, nlp=nlp) == result
    assert score(nlp(reference), nlp(candidate)) == result
    assert doc_score(nlp(reference), nlp(candidate)) == result


def test_docs_need_no_pipeline(nlp, monkeypatch):
    monkeypatch.setattr(corpus, "default_pipeline", lambda: pytest.fail("loaded"))
    docs = [nlp(text) for text in TEXTS]
    assert score_corpus(docs, docs).summary.n == len(TEXTS)


def test_the_default_pipeline_is_used_without_one(nlp, monkeypatch):
    monkeypatch.setattr(corpus, "default_pipeline", lambda: nlp)
    assert score(TEXTS[0], TEXTS[1]) == score(TEXTS[0], TEXTS[1], nlp=nlp)


def test_scores_are_in_order_and_each_is_that_of_its_pair(nlp):
    references, candidates = zip(*pairs(), strict=True)
    result = score_corpus(references, candidates, nlp=nlp, batch_size=3)
    expected = [score(a, b, nlp=nlp) for a, b in pairs()]
    assert result.scores == expected
    backwards = score_corpus(references[::-1], candidates[::-1], nlp=nlp)
    assert backwards.scores == expected[::-1]


def test_processes_do_not_change_scores(nlp):
    references, candidates = zip(*pairs()[:12], strict=True)
    one = score_corpus(references, candidates, nlp=nlp)
    two = score_corpus(references, candidates, nlp=nlp, n_process=2, batch_size=2)
    assert two == one


def test_each_distinct_text_is_parsed_once(nlp, parsed):
    references, candidates = zip(*pairs(), strict=True)
    score_corpus(references, candidates, nlp=nlp)
    assert parsed == Counter(dict.fromkeys(TEXTS, 1))


def test_generators_and_mixed_inputs(nlp):
    texts = TEXTS[:3]
    mixed = (nlp(text) if i % 2 else text for i, text in enumerate(texts))
    result = score_corpus(mixed, iter(texts), nlp=nlp)
    assert [s.f1 for s in result.scores] == [1.0, 1.0, 1.0]


def test_arrays_of_texts(nlp):
    array = np.array(TEXTS[:2])
    assert score_corpus(array, array, nlp=nlp).summary.mean["f1"] == 1.0


def test_rows_do_not_shift_after_an_empty_one(nlp):
    # PC-056
    result = score_corpus(
        ["edema .", "no effusion .", "fracture ."],
        ["", "no effusion .", "fracture ."],
        nlp=nlp,
    )
    assert [s.f1 for s in result.scores] == [0.0, 1.0, 1.0]
    assert result.summary.warnings == [
        "1 of 3 candidates have no clinical content: index 0"
    ]


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [("edema .", ""), ("", "edema ."), ("", ""), (" ", "\n")],
)
def test_empty_texts(nlp, reference, candidate):
    # PC-055
    result = score_corpus([reference], [candidate], nlp=nlp)
    assert result.scores[0].f1 == result.scores[0].mcse == 0.0
    assert any("index 0" in warning for warning in result.summary.warnings)


def test_one_pair_is_as_in_a_batch(nlp):
    # PC-058
    alone = score_corpus([TEXTS[0]], [TEXTS[3]], nlp=nlp)
    batch = score_corpus(TEXTS[:1] * 100, TEXTS[3:4] * 100, nlp=nlp)
    assert set(map(repr, batch.scores)) == {repr(alone.scores[0])}
    f1 = alone.scores[0].f1
    assert alone.summary.interval["f1"] == (f1, f1)


def test_mean_is_that_of_the_list(nlp):
    # PC-065
    references, candidates = zip(*pairs(), strict=True)
    result = score_corpus(references, candidates, nlp=nlp)
    for name in FIELDS:
        values = [getattr(s, name) for s in result.scores]
        assert result.summary.mean[name] == pytest.approx(np.mean(values))
        low, high = result.summary.interval[name]
        assert 0 <= low <= result.summary.mean[name] <= high <= 1
    assert result.summary.flags == {"normal": 1, "no_content": 8}
    assert result.summary.n == len(result.scores) == 49


def test_the_bootstrap_is_seeded(nlp, monkeypatch):
    references, candidates = zip(*pairs(), strict=True)
    scores = score_corpus(references, candidates, nlp=nlp).scores
    first = summarize(scores, seed=1)
    assert summarize(scores, seed=1) == first
    assert summarize(scores, seed=2).interval != first.interval
    # The same draws whatever the size of the steps.
    monkeypatch.setattr(corpus, "_DRAW", 100)
    assert summarize(scores, seed=1) == first


def test_the_interval_is_about_two_standard_errors(nlp):
    scores = score_corpus(TEXTS[:2] * 100, TEXTS[:1] * 200, nlp=nlp).scores
    values = np.array([s.f1 for s in scores])
    error = values.std() / np.sqrt(len(values))
    low, high = summarize(scores).interval["f1"]
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.15)


def test_to_dict_is_json(nlp):
    result = score_corpus(TEXTS, TEXTS, nlp=nlp)
    read = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert read["summary"]["signature"] == str(result.summary.signature)
    assert [s["f1"] for s in read["scores"]] == [s.f1 for s in result.scores]


def test_no_pairs(nlp):
    result = score_corpus([], [], nlp=nlp)
    assert result.scores == []
    assert result.summary.mean["f1"] == 0.0
    assert result.summary.warnings == ["no pairs: all means are 0"]
    assert result.summary.signature == score("", "", nlp=nlp).signature
    assert score_corpus([], []).summary.signature is None


def test_many_warnings_are_counted(nlp):
    result = score_corpus([""] * 30, ["edema ."] * 30, nlp=nlp)
    assert result.summary.warnings[0].endswith("18, 19 and 10 more")


def test_progress_counts_the_pairs(nlp):
    calls = []
    score_corpus(TEXTS, TEXTS, nlp=nlp, progress=calls.append)
    assert sum(calls) == len(TEXTS)


# Errors


@pytest.mark.parametrize("bad", [None, float("nan"), 3, b"edema", ["edema"], {}])
@pytest.mark.parametrize("side", ["reference", "candidate"])
def test_wrong_types_name_side_and_row(nlp, parsed, bad, side):
    lists = {"reference": ["edema .", "mass ."], "candidate": ["edema .", "mass ."]}
    lists[side][1] = bad
    with pytest.raises(
        TypeError, match=rf"E401.*{side}, row 1: .*{type(bad).__name__}"
    ):
        score_corpus(lists["reference"], lists["candidate"], nlp=nlp)
    assert not parsed


def test_wrong_type_of_one_pair(nlp):
    with pytest.raises(TypeError, match=r"E401.*candidate, row 0"):
        score("edema .", None, nlp=nlp)


@pytest.mark.parametrize("bad", ["edema .", b"edema", None, 3, {"a": "b"}, {"edema"}])
def test_a_bare_report_is_no_list(nlp, bad):
    # PC-061: never iterated by character.
    with pytest.raises(TypeError, match=r"E403.*'candidates' must be a list"):
        score_corpus(["edema ."], bad, nlp=nlp)
    with pytest.raises(TypeError, match=r"E403.*'references' must be a list"):
        score_corpus(bad, ["edema ."], nlp=nlp)


def test_a_bare_doc_is_no_list(nlp):
    with pytest.raises(TypeError, match=r"E403.*got Doc"):
        score_corpus(nlp("edema ."), ["edema ."], nlp=nlp)


def test_different_lengths_give_both_counts(nlp, parsed):
    # PC-062
    with pytest.raises(ValueError, match=r"E402.*3 references, 2 candidates"):
        score_corpus(["a", "b", "c"], ["a", "b"], nlp=nlp)
    assert not parsed


@pytest.mark.parametrize(
    "argument",
    [
        {"batch_size": 0},
        {"n_process": 0},
        {"n_process": -2},
        {"n_resamples": 0},
        {"batch_size": 1.5},
        {"batch_size": True},
        {"n_process": "2"},
        {"seed": -1},
        {"seed": "x"},
        {"seed": None},
        {"seed": np.float64(1)},
    ],
)
def test_numbers_out_of_range(nlp, argument):
    (name,) = argument
    with pytest.raises(ValueError, match=rf"E409.*{name}.*whole numbers") as caught:
        score_corpus(["a"], ["a"], nlp=nlp, **argument)
    assert ("-1 (all cores)" in str(caught.value)) == (name == "n_process")


def test_a_seed_out_of_range_for_a_summary():
    with pytest.raises(ValueError, match=r"E409.*seed.*from 0"):
        summarize([], seed=-1)


@pytest.mark.parametrize("number", [np.int64, np.int32, np.uint8])
def test_whole_numbers_of_numpy(nlp, number):
    names = ("batch_size", "n_process", "n_resamples", "seed")
    plain = score_corpus(TEXTS, TEXTS, nlp=nlp, **dict.fromkeys(names, 1))
    own = dict.fromkeys(names, number(1))
    assert score_corpus(TEXTS, TEXTS, nlp=nlp, **own) == plain
    assert corpus.check_processes(np.int64(-1)) == -1


@pytest.mark.parametrize("bad", ["en_mcse_cxr_sm", make_pipeline, 3])
def test_what_is_no_pipeline(bad):
    name = type(bad).__name__
    with pytest.raises(TypeError, match=rf"E412.*got {name}\..*spacy_mcse\.load"):
        score("edema .", "edema .", nlp=bad)
    for texts in ([], ["edema ."]):
        with pytest.raises(TypeError, match="E412"):
            score_corpus(texts, texts, nlp=bad)


@pytest.mark.parametrize("side", ["reference", "candidate"])
def test_half_a_character_names_side_and_row(nlp, parsed, side):
    lists = {"reference": ["edema .", "mass ."], "candidate": ["edema .", "mass ."]}
    lists[side][1] = "secret \ud83d mass"
    with pytest.raises(ValueError, match=rf"E413.*{side}, row 1") as caught:
        score_corpus(lists["reference"], lists["candidate"], nlp=nlp)
    assert "secret" not in repr(caught.value)
    assert caught.value.__context__ is None  # UnicodeEncodeError holds the text
    assert not parsed


def test_scores_of_texts_have_the_name_of_their_pipeline():
    nlp = make_pipeline()
    stored = nlp("edema .")
    nlp.meta["name"], nlp.meta["version"] = "renamed", "1.2.3"
    result = score_corpus(["edema ."], ["mass ."], nlp=nlp)
    assert result.scores[0].signature.pipeline == "en_renamed-1.2.3"
    assert result.summary.signature == result.scores[0].signature
    assert result.summary.signature == corpus.pipeline_signature(nlp)
    assert result.scores[0].signature == score("mass .", "mass .", nlp=nlp).signature
    assert doc_score(stored, stored).signature.pipeline == "en_stub-0.0.0"
    assert score(stored, stored, nlp=nlp) == doc_score(stored, stored)


def test_a_sourced_embedder_does_not_name_the_pipeline():
    own, other = make_blank(), make_blank()
    other.meta["name"] = "other"
    own.meta["name"] = "own"
    own.remove_pipe("mcse_embedder")
    own.add_pipe("mcse_embedder", source=other)
    assert score("Edema.", "Edema.", nlp=own).signature.pipeline == "en_own-0.0.0"


def test_a_pipeline_without_components():
    blank = spacy.blank("en")
    with pytest.raises(ValueError, match=r"E103.*mcse_entity_refiner.*none"):
        score("edema .", "edema .", nlp=blank)
    blank.add_pipe("mcse_stub_refiner", name="mcse_entity_refiner")
    with pytest.raises(ValueError, match=r"E103.*'mcse_embedder' \(found: mcse_ent"):
        score_corpus(["edema ."], ["edema ."], nlp=blank)


def test_components_may_have_other_names():
    other = spacy.blank("en")
    for factory in ("mcse_entity_refiner", "mcse_embedder"):
        other.add_pipe(factory, name=f"my_{factory}")
    corpus.check_pipeline(other)


def test_a_doc_that_was_not_processed(nlp):
    with pytest.raises(ValueError, match="E201"):
        score(Doc(nlp.vocab, words=["edema"]), "edema .", nlp=nlp)
    with pytest.raises(TypeError, match="E203"):
        doc_score(nlp("edema ."), "edema .")


def ignore(name, component, docs, error):
    pass


def test_a_text_that_the_pipeline_drops_is_an_error():
    nlp = make_pipeline()
    nlp.default_error_handler = ignore
    texts = ["edema .", "explode", "mass .", "explode too"]
    with pytest.raises(ValueError, match=r"E408.*candidate, row 1"):
        score_corpus(["edema ."] * 4, texts, nlp=nlp)
    kept = list(iter_scores(["edema ."] * 4, texts, nlp=nlp, keep_failed=True))
    assert [result and result.f1 for result in kept] == [1.0, None, 0.0, None]


def test_scores_of_stored_docs(nlp):
    docs = [nlp(text) for text in TEXTS[:2]]
    expected = doc_score(*docs)
    stored = DocBin(docs=docs).to_bytes()
    assert doc_score(*DocBin().from_bytes(stored).get_docs(nlp.vocab)) == expected
    copies = [Doc(nlp.vocab).from_bytes(doc.to_bytes()) for doc in docs]
    assert doc_score(*copies) == expected
