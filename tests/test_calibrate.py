"""Floor and ceiling of an encoder: measured, stored, drawn."""

import json
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import spacy
from conftest import HASH_ENCODER, WIDTH, HashEncoder
from spacy.language import Language
from test_encoders import tiny_weights
from typer.testing import CliRunner

import spacy_mcse
from spacy_mcse import pipelines
from spacy_mcse.calibration import (
    FOLDS,
    calibration_pairs,
    measure_pairs,
    read_pairs,
    store_calibration,
    to_similarity,
)
from spacy_mcse.cli import app
from spacy_mcse.corpus import pipeline_signature
from spacy_mcse.encoders import (
    make_pipeline_vectors_encoder,
    make_static_encoder,
    make_transformer_encoder,
)
from spacy_mcse.signature import Signature

ROOT = Path(__file__).parent.parent
PAIRS = """\
# own pairs
kind\tleft\tright
synonym\teffusion\teffusions
synonym\tpleural effusion\teffusion
unrelated\tlung\teffusion
unrelated\tcardiomegaly\tpleural
"""
# A phrase that must not turn up in messages.
MARKER = "zyxomarker"


def invoke(*arguments):
    words = ["calibrate", *(str(argument) for argument in arguments)]
    return CliRunner().invoke(app, words)


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text(PAIRS, "utf8")
    return path


@pytest.fixture
def saved(tmp_path):
    """A small saved pipeline with word vectors of its own."""
    weights = tmp_path / "tiny.npz"
    weights.write_bytes(tiny_weights().to_bytes())
    encoder = {"@misc": "spacy-mcse.StaticEncoder.v1", "path": str(weights)}
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("mcse_entity_refiner")
    nlp.add_pipe("mcse_embedder", config={"encoder": encoder})
    nlp.to_disk(tmp_path / "saved")
    weights.unlink()
    return tmp_path / "saved"


def calibration_of(path):
    nlp = path if isinstance(path, Language) else spacy.load(path)
    return nlp.get_pipe("mcse_embedder").encoder.calibration


