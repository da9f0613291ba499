"""PC-094 and PC-095: no word of a report gets out, and nothing needs a network."""

import json
import logging
import os
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import spacy
from conftest import HashEncoder, make_blank
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

import spacy_mcse
from spacy_mcse.corpus import score_corpus
from spacy_mcse.data import read_facts
from spacy_mcse.embedder import attach_similarity

MARKER = "Zyxquorble"
REPORT = (
    f"FINDINGS: {MARKER}: no {MARKER} effusion, mild {MARKER}itis. "
    f"Small left effusion. Dr. {MARKER} was told. ?{MARKER} nodule. "
    f"{MARKER} heart size is normal."
)

# All log levels on, all warnings on; no socket can be made and no name looked up.
USER_SCRIPT = """
import logging
import sys
import warnings

REFUSED = []
NETWORK = ("__new__", "connect", "getaddrinfo", "gethostbyname", "sendto")


def watch(event, args):
    if event.startswith("socket.") and event[7:] in NETWORK:
        REFUSED.append(event)
        raise OSError("the network is cut")


sys.addaudithook(watch)
logging.basicConfig(level=logging.DEBUG, filename=sys.argv[1], force=True)
warnings.simplefilter("always")

import json
import socket

import spacy

import spacy_mcse

try:
    socket.socket()
except OSError:
    tried = REFUSED.copy()
    REFUSED.clear()

REPORT = %(report)r
nlp = spacy_mcse.load()
for name in logging.root.manager.loggerDict:
    logging.getLogger(name).setLevel(logging.DEBUG)
result = spacy_mcse.score(REPORT, REPORT)  # the default, loaded without a name
other = spacy_mcse.score(REPORT, "Left effusion.", nlp=nlp)
corpus = spacy_mcse.score_corpus([REPORT, ""], ["", REPORT], nlp=nlp)
docs = list(nlp.pipe([REPORT, REPORT.upper(), REPORT * 20]))
docs[0].similarity(docs[1])
nlp.get_pipe("mcse_entity_refiner").assess(docs[0], [docs[0][0:4]])
nlp.to_disk(sys.argv[2])
again = spacy.load(sys.argv[2])
same = spacy_mcse.score(REPORT, REPORT, nlp=again)
refused = REFUSED.copy()
errors = {}
for name in ("en_core_sci_md", "en_mcse_cxr_trf"):
    try:
        spacy_mcse.load(name)(REPORT)
        errors[name] = ""
    except (ImportError, OSError) as error:
        errors[name] = str(error)
facts = {
    "tried": tried,
    "refused": refused,
    "f1": [result.f1, other.f1, same.f1],
    "n": corpus.summary.n,
    "errors": errors,
}
with open(sys.argv[3], "w") as file:
    json.dump(facts, file)
"""


