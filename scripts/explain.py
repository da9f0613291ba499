"""Print what `python -m spacy mcse score` wrote as JSONL: each score with its parts.

Prints words of the reports: for terminals, not for logs.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Optional


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scores", type=Path, help="JSONL file of scores")
    args = parser.parse_args()
    try:
        records = [
            json.loads(line) for line in args.scores.read_text("utf8").splitlines()
        ]
    except (OSError, ValueError):  # no such file, no UTF-8, no JSON
        sys.exit(f"{args.scores} is no JSONL file that `score` wrote.")
    if any("pairs" not in record and "error" not in record for record in records):
        sys.exit(
            f"{args.scores} has no scores. Write it with `score --output X.jsonl`."
        )
    print('Outcome, credit, reference | candidate; "?" uncertain, "-" not said.')
    for record in records:
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
            why = f"  ({'; '.join(found)})" if (found := differences(pair)) else ""
            print(f"  {pair['outcome']:12} {pair['credit']:.2f}  {both}{why}")


def differences(pair: dict[str, Any]) -> list[str]:
    """What lowers the credit of a partial match: "side left / right"."""
    if pair["outcome"] != "partial":
        return []
    one, other = pair["reference"], pair["candidate"]
    found = []
    if one["concept"] != other["concept"]:
        found.append(f"another finding, similarity {pair['similarity']:.2f}")
    if one["assertion"] != other["assertion"]:
        found.append(f"{one['assertion']} / {other['assertion']}")
    for kind in sorted({*one["attributes"], *other["attributes"]}):
        values = [", ".join(part["attributes"].get(kind, "-")) for part in (one, other)]
        if values[0] != values[1]:
            found.append(f"{kind} {values[0]} / {values[1]}")
    return found


def said(part: Optional[dict[str, Any]]) -> str:
    """How one report puts a finding: "?" marks an uncertain one, "-" none."""
    if part is None:
        return "-"
    mark = "? " if part["assertion"] == "uncertain" else ""
    return f"{mark}{part['mcse_text']}"


if __name__ == "__main__":
    main()
