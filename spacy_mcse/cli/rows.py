"""Rows of input files: one for each report or pair, bad ones in their place."""

import csv
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, Optional

from ..corpus import is_utf8
from ..errors import Errors
from .files import TABLES, check_ending, import_parquet
from .terminal import UsageError

INPUTS = (".csv", ".tsv", ".jsonl", ".parquet")
# The help of the commands says so.
QUOTES = (
    "Double quotes in .tsv enclose fields as in .csv; where a file makes no sense so, "
    "they are plain characters."
)


# The number of a line and its fields.
_Fields = tuple[int, list[str]]


@dataclass(frozen=True)
class Row:
    """One row of an input file.

    line (int): Line in the file, from 1; for Parquet the number of the row.
    id (Any): The row's id, None where it has none.
    values (dict): Role ("reference") to text; empty for a bad row.
    error (Optional[str]): What is wrong with the row.
    """

    line: int
    id: Any = None
    values: dict[str, str] = field(default_factory=dict)
    error: Optional[str] = None


def read_rows(path: Path, columns: Mapping[str, str]) -> list[Row]:
    """Read all rows of an input file; a bad row keeps its place.

    path (Path): The file; its ending names the format.
    columns (Mapping[str, str]): Role ("id", "reference") to name of the column.
    RETURNS (list[Row]): The rows, in order.
    RAISES (UsageError): For a file that cannot be read, lacks columns or has no rows.
    """
    ending = check_ending(path, INPUTS)
    try:
        if ending == ".parquet":
            rows = _read_parquet(path, columns)
        elif ending == ".jsonl":
            rows = _read_jsonl(path, columns)
        else:
            rows = _read_table(path, columns, TABLES[ending])
    except OSError as error:
        problem = error.strerror or type(error).__name__
        raise UsageError(Errors.E801.format(path=path, problem=problem)) from error
    if not rows:
        raise UsageError(Errors.E808.format(path=path))
    return rows


def duplicate_ids(rows: Sequence[Row]) -> int:
    """How many rows have the id of an earlier row."""
    ids = [row.id for row in rows if row.id is not None]
    return len(ids) - len(set(map(repr, ids)))


def _read_table(path: Path, columns: Mapping[str, str], delimiter: str) -> list[Row]:
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        problem = f"line {line} is not valid UTF-8"
        raise UsageError(Errors.E801.format(path=path, problem=problem)) from None
    header, *lines = _fields(path, text, delimiter) or [(1, [])]
    names = [name.strip() for name in header[1]]
    check_columns(path, columns, names)
    rows: list[Row] = []
    for line, fields in lines:
        record = dict(zip(names, fields, strict=False))
        if len(fields) == len(names):
            rows.append(_row(line, record, columns))
        else:
            problem = Errors.E825.format(
                line=line, expected=len(names), found=len(fields)
            )
            rows.append(_bad_row(line, record, columns, problem))
    return rows


def _fields(path: Path, text: str, delimiter: str) -> list[_Fields]:
    """The lines of a table that are not empty, with their numbers.

    TSV knows no quotes by its own definition, and yet spreadsheets and pandas write
    them. They are read as in CSV, unless that fails, gives more lines of another length
    than reading them as plain characters does, or joins lines that are whole.
    """
    if delimiter != TABLES[".tsv"] or '"' not in text:
        return _split(path, text, delimiter)
    plain = _split(path, text, delimiter, plain=True)
    try:
        quoted = _split(path, text, delimiter)
    except UsageError:
        if '"' in "".join(plain[0][1]):  # a quoted header: then so are the rows
            raise
        return plain
    return min(quoted, plain, key=lambda lines: (_n_ragged(lines), -len(lines)))


def _n_ragged(lines: Sequence[_Fields]) -> int:
    return sum(len(fields) != len(lines[0][1]) for _, fields in lines)


def _split(path: Path, text: str, delimiter: str, plain: bool = False) -> list[_Fields]:
    # Strict: an unclosed quote must not swallow the rows that follow it.
    reader = csv.reader(
        StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL,
        strict=True,
    )
    limit = csv.field_size_limit(sys.maxsize)
    lines: list[_Fields] = []
    try:
        while True:
            line = reader.line_num + 1
            fields = next(reader, None)
            if fields is None:
                return lines
            if fields:
                lines.append((line, fields))
    except csv.Error as error:
        # Messages of the csv module quote delimiters, not fields.
        problem = f"line {reader.line_num}: {error}"
        raise UsageError(Errors.E801.format(path=path, problem=problem)) from None
    finally:
        csv.field_size_limit(limit)


