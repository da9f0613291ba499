"""Build the wheel of spacy_mcse itself from the sources beside this folder.

The package is not on PyPI: with this wheel beside those of the pipelines,
`pip install packages/*.whl` works in an empty environment.
"""

import argparse
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

# Where PYTHONSAFEPATH is set, a script does not see the modules beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent))
from wheels import build_wheel, missing_tools

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("pyproject.toml", "setup.cfg", "README.md", "LICENSE", "LICENSES")
PACKAGE = "spacy_mcse"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="folder for the wheel")
    args = parser.parse_args()
    problem = missing_tools()
    absent = [name for name in (*PARTS, PACKAGE) if not (ROOT / name).exists()]
    if absent:
        problem = f"The sources are not complete, missing: {', '.join(absent)}"
    if problem:
        print(problem, file=sys.stderr)
        return 1
    with TemporaryDirectory() as temporary:
        # A copy: what an earlier build left in the sources would get into the wheel.
        source = Path(temporary)
        for name in PARTS:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, source / name)
        unwanted = shutil.ignore_patterns("__pycache__", ".*")
        shutil.copytree(ROOT / PACKAGE, source / PACKAGE, ignore=unwanted)
        try:
            wheel = build_wheel(source, args.output, PACKAGE)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 1
    print(f"Built {wheel}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
