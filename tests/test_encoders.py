import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.util import load_config

import spacy_mcse
from spacy_mcse.calibration import calibrate, calibration_pairs
from spacy_mcse.encoders import (
    Encoder,
    make_pipeline_vectors_encoder,
    make_static_encoder,
    make_transformer_encoder,
)
from spacy_mcse.pipelines import TRANSFORMER_PARTS
from spacy_mcse.static_encoder import StaticEncoder, StaticWeights, normalize_words
from spacy_mcse.transformer_encoder import TRANSFORMER_CALIBRATION, TransformerEncoder
from spacy_mcse.transformer_model import (
    DEFAULT_TRANSFORMER,
    PACKAGE_PREFIX,
    find_model,
)
from spacy_mcse.unit_vectors import hashed_vectors
from spacy_mcse.vectors_encoder import PipelineVectorsEncoder

PHRASES = ["pleural effusion", "cardiomegaly", "no", "", "...", "rib 9 fracture"]


def cosine(encoder: Encoder, left: str, right: str) -> float:
    rows = encoder.encode([left, right])
    return float(rows[0] @ rows[1])


def tiny_weights() -> StaticWeights:
    words = ["effusion", "pleural", "lung", "cardio", "##megaly", "##s", "non"]
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(len(words), 8)).astype(np.float16).astype(np.float32)
    rows = {word: row for row, word in enumerate(words)}
    return StaticWeights("tiny-1", rows, vectors, 1.0, (0.1, 0.6))


@pytest.fixture
def tiny_static(tmp_path: Path) -> StaticEncoder:
    path = tmp_path / "tiny.npz"
    path.write_bytes(tiny_weights().to_bytes())
    return make_static_encoder(str(path))


@pytest.fixture
def vectors_nlp() -> Language:
    nlp = spacy.blank("en")
    rng = np.random.default_rng(1)
    for word in ("pleural", "effusion", "lung"):
        nlp.vocab.set_vector(word, rng.normal(size=12).astype("float32"))
    return nlp


@pytest.fixture
def bound(vectors_nlp: Language) -> PipelineVectorsEncoder:
    encoder = make_pipeline_vectors_encoder()
    encoder.bind(vectors_nlp)
    return encoder


