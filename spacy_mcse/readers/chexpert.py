"""Tables of the 14 labels of CheXpert: of CheXpert itself, of MIMIC-CXR, and ours.

Irvin et al. 2019; Johnson et al. 2019, `mimic-cxr-2.0.0-chexpert.csv.gz`.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, TextIO, Union

from ..errors import Errors
from .source import check_file, guarded, open_text

CHEXPERT_LABELS = (
    "No Finding",
    "Enlarged Cardiomediastinum",
    "Cardiomegaly",
    "Lung Lesion",
    "Lung Opacity",
    "Edema",
    "Consolidation",
    "Pneumonia",
    "Atelectasis",
    "Pneumothorax",
    "Pleural Effusion",
    "Pleural Other",
    "Fracture",
    "Support Devices",
)
# The radiologists' labels of MIMIC-CXR's test part name it so.
_OTHER_NAMES = {"Airspace Opacity": "Lung Opacity"}
_VALUES = {"": None, "1": 1, "1.0": 1, "0": 0, "0.0": 0, "-1": -1, "-1.0": -1}
_IDS = ("id", "study_id", "Path")


@dataclass(frozen=True)
class LabelRow:
    """The labels of one report.

    id (str): Column `id`; else "s" and `study_id`, as MIMIC-CXR names its files; else
        `Path`.
    labels (dict): Label to 1 (present), 0 (absent), -1 (uncertain) or None (not
        mentioned), in the order of the file.
    """

    id: str
    labels: dict[str, Optional[int]]


def read_labels(path: Union[str, Path]) -> Iterator[LabelRow]:
    """Read a table of labels, one row after the other.

    path (Union[str, Path]): A .csv or .csv.gz file with the 14 labels and a column
        `id`, `study_id` or `Path`; other columns are left out.
    YIELDS (LabelRow): In the order of the file.
    RAISES (FileNotFoundError): E801. (ValueError): E841, E851 to E855 with file and
        line.
    """
    path = check_file(path)
    return _rows(path)


def _rows(path: Path) -> Iterator[LabelRow]:
    with open_text(path) as file:
        yield from guarded(path, _parsed(path, file))


def _parsed(path: Path, file: TextIO) -> Iterator[LabelRow]:
    # Strict: an unclosed quote must not swallow the rows that follow it.
    reader = csv.reader(file, strict=True)
    header: list[str] = []
    name = ""
    labels: list[tuple[int, str]] = []
    while True:
        where = f"{path}, line {reader.line_num + 1}"
        try:
            fields = next(reader, None)
        except csv.Error as error:
            # Messages of the csv module quote delimiters, not fields.
            raise ValueError(
                Errors.E851.format(where=where, problem=str(error).rstrip("."))
            ) from None
        if fields is None:
            break
        if not fields:
            continue
        if not header:
            header = [field.strip() for field in fields]
            name, labels = _columns(header, where)
            continue
        if len(fields) != len(header):
            raise ValueError(
                Errors.E852.format(where=where, found=len(fields), expected=len(header))
            )
        yield LabelRow(
            _id(name, fields[header.index(name)].strip(), where),
            {
                label: _value(fields[at].strip(), header[at], where)
                for at, label in labels
            },
        )
    if not header:
        _columns([], f"{path}, line 1")


def _columns(header: Sequence[str], where: str) -> tuple[str, list[tuple[int, str]]]:
    """The column of the id, and place and label of the columns of labels."""
    names = [_OTHER_NAMES.get(column, column) for column in header]
    missing = [f"'{label}'" for label in CHEXPERT_LABELS if label not in names]
    name = next((name for name in _IDS if name in header), None)
    if name is None:
        missing.insert(0, "of an id")
    if missing or name is None:
        raise ValueError(
            Errors.E853.format(
                where=where,
                missing=", ".join(missing),
                found=len(header),
            )
        )
    return name, [(at, n) for at, n in enumerate(names) if n in CHEXPERT_LABELS]


def _id(column: str, value: str, where: str) -> str:
    if not value:
        raise ValueError(Errors.E855.format(where=where, column=column))
    if column == "study_id" and not value.startswith("s"):
        return f"s{value}"
    return value


def _value(text: str, column: str, where: str) -> Optional[int]:
    if text not in _VALUES:
        got = text if _is_number(text) else f"text of {len(text)} characters"
        raise ValueError(Errors.E854.format(where=where, column=column, got=got))
    return _VALUES[text]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return len(text) <= 20
