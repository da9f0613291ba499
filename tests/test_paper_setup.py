"""The configs of the paper's set-up, with real negspaCy and, where installed, scispaCy.

scispaCy's pipelines cannot be fetched by tests: tiny ones of the same form stand in for
them (`sci_standins.py`), from the released archive on.
"""

import json
import multiprocessing
import re
import subprocess
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from sci_standins import BC5CDR, BIONLP13CG, CORE, VECTORS_NAME, make_standins
from script_runs import run as run_script
from script_runs import script
from spacy.cli import app
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.util import is_package, load_config
from test_encoders import make_tiny_bert
from typer.testing import CliRunner

import spacy_mcse
from spacy_mcse.pipelines import BASES

ROOT = Path(__file__).parent.parent
HAS_SCISPACY = find_spec("scispacy") is not None
needs_scispacy = pytest.mark.skipif(
    not HAS_SCISPACY, reason="scispaCy is not installed (extra 'scispacy')"
)
pytest.importorskip("negspacy", reason="negspaCy is not installed (extra 'scispacy')")
if not any(is_package(base) for base in BASES):
    pytest.skip("spaCy's small English pipeline is missing", allow_module_level=True)

pytestmark = [
    pytest.mark.slow,
    # Of the stand-ins, as of the released pipelines: they are of spaCy 3.7, and a
    # pattern of scispaCy's tokenizer looks like a future one.
    pytest.mark.filterwarnings("ignore:.*W095"),
    pytest.mark.filterwarnings("ignore:Possible set union"),
    # Of scispaCy's abbreviations, for a text that has none.
    pytest.mark.filterwarnings("ignore:.*W036"),
]

TEXTS = (
    "There is a small left pleural effusion. No pneumothorax or pneumonia.",
    "Mild pulmonary edema is seen. An endotracheal tube is in place.",
    "Patchy opacity may be atelectasis. The right lung base is clear.",
    "Amiodarone may cause severe emphysema.",
    "The lungs are clear.",
    "",
)
REFERENCE, CANDIDATE = (
    "There is a small left pleural effusion. No pneumothorax is seen.",
    "There is a large right pleural effusion. No pneumothorax is seen.",
)
USER_SCRIPT = """
import json, multiprocessing, sys
import spacy
from spacy.tokens import DocBin

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    nlp = spacy.load(sys.argv[1])
    pair = json.loads(sys.argv[2])
    reference, candidate = nlp.pipe(pair)
    workers = list(nlp.pipe(pair, n_process=2, batch_size=1))
    stored = DocBin(store_user_data=True, docs=[reference, candidate]).to_bytes()
    read = list(DocBin().from_bytes(stored).get_docs(nlp.vocab))
    scores = [a._.mcse(b) for a, b in ([reference, candidate], workers, read)]
    print(json.dumps([[s.mcse, s.f1, str(s.signature)] for s in scores]))
"""


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make_standins(tmp_path_factory.mktemp("released"))