def content(folder):
    return {p: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


class Angles:
    """Cosines as given: the right phrase of a pair says which one."""

    def encode(self, texts):
        values = np.array([float(text or 1) for text in texts], dtype=np.float32)
        return np.stack([values, np.sqrt(1 - values**2)], axis=1)


def angle_pairs(cosines):
    return [("", str(value)) for value in cosines]


# Measuring


def test_similarity_is_the_place_between_floor_and_ceiling():
    found = to_similarity(np.array([-0.5, 0.2, 0.5, 0.8, 1.0]), (0.2, 0.8))
    assert found == pytest.approx([0, 0, 0.5, 1, 1], abs=1e-6)
    # As in the score, an encoder that tells nothing apart divides by nothing.
    assert to_similarity(np.array([0.4, 0.6]), (0.5, 0.5)).tolist() == [0, 1]


def test_similarity_is_the_one_of_the_score():
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    ruler = nlp.add_pipe("entity_ruler")
    terms = ("zorp mark", "zorp thing")
    ruler.add_patterns([{"label": "FINDING", "pattern": term} for term in terms])
    nlp.add_pipe("mcse_entity_refiner")
    scoring = {"min_similarity": 0.0, "related": 1.0}
    config = {"encoder": {"@misc": HASH_ENCODER}, "scoring": scoring}
    encoder = nlp.add_pipe("mcse_embedder", config=config).encoder
    docs = [nlp(f"There is {term}.") for term in terms]
    concepts = [doc._.clinical_entities[0]._.concept for doc in docs]
    score = spacy_mcse.score(*docs, nlp=nlp)
    (pair,) = score.pairs
    cosine = np.prod(encoder.encode(concepts), axis=0).sum()
    expected = float(to_similarity(cosine, encoder.calibration))
    assert 0 < expected < 1
    assert pair.similarity == pytest.approx(expected, abs=1e-6)


def test_percentiles_of_both_kinds_and_pairs_left_out():
    unrelated = np.linspace(0.0, 0.4, 41)
    synonym = np.linspace(0.5, 0.9, 21)
    found = measure_pairs(Angles(), angle_pairs(unrelated), angle_pairs(synonym))
    assert found.calibration == (0.38, 0.7)
    before, after = found.similarities
    assert (before == 0).mean() == pytest.approx(39 / 41)
    assert np.median(after) == pytest.approx(1.0, abs=1e-4)
    left_out = found.left_out_similarities
    assert left_out is not None
    assert [len(one) for one in left_out] == [41, 21]
    assert np.abs(left_out[0] - before).max() < 0.1
    few = measure_pairs(Angles(), angle_pairs([0.1] * (FOLDS - 1)), angle_pairs([0.9]))
    assert few.left_out_similarities is None


def test_unrelated_findings_at_0_and_synonyms_near_1_by_default(nlp):
    pairs = calibration_pairs()
    encoder = nlp.get_pipe("mcse_embedder").encoder
    found = measure_pairs(encoder, pairs["unrelated"], pairs["synonym"])
    assert found.calibration == pytest.approx(encoder.calibration, abs=1e-3)
    assert found.left_out_similarities is not None
    for unrelated, synonym in (found.similarities, found.left_out_similarities):
        assert (unrelated == 0).mean() >= 0.9
        assert np.median(synonym) >= 0.95


# Pairs


def test_pairs_may_have_comments_other_columns_and_line_ends(tmp_path):
    path = tmp_path / "own.tsv"
    text = '# x\r\nleft\tnote\tkind\tright\r\n\r\na "b\tn\tsynonym\tc\r\n'
    path.write_bytes(b"\xef\xbb\xbf" + text.encode("utf8"))
    assert read_pairs(path) == {"unrelated": [], "synonym": [('a "b', "c")]}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind\tleft\n", "line 1: no column right"),
        (f"#\nkind\tleft\tright\n{MARKER}\ta\tb\n", "line 3: the kind"),
        (f"kind\tleft\tright\nsynonym\t{MARKER}\n", "line 2: expected 3 fields, found"),
        (f"kind\tleft\tright\nsynonym\t \t{MARKER}\n", "line 2: a phrase is empty"),
        ("kind\tleft\tright\nsynonym\ta\t\udcff\n", "not valid UTF-8"),
        ("", "E305"),
        ("kind\tleft\tright\nsynonym\ta\tb\n", "E305.*0 unrelated"),
    ],
)
def test_bad_pairs_are_told_by_line(saved, tmp_path, text, problem):
    path = tmp_path / "bad.tsv"
    path.write_bytes(text.encode("utf8", "surrogateescape"))
    result = invoke(saved, "--pairs", path, "--output", tmp_path / "new")
    assert result.exit_code == 2
    assert not (tmp_path / "new").exists()
    assert MARKER not in result.output
    with pytest.raises(AssertionError, match=problem):
        raise AssertionError(result.output)


# Storing


@pytest.mark.parametrize("make", [make_static_encoder, make_pipeline_vectors_encoder])
def test_encoders_keep_a_calibration(make, tmp_path):
    encoder = make()
    store_calibration(encoder, (0.125, 0.875))
    assert encoder.calibration == (0.125, 0.875)
    encoder.to_disk(tmp_path / "encoder")
    other = make()
    other.from_disk(tmp_path / "encoder")
    assert other.calibration == (0.125, 0.875)


@pytest.mark.slow
def test_transformer_keeps_a_calibration(tmp_path):
    for part in pipelines.TRANSFORMER_PARTS:
        if find_spec(part) is None:
            pytest.skip(f"{part} is not installed (extra 'trf')")
    encoder = make_transformer_encoder()
    store_calibration(encoder, (0.125, 0.875))
    encoder.to_disk(tmp_path / "encoder")
    other = make_transformer_encoder()
    other.from_disk(tmp_path / "encoder")
    assert other.calibration == encoder.calibration == (0.125, 0.875)


