"""The packaged word lists and the one reader for all of them.

A list is a UTF-8 `.tsv` file: comment lines start with `#` (among them `# source:`
and `# licence:`), the first other line names the columns, cells that hold several
terms separate them with ` | `.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Optional

from ..errors import Errors

TERM_SEPARATOR = "|"


def read_table(
    name: str, columns: Sequence[str], text: Optional[str] = None
) -> list[dict[str, str]]:
    """Read a word list.

    name (str): Name of the packaged list, without `.tsv`; named in errors.
    columns (Sequence[str]): The columns that the list must have.
    text (Optional[str]): The text of a list to read in place of the packaged one.
    RETURNS (list[dict[str, str]]): One dict per row.
    RAISES (ValueError): E106 with the line number for a malformed list.
    """
    text = _packaged(name) if text is None else text
    rows: list[dict[str, str]] = []
    header: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if not header:
            header = cells
            if header[: len(columns)] != list(columns):
                raise _malformed(name, number, f"found columns {header}", columns)
            continue
        if len(cells) > len(header):
            raise _malformed(name, number, f"{len(cells)} cells", columns)
        cells += [""] * (len(header) - len(cells))
        rows.append(dict(zip(header, cells, strict=True)))
    return rows


def split_terms(cell: str) -> list[str]:
    """The terms of one cell: "effusion | pleural fluid" gives two."""
    return [term.strip() for term in cell.split(TERM_SEPARATOR) if term.strip()]


@cache
def _packaged(name: str) -> str:
    return (files(__package__) / f"{name}.tsv").read_text("utf8")


def _malformed(
    name: str, line: int, problem: str, columns: Sequence[str]
) -> ValueError:
    return ValueError(
        Errors.E106.format(
            name=name, line=line, problem=problem, columns=", ".join(columns)
        )
    )