def make_tiny_bert(folder: Path, *, safe: bool = True) -> Path:
    """Save a BERT with random weights that a test can load without a network."""
    pytest.importorskip("spacy_transformers")
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    torch.manual_seed(0)
    folder.mkdir(parents=True)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "pleural", "effusion"]
    (folder / "vocab.txt").write_text("\n".join([*pieces, "lung", "##s"]) + "\n")
    config = BertConfig(
        vocab_size=9,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(str(folder))
    BertModel(config).save_pretrained(str(folder), safe_serialization=safe)
    return folder


@pytest.fixture
def tiny_bert(tmp_path: Path) -> Path:
    return make_tiny_bert(tmp_path / "bert")


@pytest.fixture
def transformer(tiny_bert: Path) -> TransformerEncoder:
    return make_transformer_encoder(str(tiny_bert), batch_size=2)


@pytest.fixture(params=["static", "tiny_static", "bound", "transformer"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    if request.param == "static":
        return make_static_encoder()
    made: Encoder = request.getfixturevalue(request.param)
    return made


def fresh(encoder: Encoder, nlp: Language) -> Encoder:
    """An encoder of the same kind that has no weights yet."""
    if isinstance(encoder, PipelineVectorsEncoder):
        other = PipelineVectorsEncoder()
        other.bind(nlp)
        return other
    if isinstance(encoder, TransformerEncoder):
        return TransformerEncoder("no/such-model")
    return StaticEncoder("no/such/file.npz")


def test_encode_gives_unit_float32_rows(encoder: Encoder) -> None:
    assert isinstance(encoder, Encoder)
    rows = encoder.encode(PHRASES)
    assert rows.dtype == np.float32
    assert rows.shape[0] == len(PHRASES)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)


def test_encode_nothing_has_the_same_width(encoder: Encoder) -> None:
    rows = encoder.encode([])
    assert rows.shape == (0, encoder.encode(["lung"]).shape[1])
    assert rows.dtype == np.float32


def test_encode_does_not_depend_on_the_batch(encoder: Encoder) -> None:
    rows = encoder.encode(PHRASES)
    assert np.allclose(rows, encoder.encode(PHRASES), atol=1e-6)
    for phrase, row in zip(PHRASES, rows, strict=True):
        assert np.allclose(encoder.encode([phrase])[0], row, atol=1e-5)


def test_disk_and_bytes_round_trip(
    encoder: Encoder, vectors_nlp: Language, tmp_path: Path
) -> None:
    rows = encoder.encode(PHRASES)
    encoder.to_disk(tmp_path / "saved" / "encoder")
    from_disk, from_bytes = fresh(encoder, vectors_nlp), fresh(encoder, vectors_nlp)
    from_disk.from_disk(tmp_path / "saved" / "encoder")
    from_bytes.from_bytes(encoder.to_bytes())
    for other in (from_disk, from_bytes):
        # Not to the bit: torch's sums depend on how the weights lie in memory.
        assert np.allclose(other.encode(PHRASES), rows, atol=1e-6)
        assert other.fingerprint == encoder.fingerprint
        assert other.calibration == encoder.calibration
        assert other.name == encoder.name


def test_pickle_round_trip(encoder: Encoder) -> None:
    # As nlp.pipe(n_process=2) does under spawn.
    rows = encoder.encode(PHRASES)
    other = pickle.loads(pickle.dumps(encoder))
    assert np.allclose(other.encode(PHRASES), rows, atol=1e-6)


def test_from_disk_names_a_missing_file(encoder: Encoder, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="E301"):
        encoder.from_disk(tmp_path / "nothing")


@pytest.mark.parametrize("kind", ["static", "tiny_static", "bound"])
def test_unknown_words_equal_only_themselves(
    kind: str, request: pytest.FixtureRequest
) -> None:
    encoder = (
        make_static_encoder() if kind == "static" else request.getfixturevalue(kind)
    )
    assert cosine(encoder, "ъжщ", "ъжщ") == pytest.approx(1.0, abs=1e-5)
    assert abs(cosine(encoder, "ъжщ", "эюя")) < 0.9
    assert cosine(encoder, "", "") == pytest.approx(1.0, abs=1e-5)


def test_hashed_vectors_of_different_texts_are_about_orthogonal() -> None:
    rows = hashed_vectors([f"word {number}" for number in range(200)], 160)
    cosines = (rows @ rows.T)[np.triu_indices(200, 1)]
    assert abs(float(cosines.mean())) < 0.01
    assert float(np.abs(cosines).max()) < 0.4
    # Pinned: another machine and another numpy must give the same vector.
    first = hashed_vectors(["lung"], 4)[0]
    pinned = (-0.97995013, -0.15333495, 0.0692922, 0.10669922)
    assert first == pytest.approx(pinned, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Pleural-Effusion", ["pleural", "effusion"]),
        ("Ménière's œdème", ["meniere", "s", "œdeme"]),
        ("  3.5 cm ", ["3", "5", "cm"]),
        ("__--..", []),
    ],
)
def test_normalize_words(text: str, words: list[str]) -> None:
    assert normalize_words(text) == words


def test_static_cuts_unknown_words_into_longest_pieces(
    tiny_static: StaticEncoder,
) -> None:
    vectors = tiny_static.weights.vectors
    expected = vectors[3] + vectors[4]
    row = tiny_static.encode(["Cardiomegaly"])[0]
    assert np.allclose(row, expected / np.linalg.norm(expected), atol=1e-6)
    # A word that is not covered to its end is unknown as a whole.
    assert abs(cosine(tiny_static, "cardiomegalyx", "cardiomegaly")) < 0.95


def test_static_ignores_case_accents_and_hyphens(tiny_static: StaticEncoder) -> None:
    rows = tiny_static.encode(["pleural effusion", "Pleural-Effusión"])
    assert np.array_equal(rows[0], rows[1])


def test_static_keeps_a_known_word_beside_an_unknown_one(
    tiny_static: StaticEncoder,
) -> None:
    assert 0.2 < cosine(tiny_static, "effusion", "effusion qqqq") < 0.999


def test_static_path_may_be_a_folder(tmp_path: Path) -> None:
    encoder = make_static_encoder()
    encoder.to_disk(tmp_path)
    assert StaticEncoder(str(tmp_path)).fingerprint == encoder.fingerprint


def test_static_path_errors(tmp_path: Path) -> None:
    missing = make_static_encoder(str(tmp_path / "gone.npz"))
    with pytest.raises(FileNotFoundError, match=r"E301.*gone\.npz"):
        missing.encode(["lung"])
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"no zip")
    with pytest.raises(ValueError, match=r"E302.*broken\.npz"):
        make_static_encoder(str(broken)).encode(["lung"])


