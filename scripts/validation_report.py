"""Write the report of the validation, as Markdown and as one HTML page.

    python scripts/validation_report.py metrics --output metrics/validation.md
    python scripts/validation_report.py metrics --output metrics/validation.html

Reads entities.json, labels.json and systems.json with their figures of a folder; a
part whose file is missing is left out and named. The HTML page has its figures within
it, loads nothing and runs no code.
"""

import argparse
import base64
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, Optional

TITLE = "Validation of spacy_mcse"
STYLE = """\
body { font-family: sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
  line-height: 1.45; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; }
th, td { border-bottom: 1px solid #ccc; padding: 0.25rem 0.7rem; text-align: left; }
td + td { font-variant-numeric: tabular-nums; }
img { max-width: 100%; }
code { background: #f3f3f3; }
"""
SCORES = {"mcse": "`mcse`, as published", "f1": "`f1`"}
DATA = {
    "gold": "gold corpus (`examples/gold`)",
    "radgraph": "RadGraph",
    "openi": "OpenI",
    "mimic": "MIMIC-CXR",
    "generated": "generated reports (`openi_generated_moerad.jsonl`)",
}
WAYS = {
    "sequences": "sequences (as the paper)",
    "findings": "findings (positive labels)",
}
ASSERTIONS = ("present", "absent", "uncertain")


class Heading(NamedTuple):
    text: str
    level: int = 2


class Paragraph(NamedTuple):
    text: str


class Table(NamedTuple):
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


class Figure(NamedTuple):
    path: Path
    text: str


Block = Heading | Paragraph | Table | Figure


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the figures")
    parser.add_argument(
        "--output", type=Path, required=True, action="append", help=".md or .html"
    )
    args = parser.parse_args()
    try:
        found = {
            name: json.loads((args.folder / f"{name}.json").read_text("utf8"))
            for name in ("entities", "labels", "systems")
            if (args.folder / f"{name}.json").is_file()
        }
    except ValueError as error:
        print(f"No JSON in {args.folder}: {error}", file=sys.stderr)
        return 1
    blocks = list(report(found, args.folder))
    for output in args.output:
        render = html if output.suffix == ".html" else markdown
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(render(blocks, output.parent), "utf8")
        print(f"Wrote {output}")
    return 0


# Content


def report(found: Mapping[str, Any], folder: Path) -> Iterator[Block]:
    """The blocks of the report, in order."""
    yield Heading(TITLE, 1)
    yield Paragraph(
        "As in Gholipour Picha et al. 2024, sections 4.1, 4.2 and 5, with what the "
        "paper leaves out: precision, the calibrated `f1` beside the published `mcse`, "
        "and systems whose order is known."
    )
    signatures = sorted({part["signature"] for part in found.values()})
    yield Paragraph(f"Signature: {', '.join(f'`{one}`' for one in signatures)}")
    for name, write in parts().items():
        if name in found:
            yield from write(found[name], folder)
        else:
            yield Paragraph(f"{name}.json is missing: this part was not measured.")


def parts() -> dict[str, Callable[[Mapping[str, Any], Path], Iterator[Block]]]:
    """What writes the part of each file, by its name."""
    return {"entities": entities, "labels": labels, "systems": systems}


def part_tables(name: str, found: Mapping[str, Any]) -> str:
    """One part as Markdown for another document: without figures, headings lower."""
    blocks = []
    for block in parts()[name](found, Path()):
        if isinstance(block, Heading):
            blocks.append(block._replace(level=block.level + 1))
        elif not isinstance(block, Figure):
            blocks.append(block)
    return markdown(blocks, Path()).strip()


def entities(found: Mapping[str, Any], folder: Path) -> Iterator[Block]:
    yield Heading("Clinical entities (4.1)")
    paper = found["paper"]
    yield Paragraph(
        "Annotated observations that were found with the same assertion (recall), and "
        "findings, devices and normal statements of ours that the annotation has "
        "(precision); an overlap counts. Intervals are of a bootstrap over reports. "
        f"The paper reports a recall of {paper['present']:.2f} for definitely present "
        f"and {paper['absent']:.2f} for definitely absent entities of RadGraph, "
        "structures among the former. Exact: the whole phrase has the same bounds. "
        "Rules were made with the dev half; the unseen half was only measured. "
        + INVENTED
    )
    heads = ["data", "split", "reports", "assertion", "recall", "precision"]
    heads += ["with describing words", "and with structures", "exact recall"]
    rows = [
        [
            *(DATA.get(name, name), split, str(part["reports"]), assertion),
            *(
                share(part[assertion][key], key in ("heads", "precision"))
                for key in ("heads", "precision", "observations", "with_anatomy")
            ),
            share(part[assertion]["exact_recall"]),
        ]
        for name, data in found["data"].items()
        for split, part in data["splits"].items()
        for assertion in ASSERTIONS
    ]
    yield Table(heads, rows)


