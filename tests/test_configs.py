"""The configs of the repository: that they parse, name what exists, and assemble."""

import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.util import load_config, registry

import spacy_mcse

ROOT = Path(__file__).parent.parent
CONFIGS = sorted((ROOT / "configs").glob("*.cfg"))
ENCODERS = {
    "own_ner": "StaticEncoder",
    "paper": "TransformerEncoder",
    "paper_code": "PipelineVectorsEncoder",
    "scibert": "TransformerEncoder",
    "scispacy": "PipelineVectorsEncoder",
    "trained_ner": "StaticEncoder",
}
# Recognizers to train: no components of ours.
TRAINED = {"ner_cnn", "ner_trf"}
REPORT = "Small left effusion. Mild cardiomegaly. No pneumothorax."


def assemble(name: str, folder: Path, *options: str) -> Language:
    """The pipeline as a user gets it: saved by one process, loaded by another."""
    config = str(ROOT / "configs" / f"{name}.cfg")
    done = subprocess.run(
        [sys.executable, "-m", "spacy", "assemble", config, str(folder), *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return spacy.load(folder)


def test_each_config_has_an_expectation():
    assert {path.stem for path in CONFIGS} == set(ENCODERS) | TRAINED


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_config_names_what_exists(path):
    spacy.blank("en")  # imports all factories
    config = load_config(path, interpolate=True)
    components = config["components"]
    assert set(components) == set(config["nlp"]["pipeline"])
    for name in ("mcse_entity_source", "mcse_entity_refiner", "mcse_embedder"):
        settings = dict(components.get(name, {"factory": name}))
        assert settings.pop("factory") == name
        assert set(settings) <= set(Language.get_factory_meta(name).default_config)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_encoder_of_a_config_can_be_made(path):
    if path.stem in TRAINED:
        pytest.skip("a recognizer alone")
    block = load_config(path, interpolate=True)["components"]["mcse_embedder"]
    encoder = registry.resolve({"encoder": block["encoder"]})["encoder"]
    assert type(encoder).__name__ == ENCODERS[path.stem]


def test_own_ner_assembles_and_scores(tmp_path):
    nlp = assemble("own_ner", tmp_path / "own_ner")
    doc = nlp(REPORT)
    assert [(e.text, e._.assertion) for e in doc._.clinical_entities] == [
        ("Small left effusion", "present"),
        ("Mild cardiomegaly", "present"),
        ("pneumothorax", "absent"),
    ]
    assert doc.similarity(nlp(REPORT)) == 1.0
    worse = spacy_mcse.score(REPORT, "Small right effusion.", nlp=nlp)
    assert 0 < worse.f1 < 0.5
