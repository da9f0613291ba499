"""A report with its sections, as the readers of plain reports give it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional

from ..sections import Section

_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_LIST_MARK = re.compile(r"(?:\d{1,2}[.)]|[-*\u2022])(?=\s)")


@dataclass(frozen=True)
class Report:
    """A report and its sections.

    id (str): The id of the report.
    text (str): The whole text as it stands in the file.
    sections (tuple): Name of each section and the range of its body, in order; '' in
        front of the first heading.
    labels (dict): Labels of the report by name: 1 present, 0 absent, -1 uncertain,
        None not mentioned; empty where the data has none.
    """

    id: str
    text: str
    sections: tuple[Section, ...]
    labels: Mapping[str, Optional[int]] = field(default_factory=dict)

    @property
    def findings(self) -> str:
        """The findings without the line breaks of a page; '' where there are none."""
        return self.section("findings")

    @property
    def impression(self) -> str:
        """The impression without the line breaks of a page; '' where there is none."""
        return self.section("impression")

    def section(self, name: str) -> str:
        """The text of all sections of a name, each paragraph and list item a line."""
        bodies = (
            unwrap(self.text[section.start_char : section.end_char])
            for section in self.sections
            if section.name == name
        )
        return "\n".join(body for body in bodies if body)


def unwrap(text: str) -> str:
    """Take line breaks and indents of a page out of a text.

    text (str): The text. A blank line ends a paragraph, and "1." or "-" at the start of
        a line begins an item of a list.
    RETURNS (str): One line for each paragraph and item.
    """
    lines: list[str] = []
    for paragraph in _BLANK_LINE.split(text.replace("\r\n", "\n")):
        begins = True
        for raw in paragraph.split("\n"):
            line = " ".join(raw.split())
            if not line:
                continue
            if begins or _LIST_MARK.match(line):
                lines.append(line)
            else:
                lines[-1] += f" {line}"
            begins = False
    return "\n".join(lines)
