"""Entry points, and what an import of the package and a score cost."""

import configparser
import json
import os
import subprocess
import sys
from importlib import import_module
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import pytest
import spacy
from spacy import displacy
from spacy.language import Language
from spacy.util import registry

import spacy_mcse
from spacy_mcse.data import LABELS

ROOT = Path(__file__).parent.parent
HEAVY = (
    "torch",
    "transformers",
    "spacy_transformers",
    "tokenizers",
    "huggingface_hub",
    "matplotlib",
    "ray",
    "pandas",
    "pyarrow",
    "scipy",
    "sklearn",
    "scispacy",
    "negspacy",
)

# What spaCy itself imports where it is installed (thinc takes torch) is not ours.
IMPORTS_SCRIPT = """
import json
import sys

import spacy

HEAVY = %r
before = set(sys.modules)
found = {}


def note(step):
    new = {name.partition(".")[0] for name in set(sys.modules) - before}
    found[step] = sorted(new.intersection(HEAVY))


import spacy_mcse

note("import")
spacy.blank("en")
note("blank")
nlp = spacy_mcse.load()
note("load")
spacy_mcse.score("Mild edema. No effusion.", "Left effusion.", nlp=nlp)
spacy_mcse.score_corpus(["Mild edema."], ["Edema."], nlp=nlp)
note("score")
nlp.to_bytes()
note("to_bytes")
print(json.dumps(found))
"""


def read_entry_points() -> list[tuple[str, str, str]]:
    """Group, name and target of each entry point in setup.cfg."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", "utf8")
    rows = []
    for group, block in parser["options.entry_points"].items():
        for line in block.strip().splitlines():
            name, _, target = line.partition("=")
            rows.append((group, name.strip(), target.strip()))
    return rows


ENTRY_POINTS = read_entry_points()


def load_target(target: str) -> object:
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def test_every_kind_of_entry_point_is_declared() -> None:
    groups = {group for group, _, _ in ENTRY_POINTS}
    assert {
        "spacy_factories",
        "spacy_misc",
        "spacy_tokenizers",
        "spacy_scorers",
        "spacy_readers",
        "spacy_cli",
        "spacy_displacy_colors",
    } <= groups


@pytest.mark.parametrize(
    ("group", "name", "target"), ENTRY_POINTS, ids=[row[1] for row in ENTRY_POINTS]
)
def test_entry_point_resolves(group: str, name: str, target: str) -> None:
    thing = load_target(target)
    spacy.blank("en")  # imports all factories
    if group == "spacy_factories":
        assert Language.has_factory(name)
        # Found by spaCy's own look-up, which knows no more than the entry point.
        assert registry.factories.get(name) is not None
        assert Language.get_factory_meta(name).factory == name
    else:
        found = getattr(registry, group.removeprefix("spacy_")).get(name)
        assert found is thing


def test_installed_entry_points_are_those_of_setup_cfg() -> None:
    installed = {
        (point.group, point.name, point.value)
        for point in distribution("spacy-mcse").entry_points
    }
    assert installed == set(ENTRY_POINTS)


def test_everything_registered_has_an_entry_point() -> None:
    """Else a saved pipeline does not load in a process without an import of ours."""
    declared = {(group, name) for group, name, _ in ENTRY_POINTS}
    assert {name for group, name in declared if group == "spacy_factories"} == {
        name
        for name in Language.factories
        if name.startswith("mcse_") and "stub" not in name
    }
    for kind in ("misc", "tokenizers", "architectures", "scorers", "readers"):
        for name in getattr(registry, kind).get_all():
            if name.startswith("spacy-mcse."):
                assert (f"spacy_{kind}", name) in declared


def test_version_is_that_of_the_distribution() -> None:
    assert spacy_mcse.__version__ == distribution("spacy-mcse").version


def test_core_requirements_are_spacy_and_numpy() -> None:
    required = [
        line
        for line in distribution("spacy-mcse").requires or []
        if "extra" not in line
    ]
    assert sorted(line.split(">")[0].split("<")[0] for line in required) == [
        "numpy",
        "spacy",
    ]


def test_licences_of_what_lists_and_vectors_are_made_from_are_packaged() -> None:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", "utf8")
    patterns = parser["metadata"]["license_files"].split()
    texts = {
        path.name: " ".join(path.read_text("utf8").split())
        for pattern in patterns
        for path in ROOT.glob(pattern)
    }
    assert set(texts) == {
        "LICENSE",
        "Apache-2.0.txt",
        "SCOWL.txt",
        "WordNet-3.0.txt",
    }
    for part in (
        "WordNet 3.0 Copyright 2006 by Princeton University. All rights reserved.",
        'THIS SOFTWARE AND DATABASE IS PROVIDED "AS IS"',
        "LICENSEE agrees to preserve same.",
    ):
        assert part in texts["WordNet-3.0.txt"]
    assert "The collective work is Copyright 2000-2011 by Kevin" in texts["SCOWL.txt"]
    assert "Apache License Version 2.0, January 2004" in texts["Apache-2.0.txt"]


def test_displacy_has_a_colour_for_each_label(blank_nlp: Language) -> None:
    colours = {
        key: value
        for block in registry.displacy_colors.get_all().values()
        for key, value in (block() if callable(block) else block).items()
    }
    assert set(LABELS) <= set(colours)
    doc = blank_nlp("No left effusion, mild edema.")
    html = displacy.render(
        doc, style="span", options={"spans_key": "clinical_entities"}, jupyter=False
    )
    assert colours["FINDING"] in html


def test_nothing_heavy_is_imported(nlp: Language, tmp_path: Path) -> None:
    """Stand-ins are found for what is not installed: even an import in a try counts."""
    if find_spec("spacy_transformers"):
        pytest.skip("spaCy itself imports spacy-transformers, by its entry points")
    for name in HEAVY:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("__version__ = '99.0'\n", "utf8")
    script = tmp_path / "user.py"
    script.write_text(IMPORTS_SCRIPT % (HEAVY,), "utf8")
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found) == ["import", "blank", "load", "score", "to_bytes"]
    assert not any(found.values()), found


def test_spacy_help_lists_mcse() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "spacy", "--help"],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1"},
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.strip(" │|\t").split() for line in done.stdout.splitlines()]
    named = [line for line in lines if line[:1] == ["mcse"]]
    assert len(named) == 1
    assert len(named[0]) > 3  # with a sentence of help
