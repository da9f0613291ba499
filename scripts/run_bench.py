"""Run every bench script of a folder and collect the JSON line each one ends with.

A bench script prints one JSON object as its last line and takes `--data` and `--limit`.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench", help="folder with the scripts; '' does nothing")
    parser.add_argument("--data", default="", help="folder with the data")
    parser.add_argument("--limit", type=int, default=0, help="records to use (0: all)")
    parser.add_argument("--output", type=Path, required=True, help="JSON file")
    args = parser.parse_args()
    if not args.bench:
        print("Skipped: no folder of bench scripts. Set it with --vars.bench FOLDER.")
        return 0
    folder = Path(args.bench).resolve()
    scripts = [path for path in sorted(folder.glob("*.py")) if is_script(path)]
    if not scripts:
        print(f"No bench scripts in {folder}.", file=sys.stderr)
        return 2
    options = ["--data", str(Path(args.data).resolve())] if args.data else []
    options += ["--limit", str(args.limit)]
    figures: dict[str, Any] = {}
    for path in scripts:
        figures[path.stem] = run(path, options)
        print(json.dumps({path.stem: figures[path.stem]}), flush=True)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(figures, indent=2) + "\n", "utf8")
    return int(any("error" in found for found in figures.values()))


def is_script(path: Path) -> bool:
    return "__main__" in path.read_text("utf8")


def run(path: Path, options: list[str]) -> dict[str, Any]:
    """The figures of one script, or {"error": ...} where it fails."""
    # Where PYTHONSAFEPATH is set, a script does not see the modules beside it.
    environment = {**os.environ, "PYTHONPATH": str(path.parent)}
    done = subprocess.run(
        [sys.executable, str(path), *options],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"error": f"exit code {done.returncode}"}
    try:
        found = json.loads(lines[-1])
    except ValueError:
        return {"error": "the last line is no JSON"}
    return found if isinstance(found, dict) else {"error": "no JSON object"}


if __name__ == "__main__":
    sys.exit(main())
