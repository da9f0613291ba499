"""What the commands share: rows in, records out, messages and exit codes.

Errors name files, lines and columns, never the text of a report.
"""

import csv
import hashlib
import json
import logging
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn, Optional

import typer
from spacy.language import Language
from spacy.tokens import Doc
from wasabi.util import ICONS, MESSAGES, locale_escape

from ..corpus import check_processes
from ..errors import Errors

TABLES = {".csv": ",", ".tsv": "\t"}
INPUTS = (".csv", ".tsv", ".jsonl", ".parquet")
ENGINES = ("serial", "ray")
FAILED, WRONG_USAGE, INTERRUPTED = 1, 2, 130
# Failed rows that are listed on the terminal; files list all.
MAX_LISTED = 100

logger = logging.getLogger(__name__)


class UsageError(ValueError):
    """Wrong usage or unreadable input: exit code 2 and nothing written."""


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


# Terminal


def fail(error: Exception) -> NoReturn:
    """Print an error and end with exit code 2."""
    _say(MESSAGES.FAIL, str(error), typer.colors.RED, err=True)
    raise typer.Exit(WRONG_USAGE)


def warn(text: str) -> None:
    _say(MESSAGES.WARN, text, typer.colors.YELLOW, err=True)


def good(text: str) -> None:
    _say(MESSAGES.GOOD, text, typer.colors.GREEN, err=False)


def _say(kind: str, text: str, color: str, err: bool) -> None:
    # As wasabi prints it, but not wrapped: paths and commands are there to be copied.
    icon = str(locale_escape(ICONS[kind]))
    typer.secho(f"{icon} {text}", fg=color, err=err)


def list_failed(records: Sequence[Mapping[str, Any]]) -> int:
    """Print the rows that failed. RETURNS (int): The exit code, 0 or 1."""
    failed = [record for record in records if "error" in record]
    if not failed:
        return 0
    warn(f"{len(failed)} of {len(records)} rows failed:")
    for record in failed[:MAX_LISTED]:
        typer.echo(f"  {record['error']}", err=True)
    if len(failed) > MAX_LISTED:
        typer.echo(f"  and {len(failed) - MAX_LISTED} more", err=True)
    return FAILED


@contextmanager
def exit_codes(hint: str) -> Iterator[None]:
    """Turn errors of usage, and an interrupt, into a line and an exit code."""
    try:
        yield
    except UsageError as error:
        fail(error)
    except KeyboardInterrupt:
        warn(hint)
        raise typer.Exit(INTERRUPTED) from None


def load_pipeline(name: str) -> Language:
    """Load the pipeline of a command; a Doc that fails is left out and logged."""
    from ..pipelines import load

    try:
        nlp: Language = load(name)
    except (ValueError, OSError, ImportError) as error:
        raise UsageError(str(error)) from error
    # Not `nlp.set_error_handler`: the parser and the recognizer of spaCy 3.8 have no
    # place for a handler, and it stops at the first of them.
    nlp.default_error_handler = drop_failed
    for _, component in nlp.pipeline:
        if hasattr(component, "set_error_handler"):
            with suppress(AttributeError):
                component.set_error_handler(drop_failed)
    return nlp


def drop_failed(name: str, component: Any, docs: list[Doc], error: Exception) -> None:
    """Error handler for `nlp.pipe`: the row fails, the run goes on.

    The error is named by type only: its message may quote the report.
    """
    kind = type(error).__name__
    logger.warning("'%s' failed on %d documents: %s", name, len(docs), kind)


def check_engine(name: str, n_process: int) -> None:
    if name not in ENGINES:
        raise UsageError(Errors.E811.format(name=name, allowed=", ".join(ENGINES)))
    if name == "ray":
        raise UsageError(Errors.E812.format(name=name, package="ray", extra="ray"))
    try:
        check_processes(n_process)
    except ValueError as error:
        raise UsageError(str(error)) from error


# Input


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


def file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read_table(path: Path, columns: Mapping[str, str], delimiter: str) -> list[Row]:
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        problem = f"line {line} is not valid UTF-8"
        raise UsageError(Errors.E801.format(path=path, problem=problem)) from None
    # Strict: an unclosed quote must not swallow the rows that follow it.
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    limit = csv.field_size_limit(sys.maxsize)
    try:
        header = [name.strip() for name in next(reader, [])]
        check_columns(path, columns, header)
        rows: list[Row] = []
        while True:
            line = reader.line_num + 1
            fields = next(reader, None)
            if fields is None:
                return rows
            if not fields:
                continue
            if len(fields) != len(header):
                problem = Errors.E825.format(
                    line=line, expected=len(header), found=len(fields)
                )
                rows.append(
                    _bad_row(
                        line, dict(zip(header, fields, strict=False)), columns, problem
                    )
                )
            else:
                rows.append(_row(line, dict(zip(header, fields, strict=True)), columns))
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
        if error is None and isinstance(value, str) and not _encodes(value):
            error = Errors.E828.format(line=line)
        if error is not None:
            return _bad_row(line, record, columns, error)
    texts = {role: record[name] for role, name in columns.items() if role != "id"}
    return Row(line, record[columns["id"]], texts)


