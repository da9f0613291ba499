"""The model card of a packaged pipeline: the README.md in its wheel."""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from spacy_mcse.pipelines import DEFAULT_PIPELINE, TRANSFORMER_PIPELINE

# Where PYTHONSAFEPATH is set, a script does not see the module beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent))
from validation_report import part_tables, parts

# Sections of the README that hold for every pipeline.
PERFORMANCE, LIMITS, CITATION = "Performance", "Limits", "Citation"
MAX_ROWS = 40
# How figures were made is told by the file and its command.
SETTINGS = ("options", "seed", "settings")

INSTALL = {
    DEFAULT_PIPELINE: "",
    TRANSFORMER_PIPELINE: (
        "It needs spacy-transformers and torch. pip may take a torch with several GB "
        "of CUDA libraries: where you want none, install a CPU build of torch first."
        "\n\n"
    ),
}
USAGE = """\
```bash
pip install spacy_mcse-{library}-py3-none-any.whl {name}-{version}-py3-none-any.whl
```

{install}```python
import spacy

nlp = spacy.load("{name}")
reference = nlp("Moderate right pleural effusion. No pneumothorax.")
candidate = nlp("Small left pleural effusion. Rib fracture.")
for entity in reference._.clinical_entities:
    print(entity.text, entity._.assertion, entity._.attributes)
score = reference._.mcse(candidate)
print(score.mcse, score.precision, score.recall, score.f1)
```

The weights are in the package: nothing is downloaded, no other pipeline or model \
package is needed. All attributes of entities and scores, and the definition of both \
scores, stand in the README of spacy_mcse, which is in its wheel.
"""
INTENDED = """\
- Reading English chest X-ray reports into findings with assertion, side, severity, \
size and change, and scoring generated reports against their references, in research.
- Measuring and comparing report generators on the same references, with the score's \
signature beside the figure.

Not intended: decisions about patients, triage or billing, de-identification, reports \
in other languages, and other kinds of text (discharge letters, pathology).
"""
OWN_FIGURES = """\
Figures of the validation that were there when the package was built, as in the files \
that are named.
"""
NO_FIGURES = """\
This package was built without figures of the validation (`python -m spacy project \
run validate` writes them; `package` then takes them in).
"""


@dataclass(frozen=True)
class Figures:
    """Figures of one file.

    path (str): The file.
    command (Optional[str]): The command of project.yml that writes it.
    data (Any): Its content.
    """

    path: str
    command: Optional[str]
    data: Any


def model_card(
    meta: dict[str, Any], readme: str, figures: Sequence[Figures], library: str
) -> str:
    """Write the model card.

    meta (dict): The meta of the pipeline, with its parts as `sources`.
    readme (str): The README of the repository.
    figures (Sequence[Figures]): Figures of the validation.
    library (str): Version of spacy_mcse that the pipeline was built with.
    RETURNS (str): Markdown.
    RAISES (ValueError): Where the README lacks a section that belongs in the card.
    """
    name = f"{meta['lang']}_{meta['name']}"
    usage = USAGE.format(
        name=name, version=meta["version"], library=library, install=INSTALL[name]
    )
    blocks = [
        f"# {name} {meta['version']}",
        meta["description"],
        feature_table(name, meta, library),
        "## How to use",
        usage,
        "## Intended use",
        INTENDED,
        "## Parts and licences",
        parts_table(meta["sources"]),
        "The texts of the licences are in LICENSE and LICENSES_SOURCES.",
        "## Figures",
        OWN_FIGURES if figures else NO_FIGURES,
        *(figure_tables(found) for found in figures),
        f"## Benchmarks (measured with {DEFAULT_PIPELINE})",
        section(readme, PERFORMANCE),
        "## Limits",
        section(readme, LIMITS),
        "## Citation",
        citation(readme),
    ]
    return "\n\n".join(block.strip() for block in blocks) + "\n"


