"""The state of a run, kept beside its output so that a killed run can be resumed."""

import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..errors import Errors
from .files import partial_path, to_json
from .rows import Row
from .terminal import UsageError

# What reading a record raises where it is not as it was written.
UNREADABLE = (AttributeError, LookupError, TypeError, ValueError, zlib.error)


class PartialRun:
    """What a run has done so far, in a file beside its output.

    The first line holds what the run depends on, each other line one record. A line
    cut short by a kill is done again.

    output (Path): The output of the run.
    header (dict): What must be equal for a resumed run to give the same output.
    rows (Sequence[Row]): The rows of the input; a record is that of the row in its
        place.
    check (Callable): Reads a record, to find out whether it can be read.
    resume (bool): Go on with the file of an earlier run.
    force (bool): Start over although there is such a file.
    """

    def __init__(
        self,
        output: Path,
        header: dict[str, Any],
        *,
        rows: Sequence[Row],
        check: Callable[[dict[str, Any]], None],
        resume: bool,
        force: bool,
    ) -> None:
        self.path = partial_path(output)
        self.records: list[dict[str, Any]] = []
        kept = 0
        if self.path.exists():
            if resume:
                kept = self._read(header, rows, check)
            elif not force:
                raise UsageError(Errors.E807.format(path=self.path))
        with self._reported():
            self._file: IO[bytes] = self.path.open("r+b" if kept else "wb")
            self._file.truncate(kept)
            self._file.seek(kept)
            if not kept:
                self._write([header])

    def append(self, records: Sequence[dict[str, Any]]) -> None:
        """Add records, safe on disk when this returns."""
        with self._reported():
            self._write(records)
        self.records += records

    def close(self) -> None:
        self._file.close()

    def remove(self) -> None:
        self.close()
        self.path.unlink(missing_ok=True)

    def _write(self, records: Sequence[dict[str, Any]]) -> None:
        lines = "".join(to_json(record) + "\n" for record in records)
        self._file.write(lines.encode("utf8"))
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(
        self,
        header: dict[str, Any],
        rows: Sequence[Row],
        check: Callable[[dict[str, Any]], None],
    ) -> int:
        """Read the complete lines. RETURNS (int): How many bytes they are."""
        lines = self.path.read_bytes().split(b"\n")[:-1]
        if not lines:
            return 0
        try:
            found, *records = [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            raise self._other("format") from None
        for name in header:
            if not isinstance(found, dict) or found.get(name) != header[name]:
                raise self._other(name)
        if not all(isinstance(record, dict) for record in records):
            raise self._other("format")
        places = [(record.get("line"), record.get("id")) for record in records]
        if places != [(row.line, row.id) for row in rows[: len(records)]]:
            raise self._other("set of rows")
        try:
            for record in records:
                check(record)
        except UNREADABLE:
            # The message of the error may quote the record.
            raise self._other("format") from None
        self.records = records
        return sum(len(line) + 1 for line in lines)

    def _other(self, what: str) -> UsageError:
        return UsageError(Errors.E806.format(path=self.path, what=what))

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            problem = error.strerror or type(error).__name__
            message = Errors.E809.format(path=self.path, problem=problem)
            raise UsageError(message) from error
