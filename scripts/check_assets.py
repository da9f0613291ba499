"""Verify the assets of a spaCy project: exit code 1 where one is missing or changed.

`python -m spacy project assets` prints a mismatch of a checked-in file and ends with 0.
"""

import argparse
import hashlib
import sys
from pathlib import Path

from weasel.util import load_project_config


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("project", type=Path, nargs="?", default=Path())
    folder = parser.parse_args().project
    assets = load_project_config(folder).get("assets", [])
    problems = []
    for asset in assets:
        path = folder / asset["dest"]
        if not path.is_file():
            problems.append(f"{asset['dest']} is missing")
            continue
        found = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
        if found != asset["checksum"]:
            problems.append(
                f"{asset['dest']} has MD5 {found}, project.yml says {asset['checksum']}"
            )
    for problem in problems:
        print(f"Asset: {problem}", file=sys.stderr)
    if problems:
        print(
            "Get them back (git checkout), or write the new checksum where the change "
            "is meant.",
            file=sys.stderr,
        )
        return 1
    print(f"{len(assets)} assets as in project.yml")
    return 0


if __name__ == "__main__":
    sys.exit(main())