def test_pickled_vectors_keep_their_name() -> None:
    """Else Docs of worker processes do not compare with others."""
    nlp = spacy.blank("en")
    nlp.vocab.set_vector("lung", np.ones(3, dtype=np.float32))
    nlp.vocab.vectors.name = "of_a_test"
    encoder = PipelineVectorsEncoder()
    encoder.bind(nlp)
    other = pickle.loads(pickle.dumps(encoder))
    assert other.name == encoder.name == "vectors-of_a_test"
    assert other.fingerprint == encoder.fingerprint
    assert pickle.loads(pickle.dumps(other)).name == encoder.name


def test_static_never_unpickles(tmp_path: Path) -> None:
    path = tmp_path / "evil.npz"
    objects = np.array([{"a": 1}], dtype=object)
    np.savez(path, vectors=objects, words=objects, settings=objects)
    with pytest.raises(ValueError, match="E302"):
        make_static_encoder(str(path)).encode(["lung"])


def test_static_rejects_words_without_vectors() -> None:
    weights = tiny_weights()
    short = StaticWeights("x", weights.words, weights.vectors[:3], 1.0, (0.0, 1.0))
    with pytest.raises(ValueError, match=r"E302.*7 words"):
        StaticEncoder().from_bytes(short.to_bytes())


def test_packaged_static_vectors_know_the_field() -> None:
    encoder = make_static_encoder()
    floor, ceiling = encoder.calibration
    assert -0.2 < floor < ceiling <= 1.0
    for left, right in (
        ("effusion", "pleural fluid"),
        ("cardiomegaly", "enlarged heart"),
        ("pulmonary nodule", "lung lesion"),
        ("edema", "oedema"),
    ):
        assert cosine(encoder, left, right) > floor, (left, right)
    for left, right in (
        ("rib fracture", "pleural effusion"),
        ("scarring", "pneumothorax"),
    ):
        assert cosine(encoder, left, right) < ceiling, (left, right)


def test_packaged_static_vectors_are_small() -> None:
    folder = Path(sys.modules[StaticEncoder.__module__].__file__ or "").parent
    assert (folder / "vectors" / "static_cxr.npz").stat().st_size < 5_500_000


def test_calibration_of_the_packaged_vectors_is_what_calibrate_measures() -> None:
    encoder = make_static_encoder()
    pairs = calibration_pairs()
    measured = calibrate(encoder, pairs["unrelated"], pairs["synonym"])
    assert measured == pytest.approx(encoder.calibration, abs=1e-3)