def test_an_encoder_that_would_lose_it_is_refused():
    class ReadOnly(HashEncoder):
        calibration = property(lambda self: (0.1, 0.9))  # type: ignore[assignment]

    class Saving(HashEncoder):
        def to_bytes(self):
            return json.dumps(self.calibration).encode("utf8")

        def from_bytes(self, data):
            self.calibration = tuple(json.loads(data))

    for encoder in (ReadOnly(), HashEncoder()):
        with pytest.raises(ValueError, match=r"E311.*hash-test"):
            store_calibration(encoder, (0.25, 0.75))
    encoder = Saving()
    store_calibration(encoder, (0.25, 0.75))
    assert encoder.calibration == (0.25, 0.75)


# The command


def test_pipeline_is_saved_with_its_calibration(saved, pairs, tmp_path):
    old = content(saved)
    result = invoke(saved, "--pairs", pairs, "--output", tmp_path / "new")
    assert result.exit_code == 0, result.output
    known = read_pairs(pairs)
    encoder = spacy.load(saved).get_pipe("mcse_embedder").encoder
    measured = measure_pairs(encoder, known["unrelated"], known["synonym"])
    new = spacy_mcse.load(str(tmp_path / "new"))
    assert calibration_of(new) == measured.calibration != calibration_of(saved)
    floor, ceiling = measured.calibration
    assert f"Floor {floor:.4f}: percentile 95 of unrelated pairs" in result.output
    assert f"Ceiling {ceiling:.4f}: percentile 50 of synonyms" in result.output
    assert "as loaded: 0.1000 and 0.6000" in result.output
    assert "2 unrelated pairs and 2 pairs of synonyms" in result.output
    assert "2 pairs of kind synonym are few" in result.output
    assert content(saved) == old
    names = {"pairs.tsv", "saved", "new"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_calibration_is_part_of_the_signature(saved, pairs, tmp_path):
    invoke(saved, "--pairs", pairs, "--output", tmp_path / "new")
    old, new = spacy.load(saved), spacy.load(tmp_path / "new")
    first, second = (pipeline_signature(nlp) for nlp in (old, new))
    assert first.settings != second.settings
    assert Signature.from_str(str(second)) == second
    with pytest.raises(ValueError, match="E404"):
        spacy_mcse.score(old("Edema."), new("Edema."), nlp=old)
    # Not by the weights alone: those of this encoder are the pipeline's.
    vectors = spacy.blank("en")
    vectors.vocab.set_vector("lung", np.ones(WIDTH, dtype=np.float32))
    vectors.add_pipe("mcse_entity_refiner")
    config = {"encoder": {"@misc": "spacy-mcse.PipelineVectors.v1"}}
    encoder = vectors.add_pipe("mcse_embedder", config=config).encoder
    found = set()
    for calibration in ((0.1, 0.9), (0.2, 0.9), (0.1, 0.8)):
        store_calibration(encoder, calibration)
        found.add(pipeline_signature(vectors).settings)
    assert len(found) == 3


def test_default_pipeline_is_calibrated_and_left_as_it_is(nlp, monkeypatch, tmp_path):
    # What is not asked for is not imported.
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = invoke("en_mcse_cxr_sm")
    assert result.exit_code == 0, result.output
    assert "127 unrelated pairs and 80 pairs of synonyms" in result.output
    floor, ceiling = calibration_of(nlp)
    assert f"Floor {floor:.4f}" in result.output
    assert f"Ceiling {ceiling:.4f}" in result.output
    assert "The same for pairs left out" in result.output
    assert "few" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_existing_output_is_kept_without_force(saved, pairs, tmp_path):
    old = content(saved)
    result = invoke(saved, "--pairs", pairs, "--output", saved)
    assert (result.exit_code, "E804" in result.output) == (2, True)
    assert content(saved) == old
    result = invoke(saved, "--pairs", pairs, "--output", saved, "--force")
    assert result.exit_code == 0, result.output
    assert calibration_of(saved) != (0.1, 0.6)
    assert {path.name for path in tmp_path.iterdir()} == {"pairs.tsv", "saved"}


def test_only_a_saved_pipeline_is_replaced(saved, pairs, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(saved, other)
    (other / "notes.txt").write_text("mine", "utf8")
    folder = tmp_path / "folder"
    (folder / "vocab").mkdir(parents=True)
    file = tmp_path / "file"
    file.write_text("mine", "utf8")
    before = content(tmp_path)
    for output in (other, folder, file, tmp_path, tmp_path / "no" / "such"):
        result = invoke(saved, "--pairs", pairs, "--output", output, "--force")
        assert (result.exit_code, "E809" in result.output) == (2, True), output
    assert content(tmp_path) == before
    empty = tmp_path / "empty"
    empty.mkdir()
    assert invoke(saved, "--pairs", pairs, "--output", empty).exit_code == 2
    result = invoke(saved, "--pairs", pairs, "--output", empty, "--force")
    assert result.exit_code == 0, result.output


def test_a_failed_save_leaves_the_old_pipeline(saved, pairs, monkeypatch, tmp_path):
    def fail(self, path, **options):
        Path(path).mkdir()
        raise OSError(28, "No space left on device")

    old = content(saved)
    monkeypatch.setattr(Language, "to_disk", fail)
    result = invoke(saved, "--pairs", pairs, "--output", saved, "--force")
    assert (result.exit_code, "No space left" in result.output) == (2, True)
    assert content(saved) == old
    assert {path.name for path in tmp_path.iterdir()} == {"pairs.tsv", "saved"}


def test_phrases_that_are_not_told_apart(saved, tmp_path):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(
        "kind\tleft\tright\nunrelated\tlung\tlung\nsynonym\tlung\teffusion\n", "utf8"
    )
    result = invoke(saved, "--pairs", pairs)
    assert result.exit_code == 0, result.output
    assert "does not tell synonyms from unrelated" in result.output
    result = invoke(saved, "--pairs", pairs, "--output", tmp_path / "new")
    assert (result.exit_code, "E312" in result.output) == (2, True)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("pipeline", "options", "code"),
    [
        ("no_such_pipeline", (), "E101"),
        (None, ("--pairs", "no_such.tsv"), "E801"),
        (None, ("--figure", "figure.txt"), "E802"),
        (None, ("--figure", "no/such.png"), "E809"),
        (None, ("--figure", "pairs.tsv"), "E802"),
        (None, ("--figure", "saved/x.png", "--output", "saved", "--force"), "E809"),
    ],
)
def test_wrong_usage(saved, pairs, monkeypatch, tmp_path, pipeline, options, code):
    monkeypatch.chdir(tmp_path)
    before = content(tmp_path)
    result = invoke(pipeline or saved, *options)
    assert (result.exit_code, code in result.output) == (2, True), result.output
    assert content(tmp_path) == before


def test_pipeline_without_embedder(monkeypatch):
    monkeypatch.setattr(pipelines, "load", lambda name: spacy.blank("en"))
    result = invoke("any")
    assert (result.exit_code, "E103" in result.output) == (2, True)


# The figure


def test_missing_matplotlib_is_named_with_its_extra(saved, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.figure", raising=False)
    figure, new = tmp_path / "figure.png", tmp_path / "new"
    result = invoke(saved, "--figure", figure, "--output", new)
    assert result.exit_code == 2
    assert 'pip install "spacy-mcse[eval]"' in result.output
    assert not figure.exists()
    assert not new.exists()


def test_figure_is_drawn_whole_and_always_the_same(saved, pairs, tmp_path):
    pytest.importorskip("matplotlib")
    figure = tmp_path / "figure.png"
    result = invoke(saved, "--pairs", pairs, "--figure", figure)
    assert result.exit_code == 0, result.output
    data = figure.read_bytes()
    assert data.startswith(b"\x89PNG")
    assert len(data) < 60_000
    result = invoke(saved, "--pairs", pairs, "--figure", figure)
    assert (result.exit_code, "E804" in result.output) == (2, True)
    result = invoke(saved, "--pairs", pairs, "--figure", figure, "--force")
    assert result.exit_code == 0, result.output
    assert figure.read_bytes() == data
    assert "matplotlib.pyplot" not in sys.modules


def test_figure_of_the_repository():
    data = (ROOT / "metrics" / "calibration.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert len(data) < 60_000
