"""The model card of a packaged pipeline: the README.md in its wheel."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from spacy_mcse.pipelines import DEFAULT_PIPELINE, TRANSFORMER_PIPELINE

# Sections of the README that hold for every pipeline.
PERFORMANCE, LIMITS, CITATION = "Performance", "Limits", "Citation"
MAX_ROWS = 60

INSTALL = {
    DEFAULT_PIPELINE: "",
    TRANSFORMER_PIPELINE: (
        "It needs spacy-transformers and torch. `pip install torch==2.13.0` first "
        "keeps pip from a newer torch with several GB of CUDA libraries.\n\n"
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
Figures of the validation that were there when the package was built; `key` is the \
place in the file.
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
        *(figure_table(found) for found in figures),
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


def figure_table(figures: Figures) -> str:
    command = f"`python -m spacy project run {figures.command}`"
    made = f", made by {command}" if figures.command else ""
    rows = [(f"`{key}`", number) for key, number in numbers(figures.data)]
    left_out = len(rows) - MAX_ROWS
    more = f"\n\n{left_out} more are in the file." if left_out > 0 else ""
    by = signature(figures.data)
    measured = f"\n\nMeasured with `{by}`." if by else ""
    heading = f"### `{figures.path}`{made}"
    rendered = table(("key", "figure"), rows[:MAX_ROWS])
    return f"{heading}{measured}\n\n{rendered}{more}"


def numbers(data: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The numbers in dicts by their path; lists hold single cases and are left out."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from numbers(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(data, bool) or data is None:
        return
    elif isinstance(data, int):
        yield prefix, str(data)
    elif isinstance(data, float):
        yield prefix, f"{data:.3f}"


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
