"""The workflow that trains recognizers: converter, training, measuring, assembling."""

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from script_runs import run, script
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import fix_random_seed, is_package
from spacy.vocab import Vocab
from test_encoders import make_tiny_bert

from spacy_mcse.affix_embed import make_affix_embed
from spacy_mcse.pipelines import BASES

ROOT = Path(__file__).parent.parent
CONVERT = script("convert_iob.py")["main"]
PARTS = ("project.yml", "configs", "examples", "scripts")

# Disease in <>, chemical in {}, anatomy in []: each corpus is given its own types only.
SENTENCES = """\
{ Warfarin } was stopped after a < large hemothorax > .
The < pneumonia > did not answer to { amoxicillin } .
A < pleural effusion > lay below the [ left lung ] .
{ Amiodarone } is known to cause < lung fibrosis > .
No < pneumothorax > was seen after the biopsy .
The [ heart ] was enlarged and the [ aorta ] was calcified .
{ Furosemide } relieved the < pulmonary edema > .
Two < rib fractures > were found by chance .
The [ right upper lobe ] held a < nodule > .
{ Methotrexate } was the likely cause of the < pneumonitis > .
< Atelectasis > of the [ left lower lobe ] had cleared .
{ Heparin } was given because of < pulmonary embolism > .
"""
MARKS = {"<": ">", "{": "}", "[": "]"}
TYPES = {"BC5CDR": {"<": "Disease", "{": "Chemical"}, "AnatEM": {"[": "Anatomy"}}


def iob(types):
    lines = []
    for sentence in SENTENCES.splitlines():
        label, first = None, False
        for word in sentence.split():
            if word in MARKS:
                label, first = types.get(word), True
            elif word in MARKS.values():
                label = None
            else:
                tag = f"{'B' if first else 'I'}-{label}" if label else "O"
                lines.append(f"{word}\t{tag}")
                first = False
        lines.append("")
    return "\n".join(lines) + "\n"


def read(path):
    return list(DocBin().from_disk(path).get_docs(Vocab()))


@pytest.fixture
def convert(tmp_path, monkeypatch, capsys):
    """Convert lines, or the bytes of a file; its exit code, outputs and .spacy file."""

    def convert(content, *options, name="corpus.iob.tsv"):
        if not isinstance(content, bytes):
            content = "".join(f"{line}\n" for line in content).encode("utf8")
        (tmp_path / name).write_bytes(content)
        arguments = ["convert_iob.py", str(tmp_path), str(tmp_path / name), *options]
        monkeypatch.setattr(sys, "argv", arguments)
        code = CONVERT()
        assert not list(tmp_path.glob("*.part"))
        return code, capsys.readouterr(), tmp_path / "corpus.spacy"

    return convert


def tags(doc):
    return [f"{token.ent_iob_}-{token.ent_type_}".rstrip("-") for token in doc]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["B-Disease", "I-Disease", "O"], ["B-DISEASE", "I-DISEASE", "O"]),
        # IOB1: B- only where two of a label touch.
        (["I-Disease", "I-Disease", "O"], ["B-DISEASE", "I-DISEASE", "O"]),
        (["I-Disease", "B-Disease", "O"], ["B-DISEASE", "B-DISEASE", "O"]),
        (["B-Disease", "I-Chemical", "O"], ["B-DISEASE", "B-CHEMICAL", "O"]),
        (["O", "I-Gene_or_gene", "O"], ["O", "B-GENE_OR_GENE", "O"]),
        (["O", "O", "B-Multi-tissue"], ["O", "O", "B-MULTI-TISSUE"]),
    ],
)
def test_tags_are_read_in_both_ways_of_writing(convert, given, expected):
    lines = [*(f"w\t{tag}" for tag in given), "", "a\tB-Disease"]
    code, output, target = convert(lines)
    assert code == 0, output.err
    first, second = read(target)
    assert tags(first) == expected
    assert tags(second) == ["B-DISEASE"]
    assert first.has_unknown_spaces


def test_sentences_share_docs_but_no_entity(convert):
    lines = ["a\tB-X", "", "", "-DOCSTART-\tO", "", "b\tI-X", "c\tI-X", "", "d\tO"]
    _, output, target = convert(lines, "--sentences", "2")
    assert [tags(doc) for doc in read(target)] == [["B-X", "B-X", "I-X"], ["O"]]
    counts = json.loads(output.out)
    assert counts == {"file": "corpus.spacy", "docs": 2, "sentences": 3, "X": 2}
    _, _, target = convert(lines, "--sentences", "2", "--limit", "1")
    assert len(read(target)) == 1


