"""Rebuild radgraph.json from annotations.tsv and the reports kept in radgraph.json.

Run from anywhere: ``python examples/gold/build.py``. Character offsets of the
annotation count in the report as written; the token indexes of the JSON are inclusive.
"""

import csv
import hashlib
import json
import re
from pathlib import Path

HERE = Path(__file__).parent
TOKEN = re.compile(r"[/,:;.!?()<>=+#]|[^\s/,:;.!?()<>=+#]+")


def split_of(report_id: str) -> str:
    """The last hexadecimal digit of the id's sha256: even is dev, odd is unseen."""
    last = hashlib.sha256(report_id.encode()).hexdigest()[-1]
    return "unseen" if int(last, 16) % 2 else "dev"


def entities(report: str, rows: list[dict[str, str]]) -> dict[str, dict]:
    tokens = [(m.start(), m.end(), m.group()) for m in TOKEN.finditer(report)]
    starts = {start: i for i, (start, _, _) in enumerate(tokens)}
    ends = {end: i for i, (_, end, _) in enumerate(tokens)}
    out = {}
    for row in rows:
        first, last = starts[int(row["start"])], ends[int(row["end"])]
        relations = [r.split(">") for r in row["relations"].split(";") if r]
        out[row["number"]] = {
            "tokens": " ".join(t for _, _, t in tokens[first : last + 1]),
            "label": row["label"],
            "start_ix": first,
            "end_ix": last,
            "relations": relations,
        }
    return out


def build() -> dict[str, dict]:
    reports = json.loads((HERE / "radgraph.json").read_text(encoding="utf-8"))
    with (HERE / "annotations.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {
        report_id: {
            "text": " ".join(TOKEN.findall(kept["report"])),
            "entities": entities(
                kept["report"], [r for r in rows if r["id"] == report_id]
            ),
            "data_source": "spacy_mcse gold",
            "data_split": split_of(report_id),
            "style": kept["style"],
            "report": kept["report"],
        }
        for report_id, kept in reports.items()
    }


if __name__ == "__main__":
    text = json.dumps(build(), ensure_ascii=False, indent=1)
    (HERE / "radgraph.json").write_text(text + "\n", encoding="utf-8")
