"""The spaCy project of the repository: `python -m spacy project run ...`."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from weasel.util import load_project_config

ROOT = Path(__file__).parent.parent
PARTS = ("project.yml", "setup.cfg", "pyproject.toml", "examples", "scripts")
BENCH = """\
import argparse
import json
from helper import NAME

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    print("a line before the figures")
    print(json.dumps({"bench": NAME, "limit": args.limit}))
"""


@pytest.fixture
def project(tmp_path):
    """A copy without the source of the package: the project uses the installed one."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name in PARTS:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    return folder


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "spacy", "project", "run", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_commands_are_described_and_their_deps_exist():
    config = load_project_config(ROOT)
    names = [command["name"] for command in config["commands"]]
    assert {"demo", "test", "bench"} <= set(names)
    assert not set(names) & set(config["workflows"])
    assert set(config["workflows"]["all"]) <= set(names)
    written: set[str] = set()
    for command in config["commands"]:
        assert command["help"]
        assert command["deps"]
        for dep in command["deps"]:
            # spaCy hashes all of a folder, compiled files too.
            assert dep in written or (ROOT / dep).is_file(), dep
        written.update(command.get("outputs", []))
        written.update(command.get("outputs_no_cache", []))


def test_demo_scores_and_explains_the_examples(project):
    done = run(project, "demo")
    assert done.returncode == 0, done.stderr
    lines = (project / "metrics" / "demo.jsonl").read_text("utf8").splitlines()
    pairs = (project / "examples" / "pairs.jsonl").read_text("utf8").splitlines()
    ids = [json.loads(line)["id"] for line in pairs]
    assert [json.loads(line)["id"] for line in lines] == ids
    summary = json.loads((project / "metrics" / "demo.json").read_text("utf8"))
    assert summary["n"] == len(ids)
    assert f"{summary['mean']['f1']:.3f}" in done.stdout
    assert all(f"\n{name}: mcse " in done.stdout for name in ids)
    assert "contradicted" in done.stdout


def test_bench_without_a_folder_says_so(project):
    done = run(project, "bench")
    assert done.returncode == 0, done.stderr
    assert "Skipped" in done.stdout
    assert "--vars.bench" in done.stdout
    assert not (project / "metrics" / "bench.json").exists()


def test_bench_collects_the_figures_of_every_script(project, tmp_path):
    bench = tmp_path / "bench"
    bench.mkdir()
    (bench / "helper.py").write_text('NAME = "one"\n')
    (bench / "one.py").write_text(BENCH)
    variables = ("--vars.bench", str(bench), "--vars.n", "7")
    done = run(project, "bench", ".", *variables)
    assert done.returncode == 0, done.stderr
    figures = json.loads((project / "metrics" / "bench.json").read_text("utf8"))
    assert figures == {"one": {"bench": "one", "limit": 7}}
    (bench / "two.py").write_text('if __name__ == "__main__":\n    raise SystemExit(3)')
    done = run(project, "bench", ".", *variables)
    assert done.returncode == 1
    figures = json.loads((project / "metrics" / "bench.json").read_text("utf8"))
    assert figures["two"] == {"error": "exit code 3"}