def _read_jsonl(path: Path, columns: Mapping[str, str]) -> list[Row]:
    rows: list[Row] = []
    found: dict[str, None] = {}
    objects = 0
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    # Split as bytes: str.splitlines would also cut at line separators inside strings.
    for line, raw in enumerate(data.split(b"\n"), start=1):
        if not raw.strip():
            continue
        try:
            record = json.loads(raw.decode("utf8"))
        except UnicodeDecodeError:
            rows.append(Row(line, error=Errors.E828.format(line=line)))
            continue
        except (ValueError, RecursionError):
            rows.append(Row(line, error=Errors.E821.format(line=line)))
            continue
        if not isinstance(record, dict):
            got = type(record).__name__
            rows.append(Row(line, error=Errors.E822.format(line=line, got=got)))
            continue
        objects += 1
        found |= dict.fromkeys(record)
        rows.append(_row(line, record, columns))
    if rows and not objects:
        problem = "no line holds a JSON object"
        raise UsageError(Errors.E801.format(path=path, problem=problem))
    if rows:
        check_columns(path, columns, list(found))
    return rows


def _read_parquet(path: Path, columns: Mapping[str, str]) -> list[Row]:
    pyarrow = import_parquet(path)
    try:
        file = pyarrow.parquet.ParquetFile(path)
        check_columns(path, columns, file.schema_arrow.names)
        table = file.read(columns=list(dict.fromkeys(columns.values())))
    except pyarrow.ArrowException as error:
        problem = f"no valid Parquet file ({type(error).__name__})"
        raise UsageError(Errors.E801.format(path=path, problem=problem)) from None
    records = enumerate(table.to_pylist(), start=1)
    return [_row(line, record, columns) for line, record in records]


def check_columns(path: Path, columns: Mapping[str, str], found: Sequence[str]) -> None:
    missing = [name for name in columns.values() if name not in found]
    if missing:
        raise UsageError(
            Errors.E803.format(
                path=path,
                missing=", ".join(f"'{name}'" for name in missing),
                found=", ".join(found) or "none",
                options=", ".join(f"--{role}" for role in columns),
            )
        )
    for name in columns.values():
        if list(found).count(name) > 1:
            problem = f"there are several columns '{name}'"
            raise UsageError(Errors.E801.format(path=path, problem=problem))


def _row(line: int, record: Mapping[str, Any], columns: Mapping[str, str]) -> Row:
    for role, column in columns.items():
        value = record.get(column)
        error = None
        if value is None or (isinstance(value, float) and math.isnan(value)):
            error = Errors.E823.format(line=line, column=column)
        elif role == "id":
            if not isinstance(value, (str, int)) or isinstance(value, bool):
                error = _wrong_type(line, column, value, "a string or whole number")
        elif not isinstance(value, str):
            error = _wrong_type(line, column, value, "a string")
        if error is None and isinstance(value, str) and not is_utf8(value):
            error = Errors.E828.format(line=line)
        if error is not None:
            return _bad_row(line, record, columns, error)
    texts = {role: record[name] for role, name in columns.items() if role != "id"}
    return Row(line, record[columns["id"]], texts)


def _bad_row(
    line: int, record: Mapping[str, Any], columns: Mapping[str, str], error: str
) -> Row:
    found = record.get(columns["id"])
    named = isinstance(found, int) or (isinstance(found, str) and is_utf8(found))
    return Row(line, found if named else None, error=error)


def _wrong_type(line: int, column: str, value: Any, allowed: str) -> str:
    got = type(value).__name__
    return Errors.E824.format(line=line, column=column, allowed=allowed, got=got)


def within(row: Row, columns: Mapping[str, str], max_length: int) -> Row:
    """The row, or a bad row where a text has more characters than allowed."""
    for role, text in row.values.items():
        if len(text) > max_length:
            error = Errors.E826.format(
                line=row.line, column=columns[role], got=len(text), allowed=max_length
            )
            return Row(row.line, row.id, error=error)
    return row
