"""Compare measured figures with the recorded ones: exit code 1 where one falls short.

    python scripts/check_figures.py scripts/recorded_figures.json --folder metrics

The record has, for each file of figures, the least value of each figure by its path in
the file: {"pipeline": "en_mcse_cxr_sm", "figures": {"entities.json":
{"data.gold.splits.dev.absent.heads.value": 0.95}}}. Figures of data that were not
measured (data.NAME is not in the file) are passed over, and all where the figures are
those of another pipeline.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

DATA = "data"


class Checked(NamedTuple):
    """A figure beside its recorded value; found is None where it is not there."""

    file: str
    figure: str
    least: float
    found: Optional[float]
    measured: bool

    @property
    def falls_short(self) -> bool:
        return self.measured and (self.found is None or self.found < self.least)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recorded", type=Path, help="JSON file of recorded figures")
    parser.add_argument("--folder", type=Path, default=Path("metrics"))
    parser.add_argument("--output", type=Path, help="JSON file of what was compared")
    parser.add_argument("--pipeline", help="pipeline of the figures (default: any)")
    args = parser.parse_args()
    try:
        record = json.loads(args.recorded.read_text("utf8"))
        recorded = record["figures"]
        if args.pipeline not in (None, record["pipeline"]):
            print(
                f"The recorded figures are of {record['pipeline']}: nothing compared "
                f"for {args.pipeline}"
            )
            recorded = {}
        figures = {
            name: json.loads((args.folder / name).read_text("utf8"))
            for name in recorded
        }
    except (OSError, ValueError, KeyError) as error:
        print(f"No figures to compare: {error}", file=sys.stderr)
        return 1
    checked = list(check(recorded, figures))
    # Those that fall short last, where they are seen.
    for one in sorted(checked, key=lambda one: one.falls_short):
        if one.measured:
            mark = "SHORT" if one.falls_short else "ok   "
            found = "none" if one.found is None else f"{one.found:.4f}"
            print(f"{mark} {found} (least {one.least:.4f}) {one.file} {one.figure}")
    short = [one for one in checked if one.falls_short]
    passed_over = sum(not one.measured for one in checked)
    print(
        f"{len(checked) - passed_over} figures compared, {len(short)} fall short, "
        f"{passed_over} of data that were not measured"
    )
    if args.output:
        rows = [one._asdict() | {"falls_short": one.falls_short} for one in checked]
        args.output.write_text(json.dumps(rows, indent=2) + "\n", "utf8")
    return int(bool(short))


def check(
    recorded: dict[str, dict[str, float]], figures: dict[str, Any]
) -> Iterator[Checked]:
    """Look each recorded figure up.

    recorded (dict): File to path of a figure to its least value.
    figures (dict): File to its content.
    YIELDS (Checked): In the order of the record.
    """
    for file, least in recorded.items():
        measured = set(figures[file].get(DATA, ()))
        for figure, value in least.items():
            parts = figure.split(".")
            there = parts[0] != DATA or parts[1] in measured
            yield Checked(file, figure, value, look_up(figures[file], figure), there)


def look_up(content: Any, path: str) -> Optional[float]:
    """The number at "a.b.c"; None where there is none."""
    for key in path.split("."):
        if not isinstance(content, dict) or key not in content:
            return None
        content = content[key]
    is_number = isinstance(content, (int, float)) and not isinstance(content, bool)
    return float(content) if is_number else None


if __name__ == "__main__":
    sys.exit(main())