def test_compressed_files_are_known_by_their_content(convert):
    text = iob(TYPES["BC5CDR"])
    plain = ("\ufeff" + text.replace("\n", "\r\n")).encode("utf8")
    packed = gzip.compress(text.encode("utf8"))
    found = []
    for content, name in ((plain, "corpus.iob.tsv.gz"), (packed, "corpus.iob")):
        code, output, target = convert(content, name=name)
        assert code == 0, output.err
        found.append([doc.to_json() for doc in read(target)])
    assert found[0] == found[1]
    assert len(found[0]) == len(SENTENCES.splitlines())


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (["fine\tO", "secret"], "line 2: expected a token, a tab and a tag"),
        (["fine\tO", "\tO"], "line 2: expected a token, a tab and a tag"),
        (["secret\tDisease"], "line 1: a tag is O, B-LABEL or I-LABEL"),
        (["secret\tB-"], "line 1: a tag is O, B-LABEL or I-LABEL"),
        (["secret\tS-Disease"], "line 1: a tag is O, B-LABEL or I-LABEL"),
        (["", ""], "no sentence in it"),
        (b"caf\xe9\tO\n", "line 1: not UTF-8"),
        (gzip.compress(b"a\tO\n" * 999)[:-9], "broken gzip"),
    ],
)
def test_errors_name_the_line_and_not_the_text(convert, content, problem):
    code, output, target = convert(content)
    assert code == 2
    assert problem in output.err
    assert "corpus.iob.tsv" in output.err
    assert "secret" not in output.err
    assert not target.exists()


def test_a_missing_file_says_where_it_is_looked_for(tmp_path, monkeypatch, capsys):
    source = str(tmp_path / "ner" / "BC5CDR.train.iob.tsv.gz")
    monkeypatch.setattr(sys, "argv", ["convert_iob.py", str(tmp_path), source])
    assert CONVERT() == 2
    error = capsys.readouterr().err
    assert source in error
    assert "--vars.data" in error


def test_the_workflow_trains_measures_assembles_and_scores(tmp_path):
    """All its steps, with the commands of the project; the figures mean nothing."""
    if not any(is_package(base) for base in BASES):
        pytest.skip("spaCy's small English pipeline is not installed (extra 'cxr')")
    folder = tmp_path / "project"
    folder.mkdir()
    for name in PARTS:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    pair = (ROOT / "examples" / "pairs.jsonl").read_text("utf8").splitlines()[0]
    (folder / "pair.jsonl").write_text(pair + "\n", "utf8")
    (tmp_path / "data" / "ner").mkdir(parents=True)
    for corpus, types in TYPES.items():
        for part in ("train", "devel", "test"):
            path = tmp_path / "data" / "ner" / f"{corpus}.{part}.iob.tsv.gz"
            path.write_bytes(gzip.compress(iob(types).encode("utf8")))
    variables = ("data", "../data", "pairs", "pair.jsonl", "max_steps", "5")
    named = [
        f"--vars.{text}" if i % 2 == 0 else text for i, text in enumerate(variables)
    ]
    command = [sys.executable, "-m", "spacy", "project", "run", "train", ".", *named]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "en_ner_bc5cdr_md, published: F 0.843" in done.stdout
    figures = json.loads((folder / "metrics" / "ner.json").read_text("utf8"))
    assert figures["bc5cdr"]["entities"] == iob(TYPES["BC5CDR"]).count("B-")
    assert figures["anatem"]["docs"] == len(SENTENCES.splitlines())
    noted = figures["bc5cdr"]["run"]
    assert noted["train"]["docs"] == len(SENTENCES.splitlines())
    assert noted["command"].startswith(
        "python scripts/train_ner.py configs/ner_cnn.cfg"
    )
    scores = (folder / "metrics" / "ner_scores.jsonl").read_text("utf8").splitlines()
    assert [json.loads(line)["id"] for line in scores] == [json.loads(pair)["id"]]
    training = folder / "training"
    nlp = spacy.load(training / "pipeline")
    assert {"ner", "ner_anatomy", "mcse_entity_refiner"} <= set(nlp.pipe_names)
    # What the pipeline sources is what was trained, with its vectors.
    for corpus, name in (("bc5cdr", "ner"), ("anatem", "ner_anatomy")):
        trained = spacy.load(training / corpus / "model-best")
        words = ["A", "large", "pneumonia", "of", "the", "left", "lung"]
        doc = trained.get_pipe("ner")(Doc(trained.vocab, words=words))
        other = nlp.get_pipe(name)(Doc(nlp.vocab, words=words))
        assert tags(doc) == tags(other)


