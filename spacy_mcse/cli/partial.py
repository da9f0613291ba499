"""The state of a run, kept beside its output so that a killed run can be resumed."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..errors import Errors
from .files import to_json
from .terminal import UsageError


class PartialRun:
    """What a run has done so far, in a file beside its output.

    The first line holds what the run depends on, each other line one record. A line
    cut short by a kill is done again.

    output (Path): The output of the run.
    header (dict): What must be equal for a resumed run to give the same output.
    resume (bool): Go on with the file of an earlier run.
    force (bool): Start over although there is such a file.
    """

    def __init__(
        self, output: Path, header: dict[str, Any], *, resume: bool, force: bool
    ) -> None:
        self.path = partial_path(output)
        self.records: list[dict[str, Any]] = []
        kept = 0
        if self.path.exists():
            if resume:
                kept = self._read(header)
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

    def _read(self, header: dict[str, Any]) -> int:
        """Read the complete lines. RETURNS (int): How many bytes they are."""
        lines = self.path.read_bytes().split(b"\n")[:-1]
        if not lines:
            return 0
        try:
            found, *records = [json.loads(line) for line in lines]
        except ValueError:
            message = Errors.E806.format(path=self.path, what="format")
            raise UsageError(message) from None
        for name in header:
            if not isinstance(found, dict) or found.get(name) != header[name]:
                raise UsageError(Errors.E806.format(path=self.path, what=name))
        self.records = records
        return sum(len(line) + 1 for line in lines)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            problem = error.strerror or type(error).__name__
            message = Errors.E809.format(path=self.path, problem=problem)
            raise UsageError(message) from error


def partial_path(output: Path) -> Path:
    return output.with_name(f"{output.name}.partial.jsonl")
