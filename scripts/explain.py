"""Print what `python -m spacy mcse score` wrote as JSONL: each score with its parts.

Prints words of the reports: for terminals, not for logs.
"""

import argparse
import json
from pathlib import Path
from typing import Any, Optional


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scores", type=Path, help="JSONL file of scores")
    args = parser.parse_args()
    for line in args.scores.read_text("utf8").splitlines():
        record = json.loads(line)
        if "error" in record:
            print(f"{record['id']}: {record['error']}")
            continue
        numbers = " ".join(
            f"{name} {record[name]:.2f}"
            for name in ("mcse", "precision", "recall", "f1")
        )
        print(" ".join([f"{record['id']}: {numbers}", *record["flags"]]))
        for pair in record["pairs"]:
            both = f"{said(pair['reference'])} | {said(pair['candidate'])}"
            print(f"  {pair['outcome']:12} {pair['credit']:.2f}  {both}")


def said(part: Optional[dict[str, Any]]) -> str:
    """How one report puts a finding: "?" marks an uncertain one, "-" none."""
    if part is None:
        return "-"
    mark = "? " if part["assertion"] == "uncertain" else ""
    return f"{mark}{part['mcse_text']}"


if __name__ == "__main__":
    main()
