"""Files of the commands: checks before the work, and whole files afterwards."""

import csv
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from ..errors import Errors
from .terminal import UsageError

TABLES = {".csv": ",", ".tsv": "\t"}


def check_ending(path: Path, allowed: Sequence[str]) -> str:
    ending = path.suffix.lower()
    if ending not in allowed:
        raise UsageError(Errors.E802.format(path=path, allowed=", ".join(allowed)))
    return ending


def partial_path(output: Path) -> Path:
    """The file beside an output that holds the state of its run."""
    return output.with_name(f"{output.name}.partial.jsonl")


def check_outputs(source: Path, outputs: Sequence[Path], force: bool) -> None:
    """Refuse outputs that cannot be written, before any work is done.

    source (Path): The input file.
    outputs (Sequence[Path]): The files to write; the run keeps its state beside the
        first.
    force (bool): Whether existing files may be overwritten.
    RAISES (UsageError): E804, E809, E810.
    """
    state = partial_path(outputs[0])
    for path in (*outputs, state):
        if path.resolve() == source.resolve():
            raise UsageError(Errors.E810.format(path=path))
    for path in outputs:
        if path.resolve() == state.resolve():
            problem = "the run keeps its state in a file of this name"
            raise UsageError(Errors.E809.format(path=path, problem=problem))
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


def file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


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


def check_output(path: Path, force: bool) -> None:
    """Refuse a file that cannot be written. RAISES (UsageError): E804, E809."""
    _check_place(path)
    if path.is_dir():
        raise UsageError(Errors.E809.format(path=path, problem="it is a folder"))
    if path.exists() and not force:
        raise UsageError(Errors.E804.format(path=path))


def check_pipeline_output(path: Path, force: bool) -> None:
    """Refuse a folder that a pipeline cannot be saved as.

    An existing folder is replaced as a whole, so that it may hold nothing but what
    spaCy saves of a pipeline.

    path (Path): The folder.
    force (bool): Whether an existing pipeline may be overwritten.
    RAISES (UsageError): E804, E809.
    """
    _check_place(path)
    if not path.exists():
        return
    if not path.is_dir():
        raise UsageError(Errors.E809.format(path=path, problem="it is a file"))
    if not force:
        raise UsageError(Errors.E804.format(path=path))
    # Some components are saved as a file of their name.
    found = {re.sub(r"\.jsonl?$", "", entry.name) for entry in path.iterdir()}
    if found and not found <= _pipeline_entries(path):
        problem = "it is a folder that holds something else than a saved pipeline"
        raise UsageError(Errors.E809.format(path=path, problem=problem))


def write_folder(path: Path, write: Callable[[Path], None]) -> None:
    """Write a folder under another name and put it in place when it is complete."""
    # Through a link: it stays one.
    path = path.resolve()
    temporary, replaced = (
        path.with_name(f".{path.name}.{os.getpid()}.{ending}")
        for ending in ("tmp", "old")
    )
    try:
        write(temporary)
        if path.exists():
            os.replace(path, replaced)
        os.replace(temporary, path)
    except OSError as error:
        if replaced.exists() and not path.exists():
            os.replace(replaced, path)
        problem = error.strerror or type(error).__name__
        raise UsageError(Errors.E809.format(path=path, problem=problem)) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if path.exists():
            shutil.rmtree(replaced, ignore_errors=True)


def _check_place(path: Path) -> None:
    if not path.resolve().parent.is_dir():
        problem = "there is no such folder"
        raise UsageError(Errors.E809.format(path=path, problem=problem))


def _pipeline_entries(path: Path) -> set[str]:
    """What spaCy saves of the pipeline in a folder; nothing where there is none."""
    try:
        meta = json.loads((path / "meta.json").read_text("utf8"))
        names = {*meta["pipeline"], *meta.get("disabled", ())}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    return {"config.cfg", "meta", "tokenizer", "vocab", *names}


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
    ids = [value for value in table["id"] if value is not None]
    if len(set(map(type, ids))) > 1 or not all(map(fits_64_bits, ids)):
        table["id"] = [None if v is None else str(v) for v in table["id"]]
    # A column without any value has no type of its own.
    for name in ("error", "flags"):
        table[name] = pyarrow.array(table[name], type=pyarrow.string())
    pyarrow.parquet.write_table(pyarrow.table(table), path)


def fits_64_bits(value: Any) -> bool:
    """False for a whole number that binary formats have no place for."""
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _plain(value: Any) -> Any:
    return " ".join(value) if isinstance(value, list) else value


def _cell(value: Any) -> Any:
    return "" if value is None else _plain(value)