def test_calibrate_takes_percentile_and_median(tiny_static: StaticEncoder) -> None:
    same = [("lung", "lung")]
    floor, ceiling = calibrate(tiny_static, [("lung", "effusion")], same)
    assert floor == pytest.approx(cosine(tiny_static, "lung", "effusion"), abs=1e-4)
    assert ceiling == 1.0
    with pytest.raises(ValueError, match="E305"):
        calibrate(tiny_static, [], same)


def test_fingerprint_changes_with_the_weights(tiny_static: StaticEncoder) -> None:
    weights = tiny_weights()
    changed = StaticEncoder()
    changed.from_bytes(
        StaticWeights(
            weights.name, weights.words, weights.vectors * 2, 1.0, weights.calibration
        ).to_bytes()
    )
    assert changed.fingerprint != tiny_static.fingerprint
    changed.from_bytes(weights.to_bytes())
    assert changed.fingerprint == tiny_static.fingerprint
    assert len(changed.fingerprint) == 16


def test_pipeline_vectors_are_the_mean_of_the_tokens(
    bound: PipelineVectorsEncoder, vectors_nlp: Language
) -> None:
    expected = vectors_nlp("pleural effusion").vector
    row = bound.encode(["pleural effusion"])[0]
    assert np.allclose(row, expected / np.linalg.norm(expected), atol=1e-5)


def test_pipeline_vectors_need_a_pipeline_with_vectors() -> None:
    encoder = make_pipeline_vectors_encoder()
    with pytest.raises(ValueError, match="E303"):
        encoder.encode(["lung"])
    encoder.bind(spacy.blank("en"))
    with pytest.raises(ValueError, match=r"E304.*no word vectors"):
        encoder.encode(["lung"])


def test_pipeline_vectors_read_after_binding_are_used(vectors_nlp: Language) -> None:
    nlp = spacy.blank("en")
    encoder = make_pipeline_vectors_encoder()
    encoder.bind(nlp)
    nlp.from_bytes(vectors_nlp.to_bytes())
    other = make_pipeline_vectors_encoder()
    other.bind(vectors_nlp)
    assert np.allclose(encoder.encode(["lung"]), other.encode(["lung"]))
    assert encoder.fingerprint == other.fingerprint


@pytest.mark.parametrize(
    "settings",
    [{"pooling": "max"}, {"max_length": 2}, {"batch_size": 0}],
)
def test_transformer_settings_out_of_range(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=f"E306.*{next(iter(settings))}"):
        make_transformer_encoder(**settings)  # type: ignore[arg-type]


def test_transformer_names_the_missing_package() -> None:
    encoder = make_transformer_encoder("package:no_such_package_of_ours")
    with pytest.raises(ImportError, match=r"E307.*pip install no-such-package-of-ours"):
        encoder.encode(["lung"])


def test_transformer_package_without_a_model() -> None:
    with pytest.raises(OSError, match=r"E309.*'json'"):
        find_model("package:json")


def test_the_default_transformer_is_the_one_that_the_pipeline_asks_for() -> None:
    assert DEFAULT_TRANSFORMER.removeprefix(PACKAGE_PREFIX) in TRANSFORMER_PARTS
    config = Path(spacy_mcse.__file__).parent / "configs" / "en_mcse_cxr_trf.cfg"
    block = load_config(config)["components"]["mcse_embedder"]["encoder"]
    assert block["name"] == DEFAULT_TRANSFORMER


def test_transformer_names_the_missing_library(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "spacy_transformers", None)
    encoder = make_transformer_encoder(str(tiny_bert))
    with pytest.raises(ImportError, match=r"E307.*pip install 'spacy-mcse\[trf\]'"):
        encoder.encode(["lung"])


def test_transformer_never_downloads() -> None:
    pytest.importorskip("huggingface_hub")
    encoder = make_transformer_encoder("allenai/no-such-model-of-ours")
    with pytest.raises(OSError, match=r"E308.*hf download allenai/no-such-model"):
        encoder.encode(["lung"])