def test_a_transformer_is_trained_but_for_its_word_pieces(tmp_path, convert):
    bert = make_tiny_bert(tmp_path / "bert")
    _, _, corpus = convert(iob(TYPES["BC5CDR"]).encode("utf8"), "--sentences", "4")
    arguments = ("--train", str(corpus), "--dev", str(corpus), "--max-steps", "2")
    config, output = ROOT / "configs" / "ner_trf.cfg", tmp_path / "output"
    trained = run(
        "train_ner.py", str(config), str(output), *arguments, "--encoder", str(bert)
    )
    assert trained.returncode == 0, trained.stderr
    shutil.rmtree(bert)
    nlp = spacy.load(output / "model-last")
    nlp("A large pneumonia of the left lung.")
    assert nlp.get_pipe("ner").labels == ("CHEMICAL", "DISEASE")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--train", "none.spacy", "--dev", "none.spacy"), "run `ner-corpus` first"),
        (("--train", __file__, "--dev", __file__, "--encoder", "package:no"), "E307"),
    ],
)
def test_what_is_missing_is_named(tmp_path, monkeypatch, capsys, arguments, problem):
    config, output = ROOT / "configs" / "ner_trf.cfg", tmp_path / "output"
    given = ["train_ner.py", str(config), str(output), *arguments]
    monkeypatch.setattr(sys, "argv", given)
    assert script("train_ner.py")["main"]() == 2
    assert problem in capsys.readouterr().err
    assert not output.exists()


def make_embed(**changes):
    settings = {
        "width": 8,
        "attrs": ["NORM"],
        "rows": [50],
        "prefixes": [3],
        "suffixes": [4],
        "affix_rows": 50,
        "include_static_vectors": False,
    }
    return make_affix_embed(**{**settings, **changes})


@pytest.mark.parametrize("texts", [[], ["no entity here"]])
def test_a_test_part_without_entities_has_no_figures(texts):
    names = script("evaluate_ner.py")
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "X", "pattern": "zebra"}])
    docs = [nlp.make_doc(text) for text in texts]
    found = names["measure"](nlp, [Example(doc.copy(), doc) for doc in docs])
    assert found["f"] is None
    assert found["entities"] == 0
    assert "F none" in names["describe"]("bc5cdr", found)


def test_affixes_of_words_are_embedded():
    model = make_embed(attrs=["LENGTH"], prefixes=[2], suffixes=[4])
    model.initialize()
    words = ["bronchitis", "bradyxitis", "pancreatic", "a"]
    vocab = spacy.blank("en").vocab
    first, empty = model.predict([Doc(vocab, words=words), Doc(vocab)])
    assert first.shape == (4, 8)
    assert empty.shape == (0, 8)
    # Length, front and end are all that the first two have in common, and all there is.
    assert (first[0] == first[1]).all()
    assert (first[0] != first[2]).any()


def test_words_are_unseen_only_while_training():
    model = make_embed(unseen=0.5, prefixes=[], suffixes=[1])
    model.initialize()
    doc = Doc(spacy.blank("en").vocab, words=["edema"] * 50)
    (known,) = model.predict([doc])
    assert (known == known[0]).all()
    fix_random_seed(0)
    (first,), _ = model.begin_update([doc])
    assert 10 < (first == known[0]).all(axis=1).sum() < 40
    fix_random_seed(0)
    (again,), _ = model.begin_update([doc])
    assert (first == again).all()


@pytest.mark.parametrize(
    "changes",
    [{"unseen": 1.0}, {"rows": [50, 50]}, {"affix_rows": 0}, {"prefixes": [0]}],
)
def test_sizes_of_the_embedding_are_checked(changes):
    with pytest.raises(ValueError, match="E105"):
        make_embed(**changes)
