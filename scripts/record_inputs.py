"""Record what the figures of this project depend on that no command can name as a dep.

The installed package (code, word lists, vectors) and the packages that it works with
are hashed or named by version, files and folders of data are hashed. A command of
project.yml that has the output file among its deps then runs again where one of them
changed. The file is written only where it would be another one.
"""

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Optional

PACKAGE = "spacy_mcse"
DISTRIBUTION = "spacy-mcse"
# Extras whose packages change figures or the files that show them.
EXTRAS = ("", "cxr", "trf", "scispacy", "eval")
# What Python, editors and file managers leave behind is no input.
IGNORED = re.compile(r"__pycache__|\..*|.*\.py[co]|.*~")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="JSON file to write")
    parser.add_argument(
        "data",
        nargs="*",
        help="files, folders and names of installed packages to hash; '' is passed "
        "over, what is missing is null",
    )
    args = parser.parse_args()
    spec = find_spec(PACKAGE)
    if spec is None or not spec.origin:
        print(f"{PACKAGE} is not installed: pip install .", file=sys.stderr)
        return 1
    inputs = {
        "package": hash_of(Path(spec.origin).parent),
        "versions": versions(),
        "data": {name: hash_of(located(name)) for name in args.data if name},
    }
    text = json.dumps(inputs, indent=2) + "\n"
    if args.output.is_file() and args.output.read_text("utf8") == text:
        print(f"Nothing changed: {args.output}")
        return 0
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(text, "utf8")
    print(f"Wrote {args.output}")
    return 0


def located(name: str) -> Path:
    """A file or folder, or the folder of an installed package such as a pipeline."""
    path = Path(name)
    if not path.exists() and name.isidentifier():
        spec = find_spec(name)
        if spec is not None and spec.origin:
            return Path(spec.origin).parent
    return path


def hash_of(path: Path) -> Optional[str]:
    """Hash the names and contents of a file or of all files under a folder."""
    if not path.exists():
        return None
    digest = hashlib.sha256()
    for name, file in sorted(files_of(path)):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{name}\t{content}\n".encode())
    return digest.hexdigest()


def files_of(path: Path) -> Iterator[tuple[str, Path]]:
    """The files with their names in the folder; a file on its own has no name."""
    if path.is_file():
        yield "", path
        return
    for file in path.rglob("*"):
        parts = file.relative_to(path).parts
        if file.is_file() and not any(IGNORED.fullmatch(part) for part in parts):
            yield "/".join(parts), file


def versions() -> dict[str, Optional[str]]:
    """The installed versions of the package and of what it requires, by name."""
    names = {DISTRIBUTION}
    try:
        lines = requires(DISTRIBUTION) or []
    except PackageNotFoundError:  # a bare source tree
        lines = []
    for line in lines:
        name, extra = re.match(r"[\w.-]+", line), re.search(r"extra == .(\w+)", line)
        if name and (extra.group(1) if extra else "") in EXTRAS:
            names.add(name.group().lower())
    return {name: installed(name) for name in sorted(names)}


def installed(name: str) -> Optional[str]:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main())
