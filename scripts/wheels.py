"""Build wheels into a folder, from what is installed: no download while building."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Optional

TOOLS = ("build", "setuptools")
# Of wheels of the same content the bytes are the same: no file in them is dated.
EPOCH = "315532800"


def missing_tools() -> Optional[str]:
    """What to do where a tool for building is missing, else None."""
    missing = [name for name in TOOLS if not is_installed(name)]
    if not missing:
        return None
    command = 'pip install "spacy-mcse[package]"'
    return f"Wheels are built with {', '.join(missing)}. Get it with: {command}"


def is_installed(distribution: str) -> bool:
    # Not by an import: a folder `build` of setuptools' would do as a module.
    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True


def build_wheel(source: Path, output: Path, name: str) -> Path:
    """Build the wheel of a source folder; older wheels of the package go.

    source (Path): Folder with a setup.py or pyproject.toml; it is written to.
    output (Path): Folder for the wheel.
    name (str): Name of the package as in the file name of its wheel.
    RETURNS (Path): The wheel.
    RAISES (RuntimeError): With what `python -m build` said where it failed.
    """
    with TemporaryDirectory() as temporary:
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
        done = subprocess.run(
            [*command, "--outdir", temporary, str(source)],
            capture_output=True,
            text=True,
            env={"SOURCE_DATE_EPOCH": EPOCH, **os.environ},
            check=False,
        )
        built = list(Path(temporary).glob(f"{name}-*.whl"))
        if done.returncode or not built:
            raise RuntimeError(f"{done.stdout}\n{done.stderr}".strip())
        output.mkdir(parents=True, exist_ok=True)
        for old in output.glob(f"{name}-*.whl"):
            old.unlink()
        return Path(shutil.move(built[0], output / built[0].name))
