"""Workflow `validate`: entities, report, assets and recorded figures."""

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from weasel.util import load_project_config

from spacy_mcse.pipelines import DEFAULT_PIPELINE
from spacy_mcse.readers.radgraph import AnnotatedReport, Observation

ROOT = Path(__file__).parent.parent
SCRIPTS = ROOT / "scripts"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def entities() -> ModuleType:
    return script("validate_entities")


@pytest.fixture(scope="module")
def checks() -> ModuleType:
    return script("check_figures")


@pytest.fixture(scope="module")
def reports() -> ModuleType:
    return script("validation_report")


def observation(text, words, label, number, *relations):
    start = text.index(words)
    return Observation(str(number), words, label, start, start + len(words), relations)


# Entities


TEXT = "Small left effusion. No edema. Heart size is normal. Fracture."


@pytest.fixture(scope="module")
def annotation() -> AnnotatedReport:
    return AnnotatedReport(
        id="one",
        text=TEXT,
        split="dev",
        entities=(
            observation(TEXT, "Small", "OBS-DP", 1, ("modify", "3")),
            observation(TEXT, "left", "ANAT-DP", 2),
            observation(TEXT, "effusion", "OBS-DP", 3, ("located_at", "2")),
            observation(TEXT, "edema", "OBS-DA", 4),
            observation(TEXT, "Heart size", "ANAT-DP", 5),
            observation(TEXT, "normal", "OBS-DP", 6, ("located_at", "5")),
            observation(TEXT, "Fracture", "OBS-U", 7),
        ),
    )


def test_counts_of_a_report(entities, annotation, nlp) -> None:
    gold = entities.annotated(annotation)
    counts = entities.report_counts(entities.said(nlp(TEXT)), gold)
    assert counts["heads", "present"] == (2, 2)  # effusion, normal
    assert counts["observations", "present"] == (3, 3)
    assert counts["with_anatomy", "present"] == (5, 5)
    assert counts["heads", "absent"] == counts["precision", "absent"] == (1, 1)
    # We call the fracture present, the annotation is in doubt.
    assert counts["heads", "uncertain"] == (0, 1)
    assert counts["precision", "present"] == (2, 3)
    assert counts["exact_recall", "present"][0] >= 1  # "Small left effusion"


def test_a_denial_is_found_as_absent_only(entities, annotation, nlp) -> None:
    gold = entities.annotated(annotation)
    counts = entities.report_counts(entities.said(nlp("Edema. " + TEXT[7:])), gold)
    assert counts["heads", "absent"][1] == 1
    said = entities.said(nlp("The heart is not enlarged."))
    assert {place.assertion for place in said.all} == {"absent"}


def test_shares_have_intervals_and_none_where_nothing_is(entities) -> None:
    rows = [{("heads", "present"): (1, 2)}, {("heads", "present"): (2, 2)}]
    rows = [
        {
            (name, assertion): row.get((name, assertion), (0, 0))
            for name in (
                *entities.SETS,
                *("precision", "exact_recall", "exact_precision"),
            )
            for assertion in ("present", "absent", "uncertain")
        }
        for row in rows
    ]
    found = entities.figures(rows, seed=0)
    assert found["present"]["heads"] == {"value": 0.75, "n": 4, "interval": [0.5, 1.0]}
    assert found["absent"]["heads"] == {"value": None, "n": 0, "interval": None}
    assert "| dev | 2 | present | 0.750 of 4 |" in entities.table({"dev": found})


def test_errors_of_the_unseen_half_are_never_shown(tmp_path) -> None:
    file = tmp_path / "radgraph.json"
    entity = {"tokens": "Zzz", "label": "OBS-DP", "start_ix": 0, "end_ix": 0}
    report = {"text": "Zzz .", "entities": {"1": {**entity, "relations": []}}}
    content = {split: {**report, "data_split": split} for split in ("dev", "unseen")}
    file.write_text(json.dumps(content), "utf8")
    name = SCRIPTS / "validate_entities.py"
    command = [sys.executable, str(name), f"own={file}", "none=", "--show", "9"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "dev missed present" in done.stdout
    assert "unseen missed" not in done.stdout
    assert "| unseen | 1 | present | 0.000 of 1 |" in done.stdout
    done = subprocess.run([*command[:2], "own="], capture_output=True, check=False)
    assert done.returncode == 2


# Recorded figures


def test_figures_are_compared_with_the_recorded_ones(checks) -> None:
    recorded = {"a.json": {"data.gold.f1": 0.5, "data.openi.f1": 0.5, "top": 1}}
    content = {"data": {"gold": {"f1": 0.6}}, "top": 0.9}
    found = list(checks.check(recorded, {"a.json": content}))
    assert [one.falls_short for one in found] == [False, False, True]
    assert [one.measured for one in found] == [True, False, True]
    lost = list(checks.check(recorded, {"a.json": {"data": {"gold": {}}, "top": 1}}))
    assert [one.falls_short for one in lost] == [True, False, False]


@pytest.mark.parametrize(
    ("value", "code"), [(0.9, 0), (0.2, 1), ("much", 1), (None, 1)]
)
def test_a_figure_that_falls_short_ends_with_one(
    checks, tmp_path, monkeypatch, capsys, value, code
) -> None:
    (tmp_path / "record.json").write_text(
        '{"pipeline": "sm", "figures": {"a.json": {"data.gold.f1": 0.5}}}', "utf8"
    )
    figures = {"data": {"gold": {"f1": value}}}
    (tmp_path / "a.json").write_text(json.dumps(figures), "utf8")
    output = tmp_path / "checked.json"
    arguments = [str(tmp_path / "record.json"), "--folder", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["x", *arguments, "--output", str(output)])
    assert checks.main() == code
    assert ("SHORT" in capsys.readouterr().out) == bool(code)
    assert json.loads(output.read_text("utf8"))[0]["falls_short"] == bool(code)
    monkeypatch.setattr(sys, "argv", ["x", *arguments, "--pipeline", "other"])
    assert checks.main() == 0
    assert "nothing compared for other" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["x", *arguments, "--pipeline", "sm"])
    assert checks.main() == code
    (tmp_path / "a.json").unlink()
    assert checks.main() == 1