def feature_table(name: str, meta: dict[str, Any], library: str) -> str:
    rows = [
        ("Name", f"`{name}`"),
        ("Version", f"`{meta['version']}`"),
        ("spaCy", f"`{meta['spacy_version']}`"),
        ("Built with", f"`spacy-mcse` `{library}`"),
        ("Pipeline", ", ".join(f"`{pipe}`" for pipe in meta["pipeline"])),
        ("License", f"`{meta['license']}`"),
        ("Author", meta["author"]),
    ]
    return table(("Feature", "Description"), rows)


def parts_table(sources: Sequence[dict[str, str]]) -> str:
    rows = [
        (f"[{source['name']}]({source['url']})", source["used"], source["license"])
        for source in sources
    ]
    return table(("Part", "What is used", "Licence"), rows)


def figure_tables(figures: Figures) -> str:
    """The tables of a file of the validation; of another file all its numbers, a row
    for each dict, dicts with like keys in one table."""
    name = Path(figures.path).stem
    if name in parts() and "data" in figures.data:
        return part_tables(name, figures.data)
    command = f"`python -m spacy project run {figures.command}`"
    blocks = [
        f"### `{figures.path}`" + (f", made by {command}" if figures.command else "")
    ]
    by = signature(figures.data)
    if by:
        blocks.append(f"Measured with `{by}`.")
    tables: list[list[tuple[str, dict[str, str]]]] = []
    for row in rows_of(figures.data):
        like = (group for group in tables if is_like(group[0][1], row[1]))
        group = next(like, None)
        if group is None:
            tables.append([row])
        else:
            group.append(row)
    for group in tables:
        keys = list(dict.fromkeys(key for _, numbers in group for key in numbers))
        rows = [
            (path or "all", *(numbers.get(key, "") for key in keys))
            for path, numbers in group
        ]
        blocks.append(table(("", *keys), rows[:MAX_ROWS]))
        if len(rows) > MAX_ROWS:
            blocks.append(f"{len(rows) - MAX_ROWS} more rows are in the file.")
    return "\n\n".join(blocks)


def rows_of(data: Any, path: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    """The numbers of each dict with its path; lists hold single cases: left out."""
    if not isinstance(data, dict):
        return
    shown = {key: value for key, value in data.items() if key not in SETTINGS}
    cells = {key: cell(value) for key, value in shown.items()}
    numbers = {key: value for key, value in cells.items() if value}
    if numbers:
        yield path, numbers
    for key, value in shown.items():
        if key not in numbers:
            yield from rows_of(value, f"{path}, {key}" if path else str(key))


def cell(value: Any) -> str:
    """A number, or one with its count and interval; "" for anything else."""
    if isinstance(value, dict) and "value" in value:
        ends = value.get("interval") or [value.get("low"), value.get("high")]
        low, high = (cell(end) for end in ends)
        count = f" of {value['n']}" if "n" in value else ""
        interval = f" ({low} to {high})" if low and high else ""
        return (cell(value["value"]) or "none") + count + interval
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def is_like(one: dict[str, str], other: dict[str, str]) -> bool:
    return 2 * len(one.keys() & other.keys()) >= len(one.keys() | other.keys())


def signature(data: Any) -> Optional[str]:
    found = (
        data.get("signature") or data.get("pipeline") if isinstance(data, dict) else ""
    )
    return found if isinstance(found, str) and found else None


def section(readme: str, title: str) -> str:
    """A section of the README, its links to files of the repository as plain text."""
    pattern = rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)"
    found = re.search(pattern, readme, re.DOTALL | re.MULTILINE)
    if found is None:
        raise ValueError(f"README.md has no section '## {title}', which the card needs")
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", found[1]).strip()


def citation(readme: str) -> str:
    """The entry for a bibliography; what follows it speaks of the repository."""
    entry, mark, _ = section(readme, CITATION).partition("\n```\n")
    return (
        f"{entry}{mark}\nThe calibrated precision, recall and F1 are not of the paper."
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
