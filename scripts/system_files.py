"""References and the candidates of systems: of files, and of the simple systems."""

import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spacy_mcse.cli.rows import read_rows
from spacy_mcse.readers.source import member, read_json_lines

# Where PYTHONSAFEPATH is set, a script does not see the modules beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent))
from simple_systems import simple_systems
from validation import Labelled

# Names that a system of the user may not have.
NAMES = ("gold", "mimic", "openi", "generated")
# Published scores, and whether more is better.
PUBLISHED = {
    "bleu": True,
    "bertscore": True,
    "chexbert_sim": True,
    "radgraph_f1": True,
    "radcliq_v0": False,
    "radcliq_v1": False,
}


class Generated(NamedTuple):
    """A report of a model.

    reference (Labelled): What it should be.
    candidate (str): What the model wrote.
    model (str): Name of the model.
    published (dict): Its published scores.
    """

    reference: Labelled
    candidate: str
    model: str
    published: dict[str, float]


class Data(NamedTuple):
    """References, and for each system by name its candidates in the same order."""

    references: list[str]
    systems: dict[str, list[str]]


def read_generated(path: str, limit: int) -> list[Generated]:
    """Reports of a model with published scores.

    RAISES (FileNotFoundError, ValueError): With the line where something is missing.
    """
    if not path:
        return []
    if not Path(path).is_file():
        raise FileNotFoundError(f"--generated: there is no file '{path}'")
    needed = "'id', 'reference_findings', 'generated_findings', 'published_scores'"
    found = []
    for line in read_json_lines(Path(path), f"an object with {needed}"):
        where = f"{path}, line {line.line}"
        name, reference, candidate = (
            member(line.value, key, str, where, needed)
            for key in ("id", "reference_findings", "generated_findings")
        )
        scores = member(line.value, "published_scores", dict, where, needed)
        names = ", ".join(PUBLISHED)
        values = {
            score: member(scores, score, float, f"{where} > published_scores", names)
            for score in PUBLISHED
        }
        asked = str(line.value.get("context") or "")
        asked = asked.partition("Comparison:")[0].removeprefix("Indication:").strip()
        model = str(line.value.get("model") or "model")
        report = Labelled(name, reference, {}, asked)
        found.append(Generated(report, candidate, model, values))
        if limit and len(found) == limit:
            break
    if len(found) < 2:
        raise ValueError(f"{path}: fewer than two reports")
    return found


def read_systems(options: Sequence[str], limit: int) -> dict[str, Data]:
    """The pairs of each NAME=FILE, by name.

    RAISES (ValueError, UsageError): For a bad option, file or row.
    """
    systems: dict[str, Data] = {}
    for given in options:
        name, _, path = given.partition("=")
        if not name or not path:
            raise ValueError(f"--system: expected NAME=FILE, got '{given}'")
        if name in (*systems, *NAMES):
            raise ValueError(f"--system: the name '{name}' is taken")
        roles = ("reference", "candidate")
        rows = read_rows(Path(path), {role: role for role in ("id", *roles)})
        for row in rows[: limit or None]:
            if row.error:
                raise ValueError(f"{path}: {row.error}")
        one, two = (
            [row.values[role] for row in rows[: limit or None]] for role in roles
        )
        systems[name] = Data(one, {name: two})
    return systems


def build(
    reports: Mapping[str, list[Labelled]],
    generated: Sequence[Generated],
    nlp: Any,
    most: int,
    seed: int,
) -> dict[str, Data]:
    """The simple systems on each set of references, and the model beside them.

    RAISES (ValueError): For fewer than two reports.
    """
    data = {}
    for name, found in reports.items():
        found = drawn(found, most, seed)
        data[name] = Data(texts(found), simple_systems(found, nlp, seed))
    if generated:
        labels = {report.id: report.labels for report in reports.get("openi", ())}
        found = [
            one.reference._replace(labels=labels.get(one.reference.id, {}))
            for one in generated
        ]
        systems = {generated[0].model: [one.candidate for one in generated]}
        systems |= simple_systems(found, nlp, seed)
        data["generated"] = Data(texts(found), systems)
    return data


def texts(reports: Sequence[Labelled]) -> list[str]:
    return [report.text for report in reports]


def drawn(reports: list[Labelled], most: int, seed: int) -> list[Labelled]:
    """At most so many of the reports, in their order."""
    if not most or len(reports) <= most:
        return reports
    numbers = random.Random(seed).sample(range(len(reports)), most)
    return [reports[at] for at in sorted(numbers)]