def labels(found: Mapping[str, Any], folder: Path) -> Iterator[Block]:
    line, paper = found["line"], found["paper"]
    yield Heading("Two-fold label check (4.2)")
    yield Paragraph(
        "Pairs of reports with the same labels (blue means) should score above pairs "
        "with contrasting ones (orange means). AUC: how often a blue one is above an "
        f"orange one. The paper: {paper['same_below_line']} blue means below "
        f"{line:.2f} and {paper['contrast_above_line']} orange ones above, of "
        f"{paper['label_sequences']} label sequences of MIMIC-CXR. The line is made "
        "for `mcse`, which is seldom under 0.5; `f1` has no such floor and is judged "
        "by order: the share of groups whose blue mean is above their orange one, "
        "empty where no group has both. Way: what two reports must share, all 14 "
        "values or the findings with 1."
    )
    heads = ["data", "way", "score", "groups same / contrast", "pair AUC", "group AUC"]
    heads += ["in order", "mean same", "mean contrast"]
    heads += [f"blue below {line:.2f}", f"orange above {line:.2f}"]
    rows = []
    for name, data in found["data"].items():
        for way, title in WAYS.items():
            part = data.get(way)
            if part is None:
                continue
            for score, label in SCORES.items():
                one = part[score]
                groups = f"{part['same_groups']} / {part['contrast_groups']}"
                rows.append(
                    [
                        *(DATA.get(name, name), title, label, groups),
                        *(
                            number(one[key])
                            for key in ("pair_auc", "group_auc", "in_order")
                        ),
                        *(number(one[key]) for key in ("same_mean", "contrast_mean")),
                        str(one["same_below_line"]),
                        str(one["contrast_above_line"]),
                    ]
                )
    yield Table(heads, rows)
    yield Figure(folder / "labels.png", "Mean scores of groups with the same labels")


def systems(found: Mapping[str, Any], folder: Path) -> Iterator[Block]:
    paper = found["paper"]
    yield Heading("Systems (5)")
    yield Paragraph(
        "BLEU-4 of the corpus beside the mean scores, with 95 % bootstrap intervals. "
        "In the paper: "
        + ", ".join(
            f"{name} BLEU {one['bleu']:.3f}, MCSE {one['mcse']:.2f}"
            for name, one in paper.items()
            if isinstance(one, dict)
        )
        + ". All but the generated reports are made by this project. Reference: the "
        "report itself (`mcse` is 0 where a report has no entity, so its mean is under "
        "1). Reordered: its sentences in another order. Denial planted: one finding "
        "denied. Nearest by labels, by indication: the report of another patient with "
        "the most similar ones. Shuffled: any other report. Always normal: one normal "
        "report for all."
    )
    yield Paragraph(
        "Their order is known, and the second table of each data tells what a score "
        "makes of it: it holds where the interval of the mean difference is above 0 "
        "(for =, within 0.02 of 0), fails where it is below, and is open else."
    )
    for name, data in found["data"].items():
        yield Heading(f"On {DATA.get(name, name)}, {data['references']} references", 3)
        heads = [
            "system",
            "BLEU",
            "MCSE",
            "precision",
            "recall",
            "F1",
            "distinct texts",
        ]
        yield Table(
            heads,
            [
                [
                    system,
                    *(
                        with_interval(one.get(key))
                        for key in ("bleu", "mcse", "precision", "recall", "f1")
                    ),
                    str(one["texts"]),
                ]
                for system, one in sorted(
                    data["systems"].items(), key=lambda item: -item[1]["f1"]["value"]
                )
            ],
        )
        checks = [one["check"] for one in data["order"]["f1"]]
        yield Table(
            ["order", "BLEU", "MCSE", "F1"],
            [
                [check, *(state(data["order"].get(key), at) for key in COMPARED)]
                for at, check in enumerate(checks)
            ],
        )
    published = found.get("published") or {}
    if published.get("correlation"):
        yield Heading("Correlation with published scores of the generated reports", 3)
        yield Paragraph(
            "Spearman's coefficient over reports, with the 95 % interval of a "
            "bootstrap over the few distinct generated texts. RadCliQ is an error: "
            "less is better."
        )
        table = published["correlation"]
        columns = sorted({column for row in table.values() for column in row})
        yield Table(
            ["", *columns],
            [
                [row, *(correlation(table[row].get(column)) for column in columns)]
                for row in ("f1", "mcse", "precision", "recall", "bleu", "bleu_2")
                if row in table
            ],
        )
    yield Figure(folder / "systems.png", "Scores of the systems")