def _bad_row(
    line: int, record: Mapping[str, Any], columns: Mapping[str, str], error: str
) -> Row:
    found = record.get(columns["id"])
    named = isinstance(found, int) or (isinstance(found, str) and _encodes(found))
    return Row(line, found if named else None, error=error)


def _wrong_type(line: int, column: str, value: Any, allowed: str) -> str:
    got = type(value).__name__
    return Errors.E824.format(line=line, column=column, allowed=allowed, got=got)


def _encodes(text: str) -> bool:
    """Whether the text is free of the lone surrogates that JSON lets through."""
    try:
        text.encode("utf8")
    except UnicodeEncodeError:
        return False
    return True


def within(row: Row, columns: Mapping[str, str], max_length: int) -> Row:
    """The row, or a bad row where a text has more characters than allowed."""
    for role, text in row.values.items():
        if len(text) > max_length:
            error = Errors.E826.format(
                line=row.line, column=columns[role], got=len(text), allowed=max_length
            )
            return Row(row.line, row.id, error=error)
    return row


# Output


def check_ending(path: Path, allowed: Sequence[str]) -> str:
    ending = path.suffix.lower()
    if ending not in allowed:
        raise UsageError(Errors.E802.format(path=path, allowed=", ".join(allowed)))
    return ending


def check_outputs(source: Path, outputs: Sequence[Path], force: bool) -> None:
    """Refuse outputs that cannot be written, before any work is done."""
    for path in outputs:
        if path.resolve() == source.resolve():
            raise UsageError(Errors.E810.format(path=path))
        if path.is_dir():
            raise UsageError(Errors.E809.format(path=path, problem="it is a folder"))
        if not path.parent.is_dir():
            problem = "there is no such folder"
            raise UsageError(Errors.E809.format(path=path, problem=problem))
        if path.exists() and not force:
            raise UsageError(Errors.E804.format(path=path))
    if len({path.resolve() for path in outputs}) < len(outputs):
        problem = "two outputs have this name"
        raise UsageError(Errors.E809.format(path=outputs[0], problem=problem))


def import_parquet(path: Path) -> Any:
    """RAISES (UsageError): E805 where pyarrow is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        message = Errors.E805.format(path=path, package="pyarrow", extra="eval")
        raise UsageError(message) from None
    return pyarrow


def to_json(record: Any, indent: Optional[int] = None) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False, indent=indent)


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file under another name and put it in place when it is complete."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        os.replace(temporary, path)
    except OSError as error:
        problem = error.strerror or type(error).__name__
        raise UsageError(Errors.E809.format(path=path, problem=problem)) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    with path.open("w", encoding="utf8", newline="\n") as file:
        file.write(text)


def write_jsonl(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf8", newline="\n") as file:
        for record in records:
            file.write(to_json(record) + "\n")


def write_table(
    path: Path,
    records: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    ending: str,
) -> None:
    """Write some columns of the records as CSV or TSV; what is missing stays empty."""
    with path.open("w", encoding="utf8", newline="") as file:
        writer = csv.writer(file, delimiter=TABLES[ending], lineterminator="\n")
        writer.writerow(columns)
        for record in records:
            writer.writerow([_cell(record.get(name)) for name in columns])


def write_parquet(
    path: Path, records: Sequence[Mapping[str, Any]], columns: Sequence[str]
) -> None:
    pyarrow = import_parquet(path)
    table = {name: [_plain(r.get(name)) for r in records] for name in columns}
    if len({type(value) for value in table["id"] if value is not None}) > 1:
        table["id"] = [None if v is None else str(v) for v in table["id"]]
    # A column without any value has no type of its own.
    for name in ("error", "flags"):
        table[name] = pyarrow.array(table[name], type=pyarrow.string())
    pyarrow.parquet.write_table(pyarrow.table(table), path)


def _plain(value: Any) -> Any:
    return " ".join(value) if isinstance(value, list) else value


def _cell(value: Any) -> Any:
    return "" if value is None else _plain(value)