@pytest.fixture(scope="module")
def offline(nlp: Language, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A process without a network that scores; what it found and said."""
    folder: Path = tmp_path_factory.mktemp("offline")
    script, log, found = folder / "user.py", folder / "log.txt", folder / "found.json"
    script.write_text(USER_SCRIPT % {"report": REPORT}, "utf8")
    done = subprocess.run(
        [sys.executable, str(script), str(log), str(folder / "saved"), str(found)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "HF_HOME": str(folder / "no_cache")},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(found.read_text("utf8"))
    result["said"] = done.stdout + done.stderr + log.read_text("utf8")
    return result


def test_pc_095_works_without_a_network(offline: dict[str, Any]) -> None:
    """PC-095: loads, scores, saves and loads again with sockets refused."""
    assert offline["tried"]  # sockets really were refused
    assert offline["refused"] == []
    assert offline["f1"][0] == offline["f1"][2] == 1
    assert 0 < offline["f1"][1] < 1
    assert offline["n"] == 2


def test_pc_095_a_missing_model_is_one_line(offline: dict[str, Any]) -> None:
    """PC-095: which says how to get it, or what is allowed."""
    for name, message in offline["errors"].items():
        assert "\n" not in message
        assert MARKER.lower() not in message.lower()
        # Where the model is installed there is no error.
        assert message == "" or "Get it with: " in message or "Allowed: " in message, (
            name
        )


def test_pc_094_a_report_is_neither_printed_nor_logged(offline: dict[str, Any]) -> None:
    """PC-094: not on stdout, not on stderr, not at level DEBUG."""
    assert MARKER.lower() not in offline["said"].lower()


# Errors: what the package says about bad inputs


class _FailingEncoder(HashEncoder):
    def encode(self, texts: Any) -> Any:
        raise RuntimeError("out of memory")


def _blank() -> Language:
    return make_blank()


def _unrefined() -> Doc:
    return spacy.blank("en")(REPORT)


def _refined_only() -> Doc:
    return _blank().get_pipe("mcse_entity_refiner")(_unrefined())


def _joined(nlp: Language) -> Doc:
    return Doc.from_docs([nlp(REPORT), nlp(REPORT)])


def _changed(nlp: Language) -> Doc:
    doc = nlp(REPORT)
    doc.spans["clinical_entities"].append(Span(doc, 0, 1, "FINDING"))
    return doc


def _failing(nlp: Language) -> None:
    failing = _blank()
    failing.get_pipe("mcse_embedder").encoder = _FailingEncoder()
    score_corpus([REPORT], [REPORT + " "], nlp=failing)


def _dropped(nlp: Language) -> None:
    failing = _blank()
    failing.get_pipe("mcse_embedder").encoder = _FailingEncoder()
    failing.get_pipe("mcse_embedder").set_error_handler(lambda *args: None)
    score_corpus([REPORT], [REPORT + " "], nlp=failing)


def _too_long(nlp: Language) -> None:
    short = _blank()
    short.max_length = 20
    spacy_mcse.score(REPORT, REPORT, nlp=short)


BAD: dict[str, Callable[[Language], Any]] = {
    "none": lambda nlp: spacy_mcse.score(REPORT, None, nlp=nlp),  # type: ignore[arg-type]
    "list": lambda nlp: spacy_mcse.score([REPORT], REPORT, nlp=nlp),  # type: ignore[arg-type]
    "bytes": lambda nlp: spacy_mcse.score(REPORT, REPORT.encode(), nlp=nlp),  # type: ignore[arg-type]
    "dict": lambda nlp: score_corpus([{"text": REPORT}], [REPORT], nlp=nlp),
    "nan": lambda nlp: score_corpus([REPORT], [float("nan")], nlp=nlp),
    "bare text": lambda nlp: score_corpus(REPORT, [REPORT], nlp=nlp),
    "bare dict": lambda nlp: score_corpus([REPORT], {REPORT: 1}, nlp=nlp),
    "lengths": lambda nlp: score_corpus([REPORT], [REPORT, REPORT], nlp=nlp),
    "span": lambda nlp: score_corpus([nlp(REPORT)[0:4]], [REPORT], nlp=nlp),
    "mcse of text": lambda nlp: nlp(REPORT)._.mcse(REPORT),
    "similarity to span": lambda nlp: nlp(REPORT).similarity(nlp(REPORT)[0:4]),
    "similarity to token": lambda nlp: nlp(REPORT).similarity(nlp(REPORT)[1]),
    "not refined": lambda nlp: spacy_mcse.score(_unrefined(), REPORT, nlp=nlp),
    "not refined mcse": lambda nlp: nlp(REPORT)._.mcse(_unrefined()),
    "not refined hook": lambda nlp: attach_similarity(_unrefined()).similarity(
        nlp(REPORT)
    ),
    "no vectors": lambda nlp: read_facts(_refined_only()),
    "embedder alone": lambda nlp: nlp.get_pipe("mcse_embedder")(_unrefined()),
    "other pipeline": lambda nlp: nlp(REPORT)._.mcse(_blank()(REPORT)),
    "other pipeline text": lambda nlp: spacy_mcse.score(
        _blank()(REPORT), REPORT, nlp=nlp
    ),
    "joined": lambda nlp: _joined(nlp)._.mcse(nlp(REPORT)),
    "changed": lambda nlp: _changed(nlp)._.mcse(nlp(REPORT)),
    "no components": lambda nlp: spacy_mcse.score(
        REPORT, REPORT, nlp=spacy.blank("en")
    ),
    "encoder fails": _failing,
    "pipeline drops it": _dropped,
    "too long": _too_long,
    "batch size": lambda nlp: score_corpus([REPORT], [REPORT], nlp=nlp, batch_size=0),
    "assess a text": lambda nlp: nlp.get_pipe("mcse_entity_refiner").assess(
        nlp(REPORT), [REPORT]
    ),
    "attach to a text": lambda nlp: attach_similarity(REPORT),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", BAD)
def test_pc_094_no_error_repeats_a_report(
    nlp: Language,
    case: str,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """PC-094: neither the message nor its causes, warnings, output or logs."""
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(Exception) as caught:  # noqa: PT011
            BAD[case](nlp)
    said = "".join(traceback.format_exception(caught.value))
    said += repr(caught.value.args) + "".join(str(w.message) for w in warned)
    out, err = capfd.readouterr()
    assert MARKER.lower() not in (said + out + err + caplog.text).lower()


def test_pc_094_signatures_and_summaries_hold_no_text(nlp: Language) -> None:
    """PC-094: what is printed in papers and logs of users."""
    corpus = score_corpus([REPORT, ""], ["", REPORT], nlp=nlp)
    assert MARKER.lower() not in json.dumps(corpus.summary.to_dict()).lower()
    assert MARKER.lower() not in repr(corpus.summary).lower()


def test_pc_094_a_saved_pipeline_remembers_no_report(tmp_path: Path) -> None:
    """PC-094: the cache of phrases is not saved, nor is anything else of a report."""
    nlp = make_blank()
    nlp.get_pipe("entity_ruler").add_patterns(
        [{"label": "FINDING", "pattern": [{"TEXT": {"REGEX": "^Zyx"}}]}]
    )
    doc = nlp(REPORT)
    assert any(MARKER in e.text for e in doc._.clinical_entities)
    nlp.to_disk(tmp_path)
    folder = tmp_path / "mcse_embedder", tmp_path / "mcse_entity_refiner"
    for path in (p for part in folder for p in part.rglob("*") if p.is_file()):
        assert MARKER.lower().encode() not in path.read_bytes().lower()
    embedder = nlp.get_pipe("mcse_embedder")
    assert embedder.__getstate__()["_cache"] == {}


def test_stored_docs_do_hold_their_text(blank_nlp: Language) -> None:
    """The other side of it: a user who saves Docs saves reports."""
    stored = DocBin(docs=[blank_nlp(f"{MARKER} effusion.")]).to_bytes()
    (doc,) = DocBin().from_bytes(stored).get_docs(blank_nlp.vocab)
    assert MARKER in doc.text