COMPARED = ("bleu", "mcse", "f1")
INVENTED = (
    "The gold corpus is 132 invented reports, annotated by language-model sessions; "
    "no radiologist read it. Its figures cannot be compared with the paper's, which "
    "are of RadGraph."
)


def state(checks: Optional[Sequence[Mapping[str, Any]]], at: int) -> str:
    return checks[at]["state"] if checks else ""


# Numbers


def number(value: Optional[float]) -> str:
    return "" if value is None else f"{value:.3f}"


def share(one: Mapping[str, Any], interval: bool = False) -> str:
    if one["value"] is None:
        return ""
    text = f"{one['value']:.3f} of {one['n']}"
    if interval:
        low, high = one["interval"]
        text += f" [{low:.2f}, {high:.2f}]"
    return text


def with_interval(one: Optional[Mapping[str, float]]) -> str:
    if one is None:  # BLEU, where its library is not installed
        return ""
    return f"{one['value']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"


def correlation(one: Optional[Mapping[str, Any]]) -> str:
    if one is None or one["spearman"]["value"] is None:
        return ""
    found = one["spearman"]
    low, high = found.get("by_text") or (found["low"], found["high"])
    return f"{found['value']:.2f} [{low:.2f}, {high:.2f}]"


# Rendering


def markdown(blocks: Iterable[Block], folder: Path) -> str:
    """The report as Markdown; figures by their path from the folder of the file."""
    parts = []
    for block in blocks:
        if isinstance(block, Heading):
            parts.append(f"{'#' * block.level} {block.text}")
        elif isinstance(block, Paragraph):
            parts.append(block.text)
        elif isinstance(block, Table):
            rows = [block.heads, ["---"] * len(block.heads), *block.rows]
            cells = (" | ".join(cell.replace("|", r"\|") for cell in r) for r in rows)
            parts.append("\n".join(f"| {row} |" for row in cells))
        elif block.path.is_file():
            shown = block.path.name if block.path.parent == folder else block.path
            parts.append(f"![{block.text}]({shown})")
    return "\n\n".join(parts) + "\n"


def html(blocks: Iterable[Block], folder: Path) -> str:
    """The report as one page; all that is shown is escaped."""
    parts = []
    for block in blocks:
        if isinstance(block, Heading):
            parts.append(f"<h{block.level}>{inline(block.text)}</h{block.level}>")
        elif isinstance(block, Paragraph):
            parts.append(f"<p>{inline(block.text)}</p>")
        elif isinstance(block, Table):
            head = "".join(f"<th>{inline(cell)}</th>" for cell in block.heads)
            body = "\n".join(
                "<tr>" + "".join(f"<td>{inline(cell)}</td>" for cell in row) + "</tr>"
                for row in block.rows
            )
            parts.append(
                f"<table>\n<thead><tr>{head}</tr></thead>\n"
                f"<tbody>\n{body}\n</tbody>\n</table>"
            )
        elif block.path.is_file():
            data = base64.b64encode(block.path.read_bytes()).decode("ascii")
            parts.append(
                f'<p><img alt="{escape(block.text)}" '
                f'src="data:image/png;base64,{data}"></p>'
            )
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(TITLE)}</title>\n<style>\n{STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def inline(text: str) -> str:
    """Escaped, with `code` marked up."""
    parts = escape(text).split("`")
    return "".join(
        f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts)
    )


if __name__ == "__main__":
    sys.exit(main())
