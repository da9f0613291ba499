"""Open-i chest X-ray reports with labels, as JSON lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Union

from ..sections import Section
from .reports import Report
from .source import check_file, member, optional, read_json_lines, shown, typed, wrong

_NEEDED = "'id', 'findings', 'impression', 'gold'"


def read_openi(path: Union[str, Path]) -> Iterator[Report]:
    """Read the reports of `openi_reports.jsonl`, one after the other.

    path (Union[str, Path]): The file, one JSON object in a line with `id`, `findings`
        and `impression`, either of which may be empty; `gold` with 1 (present) or 0 by
        label may be missing.
    YIELDS (Report): `text` is findings and impression with a blank between them.
    RAISES (FileNotFoundError): E801. (ValueError): E841 to E844 with file and line.
    """
    path = check_file(path)
    return _reports(path)


def _reports(path: Path) -> Iterator[Report]:
    for line in read_json_lines(path, f"an object with {_NEEDED}"):
        where = f"{path}, line {line.line}"
        text, sections = "", []
        for name in ("findings", "impression"):
            body = optional(line.value, name, where).strip()
            if body:
                text += " " if text else ""
                sections.append(Section(name, len(text), len(text) + len(body)))
                text += body
        labels = typed(line.value.get("gold") or {}, dict, f"{where} > gold")
        yield Report(
            id=member(line.value, "id", str, where, _NEEDED),
            text=text,
            sections=tuple(sections),
            labels={
                name: _label(value, f"{where} > gold > {name}")
                for name, value in labels.items()
            },
        )


def _label(value: Any, where: str) -> int:
    if value not in (0, 1):
        raise wrong(where, shown(value), "1 (present) or 0")
    return int(value)