def test_recorded_figures_cover_the_gold_corpus() -> None:
    record = json.loads((SCRIPTS / "recorded_figures.json").read_text("utf8"))
    recorded = record["figures"]
    assert record["pipeline"] == DEFAULT_PIPELINE
    assert set(recorded) == {"entities.json", "labels.json", "systems.json"}
    paths = {path for figures in recorded.values() for path in figures}
    for assertion in ("present", "absent"):
        for figure in ("heads", "precision"):
            path = f"data.gold.splits.unseen.{assertion}.{figure}.value"
            assert recorded["entities.json"][path] >= 0.9
    assert any(path.startswith("data.openi.") for path in paths)
    assert any(path.startswith("data.generated.") for path in paths)


# Assets


@pytest.fixture
def project(tmp_path) -> Path:
    (tmp_path / "a.txt").write_text("one", "utf8")
    checksum = hashlib.md5(b"one", usedforsecurity=False).hexdigest()
    (tmp_path / "project.yml").write_text(
        f"assets:\n  - dest: a.txt\n    checksum: {checksum}\ncommands: []\n", "utf8"
    )
    return tmp_path


@pytest.mark.parametrize("change", ["none", "changed", "missing"])
def test_assets_are_verified(project, change, monkeypatch, capsys) -> None:
    if change == "changed":
        (project / "a.txt").write_text("two", "utf8")
    elif change == "missing":
        (project / "a.txt").unlink()
    monkeypatch.setattr(sys, "argv", ["x", str(project)])
    assert script("check_assets").main() == int(change != "none")
    assert ("a.txt" in capsys.readouterr().err) == (change != "none")


def test_assets_of_this_project_are_as_recorded(monkeypatch) -> None:
    assert load_project_config(ROOT)["assets"]
    monkeypatch.setattr(sys, "argv", ["x", str(ROOT)])
    assert script("check_assets").main() == 0


# Report


def test_report_has_all_parts_and_says_what_is_missing(reports, tmp_path) -> None:
    share = {"value": 0.5, "n": 2, "interval": [0.1, 0.9]}
    names = ("heads", "precision", "observations", "with_anatomy", "exact_recall")
    part = {
        "reports": 3,
        **{
            assertion: dict.fromkeys(names, share)
            for assertion in ("present", "absent", "uncertain")
        },
    }
    found = {
        "data": {"<b>mine</b>": {"splits": {"all": part}}},
        "paper": {"present": 0.75, "absent": 0.76},
        "signature": "mcse:1|x",
    }
    (tmp_path / "entities.json").write_text(json.dumps(found), "utf8")
    blocks = list(reports.report({"entities": found}, tmp_path))
    text = reports.markdown(blocks, tmp_path)
    assert "0.500 of 2 [0.10, 0.90]" in text
    assert "0.76" in text
    assert "labels.json is missing" in text
    assert "invented" in text
    page = reports.html(blocks, tmp_path)
    assert "&lt;b&gt;mine&lt;/b&gt;" in page
    assert "<b>mine" not in page
    assert "<script" not in page
    assert page.count("<table>") == text.count("\n| --- ") == 1


# The workflow


PARTS = ("project.yml", "setup.cfg", "pyproject.toml", "examples", "scripts")


@pytest.mark.slow
def test_workflow_validate_runs_once_and_fails_for_a_broken_figure(tmp_path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    for name in PARTS:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)

    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "spacy", "project", "run", "validate"]
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False
        )

    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    metrics = folder / "metrics"
    assert "gold corpus" in (metrics / "validation.md").read_text("utf8")
    assert "data:image/png" in (metrics / "validation.html").read_text("utf8")
    again = run()
    assert again.returncode == 0
    assert again.stdout.count("Skipping") == 5
    recorded = folder / "scripts" / "recorded_figures.json"
    content = json.loads(recorded.read_text("utf8"))
    path = "data.gold.splits.dev.present.heads.value"
    content["figures"]["entities.json"][path] = 1.5
    recorded.write_text(json.dumps(content), "utf8")
    broken = run()
    assert broken.returncode != 0
    assert "SHORT" in broken.stdout
    (folder / "examples" / "gold" / "labels.csv").write_text("id\n", "utf8")
    assert run().returncode != 0
