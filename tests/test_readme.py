"""The README: its code runs, its output is real, its tables are complete."""

import re
import runpy
import shlex
import shutil
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest
import spacy
from confection import Config
from spacy.cli import app as spacy_app
from spacy.language import Language
from spacy.util import registry
from typer.testing import CliRunner

from spacy_mcse.cli import app
from spacy_mcse.corpus import CorpusScore, CorpusSummary
from spacy_mcse.extensions import DOC_GETTERS, SPAN_GETTERS
from spacy_mcse.results import MCSEScore, Pair
from spacy_mcse.settings import ScoreSettings
from spacy_mcse.vocabulary import COLUMNS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf8")
FACTORIES = (
    "mcse_entity_source",
    "mcse_entity_refiner",
    "mcse_entity_collector",
    "mcse_embedder",
)
RUN_IN = ("examples", "configs", "scripts")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands() -> list[str]:
    """Each command of the shell blocks, in order."""
    lines = "".join(blocks("bash")).replace("\\\n", " ").splitlines()
    return [part.strip() for line in lines for part in line.split("&&") if part]


def described(name: str) -> bool:
    """Whether a row of a table begins with the name."""
    return (
        re.search(rf"^\| [^|]*`[^`|]*\b{re.escape(name)}\b", README, re.M) is not None
    )


def test_python_blocks_print_what_the_readme_shows():
    render = runpy.run_path(str(ROOT / "scripts" / "update_readme.py"))["render"]
    assert render(README) == README


def test_readme_is_short():
    assert len(README.splitlines()) < 300


def test_shell_commands_run(tmp_path, monkeypatch, capsys):
    for name in RUN_IN:
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    ran = []
    for command in commands():
        words = shlex.split(command)
        if words[:3] == ["python", "-m", "spacy"]:
            result = CliRunner().invoke(spacy_app, words[3:])
            assert result.exit_code == 0, f"{command}\n{result.output}"
        elif words[0] == "python":
            monkeypatch.setattr(sys, "argv", words[1:])
            runpy.run_path(words[1], run_name="__main__")
        else:
            # Installing and the tests themselves.
            assert words[0] in ("pip", "pytest")
            continue
        ran.append(words)
    assert len(ran) >= 5
    assert (tmp_path / "scores.jsonl").is_file()
    assert "contradicted" in capsys.readouterr().out


def test_extras_exist():
    wanted = re.findall(r"\.\[(\w+)\]", README)
    assert {"cxr", "test"} <= set(wanted)
    assert set(wanted) <= set(metadata("spacy-mcse").get_all("Provides-Extra"))


def test_ci_runs_the_second_command():
    lines = (ROOT / ".ci" / "run").read_text("utf8").splitlines()
    first = commands().index('pip install ".[test]"')
    install, test = commands()[first : first + 2]
    assert test == "pytest"
    # The checks in between come first, so that the last line is that of pytest.
    assert install in lines
    assert lines[-1] == test


def test_relative_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert "://" in target or (ROOT / target).exists(), target


@pytest.mark.parametrize("text", blocks("ini"))
def test_config_blocks_are_valid(text):
    spacy.blank("en")  # imports all factories
    components = Config().from_str("[components]\n" + text)["components"]
    for settings in components.values():
        meta = Language.get_factory_meta(settings["factory"])
        assert set(settings) - {"factory"} <= set(meta.default_config)
        if "encoder" in settings:
            registry.resolve({"encoder": settings["encoder"]})


@pytest.mark.parametrize("factory", FACTORIES)
def test_all_settings_are_described(factory):
    spacy.blank("en")
    names = Language.get_factory_meta(factory).default_config
    assert [name for name in names if not described(name)] == []


def test_all_word_lists_are_described_with_their_columns():
    text = (ROOT / "spacy_mcse" / "lexicons" / "README.md").read_text("utf8")
    _, _, table = text.partition("| List | Columns |")
    rows = [line.split("|") for line in table.partition("\n\n")[0].splitlines()[2:]]
    found = {}
    for _, lists, columns, *_ in rows:
        for name in re.findall(r"`(\w+)`", lists):
            found[name] = re.findall(r"`(\w+)`", columns)
    assert set(found) == set(COLUMNS)
    for name, columns in COLUMNS.items():
        shown = [column for column in found[name] if column in columns]
        assert shown == list(columns), name


@pytest.mark.parametrize("kind", [MCSEScore, Pair, CorpusScore, CorpusSummary])
def test_all_fields_of_scores_are_described(kind):
    names = kind.__dataclass_fields__
    assert [name for name in names if not described(name)] == []


def test_all_attributes_and_scoring_settings_are_named():
    names = [*DOC_GETTERS, *SPAN_GETTERS]
    assert [name for name in names if not described(name)] == []
    kinds = {
        name.removesuffix("_missing").removesuffix("_wrong")
        for name in ScoreSettings.__dataclass_fields__
    }
    assert [kind for kind in kinds if f"`{kind}" not in README] == []


def test_all_commands_are_described():
    names = [command.name for command in app.registered_commands]
    assert [name for name in names if not described(name)] == []