def test_transformer_mean_pooling_is_that_of_transformers(tiny_bert: Path) -> None:
    pytest.importorskip("spacy_transformers")
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(tiny_bert))
    model = AutoModel.from_pretrained(str(tiny_bert)).eval()
    with torch.no_grad():
        inputs = tokenizer(["pleural effusion"], return_tensors="pt")
        states = model(**inputs).last_hidden_state[0].numpy()
    for pooling, expected in (("mean", states.mean(0)), ("cls", states[0])):
        encoder = make_transformer_encoder(str(tiny_bert), pooling=pooling)
        # Padded by the longer phrase of the batch.
        row = encoder.encode(["pleural effusion", "lung lung lung lung lung"])[0]
        assert np.allclose(row, expected / np.linalg.norm(expected), atol=1e-5)


def test_transformer_cuts_long_phrases(transformer: TransformerEncoder) -> None:
    assert transformer.encode(["lung " * 500]).shape == (1, 16)


def test_transformer_saved_folder_may_disappear(
    transformer: TransformerEncoder, tmp_path: Path
) -> None:
    transformer.to_disk(tmp_path / "saved")
    other = TransformerEncoder("no/such-model")
    other.from_disk(tmp_path / "saved")
    for path in sorted((tmp_path / "saved").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    assert np.allclose(other.encode(["lung"]), transformer.encode(["lung"]), atol=1e-6)


def test_transformer_writes_no_pickled_weights(tmp_path: Path) -> None:
    source = make_tiny_bert(tmp_path / "old", safe=False)
    assert not list(source.glob("*.safetensors"))
    encoder = make_transformer_encoder(str(source))
    encoder.to_disk(tmp_path / "saved")
    names = {path.name for path in (tmp_path / "saved" / "model").iterdir()}
    assert "model.safetensors" in names
    assert not {name for name in names if name.endswith((".bin", ".pt", ".pkl"))}
    other = TransformerEncoder("no/such-model")
    other.from_disk(tmp_path / "saved")
    assert np.allclose(other.encode(["lung"]), encoder.encode(["lung"]), atol=1e-6)


def test_transformer_fingerprint_has_the_settings(tiny_bert: Path) -> None:
    mean, cls = (
        make_transformer_encoder(str(tiny_bert), pooling=pooling)
        for pooling in ("mean", "cls")
    )
    batched = make_transformer_encoder(str(tiny_bert), batch_size=7)
    assert mean.fingerprint != cls.fingerprint
    assert mean.fingerprint == batched.fingerprint


def test_transformer_known_calibration_is_for_the_defaults_only(
    monkeypatch: pytest.MonkeyPatch, tiny_bert: Path
) -> None:
    assert DEFAULT_TRANSFORMER in TRANSFORMER_CALIBRATION
    monkeypatch.setitem(TRANSFORMER_CALIBRATION, str(tiny_bert), (0.25, 0.75))
    assert make_transformer_encoder(str(tiny_bert)).calibration == (0.25, 0.75)
    other = make_transformer_encoder(str(tiny_bert), pooling="cls")
    assert other.calibration != (0.25, 0.75)


def test_calibration_pairs_are_well_formed() -> None:
    pairs = calibration_pairs()
    assert len(pairs["unrelated"]) >= 50
    assert len(pairs["synonym"]) >= 50
    for kind in pairs.values():
        assert len(set(kind)) == len(kind)
        assert all(left != right for left, right in kind)


def test_import_and_construction_load_nothing_heavy() -> None:
    # spaCy itself loads torch where it is installed: what counts is what we add.
    code = (
        "import json, spacy, sys; before = set(sys.modules);"
        "import spacy_mcse.encoders as encoders;"
        "encoders.make_static_encoder(); encoders.make_pipeline_vectors_encoder();"
        "encoders.make_transformer_encoder();"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    heavy = ("torch", "transformers", "spacy_transformers", "safetensors")
    added = {name.split(".")[0] for name in json.loads(done.stdout)}
    assert not added & set(heavy)