@pytest.fixture(scope="module")
def models(
    archives: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Folders of the pipelines, as the script makes them of the archives."""
    folder = tmp_path_factory.mktemp("models")
    paths = [str(path) for path in archives.values()]
    done = run_script("unpack_scispacy.py", *paths, "--output", str(folder))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("4 settings mended") == len(archives)
    assert {path.name for path in folder.iterdir()} == set(archives)
    return {name: str(folder / name) for name in archives}


def assemble(config: Path, folder: Path, **paths: str) -> Path:
    """As `spacy assemble` does; W113, of vectors that do not fit, is an error here."""
    options = [part for key in paths for part in (f"--paths.{key}", paths[key])]
    done = CliRunner().invoke(app, ["assemble", str(config), str(folder), *options])
    assert done.exit_code == 0, done.exception or done.output
    return folder


@pytest.fixture(scope="module")
def paper_folder(
    models: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """configs/paper.cfg, with the vectors of the pipeline in the place of SciBERT."""
    folder = tmp_path_factory.mktemp("paper")
    config = load_config(ROOT / "configs" / "paper.cfg", interpolate=False)
    block = {"@misc": "spacy-mcse.PipelineVectors.v1"}
    config["components"]["mcse_embedder"]["encoder"] = block
    config.to_disk(folder / "paper.cfg", interpolate=False)
    paths = {"base": models[CORE], "ner": models[BC5CDR]}
    return assemble(folder / "paper.cfg", folder / "paper", **paths)


@pytest.fixture(scope="module")
def paper(paper_folder: Path) -> Language:
    return spacy.load(paper_folder)


@pytest.fixture(scope="module")
def code_folder(
    models: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """In a process of its own: nothing has imported negspaCy there."""
    folder = tmp_path_factory.mktemp("code") / "paper_code"
    config = ROOT / "configs" / "paper_code.cfg"
    paths = ("--paths.base", models[CORE], "--paths.vectors", models[BIONLP13CG])
    done = subprocess.run(
        [sys.executable, "-m", "spacy", "assemble", str(config), str(folder), *paths],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "W113" not in done.stderr + done.stdout
    return folder


@pytest.fixture(scope="module")
def code(code_folder: Path) -> Language:
    return spacy.load(code_folder)


def labelled(spans: Any) -> list[tuple[str, str]]:
    return [(span.text, span.label_) for span in spans]


def assertions(doc: Doc) -> dict[str, str]:
    return {span.text.lower(): span._.assertion for span in doc._.clinical_entities}


def test_the_released_form_is_mended(
    archives: dict[str, Path], models: dict[str, str], tmp_path: Path
) -> None:
    """What newer releases of spaCy 3.8 refuse, and nothing else, has changed."""
    with tarfile.open(archives[CORE]) as archive:
        archive.extractall(tmp_path, filter="data")
    (before,) = {path.parent for path in tmp_path.rglob("config.cfg")}
    after = Path(models[CORE])
    for path in before.rglob("*"):
        if path.is_file() and path.name != "config.cfg":
            assert path.read_bytes() == (after / path.relative_to(before)).read_bytes()
    config = load_config(after / "config.cfg")
    embed = config["components"]["ner"]["model"]["tok2vec"]["embed"]
    assert embed["include_static_vectors"] is True
    assert config["components"]["tagger"]["model"]["normalize"] is False
    # A folder of a package does as well; what is there stays.
    unpack = script("unpack_scispacy.py")["unpack"]
    folder, changed = unpack(str(before.parent), tmp_path / "out")
    assert changed == 4
    assert (folder / "config.cfg").read_text() == (after / "config.cfg").read_text()
    with pytest.raises(FileExistsError, match="exists"):
        unpack(str(before.parent), tmp_path / "out")


def test_what_is_no_pipeline_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = script("unpack_scispacy.py")["main"]
    (tmp_path / "bad.tar.gz").write_bytes(b"no archive")
    (tmp_path / "empty").mkdir()
    for source, problem in (
        ("not_installed_anywhere", "no such archive, folder or installed package"),
        (str(tmp_path / "gone.tar.gz"), "No such file"),
        (str(tmp_path / "bad.tar.gz"), "could not be opened"),
        (str(tmp_path / "empty"), "no pipeline"),
    ):
        arguments = ["unpack_scispacy.py", source, "--output", str(tmp_path)]
        monkeypatch.setattr(sys, "argv", arguments)
        with pytest.raises(SystemExit, match=f"{re.escape(source)}: .*{problem}"):
            main()


def test_all_parts_work_as_where_they_come_from(
    paper: Language, models: dict[str, str]
) -> None:
    core, bc5cdr = spacy.load(models[CORE]), spacy.load(models[BC5CDR])
    rules = [nlp.tokenizer.to_bytes(exclude=["vocab"]) for nlp in (paper, core)]
    assert rules[0] == rules[1]
    assert paper.vocab.vectors.name == VECTORS_NAME
    assert paper.get_pipe("ner").labels == ("ENTITY",)
    assert paper.get_pipe("ner_bc5cdr").labels == ("CHEMICAL", "DISEASE")
    for text in TEXTS:
        doc, by_core, by_bc5cdr = paper(text), core(text), bc5cdr(text)
        for attribute in ("tag_", "pos_", "lemma_", "dep_", "is_sent_start"):
            values = [[getattr(t, attribute) for t in d] for d in (doc, by_core)]
            assert values[0] == values[1]
        found = labelled(doc.spans["mcse_candidates"])
        diseases = labelled(by_bc5cdr.ents)
        assert [one for one in found if one[1] != "ENTITY"] == diseases
        named = {text for text, _ in diseases}
        assert {text for text, label in found if label == "ENTITY"} == {
            span.text for span in by_core.ents if span.text not in named
        }
    # And the stand-ins find what the tests are about.
    for text in (TEXTS[0], REFERENCE, CANDIDATE):
        assert [sent.text[-1] for sent in core(text).sents] == [".", "."]
    assert labelled(bc5cdr(TEXTS[3]).ents) == [
        ("Amiodarone", "CHEMICAL"),
        ("emphysema", "DISEASE"),
    ]


def test_entities_of_both_recognizers_are_refined(paper: Language) -> None:
    doc = paper(TEXTS[0])
    assert labelled(doc.spans["mcse_candidates"]) == [
        ("small left pleural effusion", "ENTITY"),
        ("pleural effusion", "DISEASE"),
        ("pneumothorax", "DISEASE"),
        ("pneumonia", "DISEASE"),
    ]
    assert labelled(doc.ents) == [
        ("small left pleural effusion", "ENTITY"),
        ("pneumothorax", "DISEASE"),
        ("pneumonia", "DISEASE"),
    ]
    assert [span._.mcse_text for span in doc._.clinical_entities] == [
        "small left pleural effusion",
        "no pneumothorax",
        "no pneumonia",
    ]
    doc = paper(TEXTS[1])
    assert assertions(doc) == {"mild pulmonary edema": "present"}
    assert "device" in {item["reason"] for item in doc._.dropped_entities}
    labels = {s.text: s.label_ for s in paper(TEXTS[3])._.clinical_entities}
    assert labels == {"Amiodarone": "CHEMICAL", "severe emphysema": "FINDING"}


def test_negex_decides(paper: Language, code: Language, paper_folder: Path) -> None:
    for nlp in (paper, code):
        doc = nlp(TEXTS[2])
        # It has no doubt.
        assert assertions(doc)["atelectasis"] == "present"
        assert all(span._.cue is None for span in doc._.clinical_entities)
        # "No" within an entity denies it, the beginning of a word does not.
        negex = nlp.get_pipe("negex")
        for text, denied in (("Nodule.", False), ("No nodule.", True)):
            doc = nlp.make_doc(text)
            for token in doc:
                token.is_sent_start = token.i == 0
            doc.ents = [Span(doc, 0, len(doc) - 1, "ENTITY")]
            doc.spans["mcse_candidates"] = list(doc.ents)
            assert negex(doc).ents[0]._.negex is denied
    config = {"components": {"mcse_entity_refiner": {"assertion_attr": None}}}
    ours = spacy.load(paper_folder, config=config)
    doc = ours(TEXTS[2])
    assert assertions(doc)["atelectasis"] == "uncertain"
    assert [s._.cue for s in doc._.clinical_entities if s.text == "atelectasis"] != [
        None
    ]
    signatures = {
        str(spacy_mcse.score(REFERENCE, CANDIDATE, nlp=nlp).signature)
        for nlp in (paper, ours)
    }
    assert len(signatures) == 2


def test_vectors_of_the_published_code(code: Language, models: dict[str, str]) -> None:
    genetics = spacy.load(models[BIONLP13CG])
    assert len(genetics.get_pipe("ner").labels) == 16
    rows = code.get_pipe("mcse_embedder").encode(["pleural effusion", "edema"])
    for phrase, row in zip(("pleural effusion", "edema"), rows, strict=True):
        vector = genetics.make_doc(phrase).vector
        assert np.allclose(row, vector / np.linalg.norm(vector), atol=1e-6)
    assert labelled(code(TEXTS[0]).ents)[0] == ("small left pleural effusion", "ENTITY")
    check_scores(code, f"vectors-{VECTORS_NAME}@")


def check_scores(nlp: Language, encoder: str) -> None:
    score = spacy_mcse.score(REFERENCE, CANDIDATE, nlp=nlp)
    same = spacy_mcse.score(REFERENCE, REFERENCE, nlp=nlp)
    assert same.f1 == same.mcse == 1.0
    # "No pneumothorax" is said of both; the effusions differ in side and size.
    assert 0.1 < score.f1 < 0.9
    assert 0.5 <= score.mcse <= 1.0
    assert encoder in str(score.signature)
    denied = spacy_mcse.score(REFERENCE, "No pleural effusion is seen.", nlp=nlp)
    assert denied.f1 < score.f1


def test_a_fresh_process_scores_the_same(
    paper: Language, paper_folder: Path, tmp_path: Path
) -> None:
    """No import of negspaCy there; its workers, its DocBin."""
    if "spawn" not in multiprocessing.get_all_start_methods():
        pytest.skip("no spawn on this system")
    pair = [REFERENCE, CANDIDATE]
    user = tmp_path / "user.py"
    user.write_text(USER_SCRIPT, "utf8")
    done = subprocess.run(
        [sys.executable, str(user), str(paper_folder), json.dumps(pair)],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    score = spacy_mcse.score(*pair, nlp=paper)
    for mcse, f1, signature in json.loads(done.stdout):
        assert (mcse, f1) == pytest.approx((score.mcse, score.f1), abs=1e-6)
        assert signature == str(score.signature)


def test_use_does_not_change_the_recognizers(paper: Language, tmp_path: Path) -> None:
    """As it would where the second one met the entities of the first."""
    before = [labelled(doc.spans["mcse_candidates"]) for doc in paper.pipe(TEXTS)]
    assert paper.get_pipe("ner").labels == ("ENTITY",)
    paper.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    after = [labelled(doc.spans["mcse_candidates"]) for doc in again.pipe(TEXTS)]
    assert before == after


def test_scispacy_config_does_as_well(models: dict[str, str], tmp_path: Path) -> None:
    """configs/scispacy.cfg: no negspaCy, our rules."""
    config = ROOT / "configs" / "scispacy.cfg"
    folder = assemble(config, tmp_path / "scispacy", base=models[CORE])
    nlp = spacy.load(folder)
    assert nlp.pipe_names[-3:] == ["ner", "mcse_entity_refiner", "mcse_embedder"]
    core = spacy.load(models[CORE])
    assert nlp.tokenizer.explain("3-cm ca. Mg") == core.tokenizer.explain("3-cm ca. Mg")
    assert assertions(nlp(TEXTS[2]))["atelectasis"] == "uncertain"
    check_scores(nlp, f"vectors-{VECTORS_NAME}@")


def test_scibert_by_spacy_transformers(models: dict[str, str], tmp_path: Path) -> None:
    """configs/paper.cfg as it is, with a tiny BERT."""
    bert = make_tiny_bert(tmp_path / "tiny_scibert")
    paths = {"base": models[CORE], "ner": models[BC5CDR], "encoder": str(bert)}
    folder = assemble(ROOT / "configs" / "paper.cfg", tmp_path / "paper", **paths)
    # The saved pipeline needs the folder no more.
    bert.rename(tmp_path / "gone")
    nlp = spacy.load(folder)
    assert nlp.get_pipe("mcse_embedder").encode(["edema"]).shape == (1, 16)
    same = spacy_mcse.score(REFERENCE, REFERENCE, nlp=nlp)
    assert same.f1 == same.mcse == 1.0
    score = spacy_mcse.score(REFERENCE, CANDIDATE, nlp=nlp)
    assert "transformer-tiny_scibert-mean@" in str(score.signature)
    assert 0 < score.f1 < 1
    assert assertions(nlp(TEXTS[0]))["pneumonia"] == "absent"


@needs_scispacy
def test_scispacy_cuts_the_words(paper: Language) -> None:
    from scispacy.custom_tokenizer import combined_rule_tokenizer

    made = combined_rule_tokenizer(spacy.blank("en"))
    for text in (*TEXTS, "Levels of Ca(2+)-ATPase, IL-2; a 3-cm mass, ca. 4mm."):
        assert [t.text for t in paper.make_doc(text)] == [t.text for t in made(text)]


@needs_scispacy
def test_components_of_scispacy_in_the_pipeline(
    code_folder: Path, tmp_path: Path
) -> None:
    """Its sentence splitter, its abbreviations, its linker with a little knowledge."""
    import scispacy.abbreviation
    import scispacy.custom_sentence_segmenter  # noqa: F401
    from scispacy.candidate_generation import MentionCandidate
    from scispacy.linking import EntityLinker
    from scispacy.linking_utils import KnowledgeBase

    nlp = spacy.load(code_folder)
    nlp.add_pipe("pysbd_sentencizer", before="parser")
    # Else it leaves Spans on the Doc, which cannot be saved.
    config = {"make_serializable": True}
    nlp.add_pipe("abbreviation_detector", before="negex", config=config)
    concepts = {"endotracheal tube": "T074", "small left pleural effusion": "T047"}
    rows = [
        {"concept_id": f"C{i}", "canonical_name": n, "aliases": [n], "types": [t]}
        for i, (n, t) in enumerate(concepts.items())
    ]
    path = tmp_path / "kb.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf8")

    class Generator:
        """In the place of the index of millions of names."""

        kb = KnowledgeBase(str(path))

        def __call__(self, mentions: list[str], k: int) -> list[list[Any]]:
            ids = {row["canonical_name"]: row["concept_id"] for row in rows}
            return [
                [MentionCandidate(ids[name], [name], [0.99])] if name in ids else []
                for name in map(str.lower, mentions)
            ]

    linker = EntityLinker(
        nlp, candidate_generator=Generator(), filter_for_definitions=False
    )
    Language.component("linker_of_test", func=linker)
    nlp.add_pipe("linker_of_test", before="negex")
    doc = nlp(f"{REFERENCE} An endotracheal tube is in place.")
    linked = {e.text: e._.kb_ents[0][0] for e in doc.ents if e._.kb_ents}
    assert linked == {"small left pleural effusion": "C1", "endotracheal tube": "C0"}
    assert assertions(doc) == {
        "small left pleural effusion": "present",
        "pneumothorax": "absent",
    }
    score = doc._.mcse(nlp(CANDIDATE))
    doc.user_hooks.clear()  # which spaCy would warn that it does not save
    read = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert read._.mcse(nlp(CANDIDATE)).f1 == score.f1
    stored = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    (binned,) = DocBin().from_bytes(stored).get_docs(nlp.vocab)
    assert assertions(binned) == assertions(doc)
    Span.remove_extension("kb_ents")
