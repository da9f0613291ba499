"""Files of published data, read piece by piece: text, JSON members, JSON lines.

Errors name the file and the line, or the path of keys where a file is one long line.
They never quote a value that could be text of a report.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional, TextIO, TypeVar, Union

from ..errors import Errors

T = TypeVar("T")

_CHUNK = 1 << 16
# A single report with its annotation has some thousand characters.
_LONGEST_MEMBER = 1 << 26
# What the parser may still make of the last characters, once more of them are read:
# the longest literal of JSON ("-Infinity") and escape ("\\ud83d\\ude00") are shorter.
_UNDECIDED = 16
_BLANKS = re.compile(r"[ \t\r\n]*")
# Codes such as "OBS-DP" and "Observation::uncertain" cannot be text of a report.
_CODE = re.compile(r"[A-Z]{2,8}(?:-[A-Z]{1,4})?|\w+(?:::[\w ]+)+")
_NAMES = {
    dict: "a JSON object",
    list: "a list",
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


class Member(NamedTuple):
    """One member of a JSON object, or one item of a list, and where it stands."""

    key: str
    value: Any
    line: int


def check_file(path: Union[str, Path]) -> Path:
    """The path of a file that is there. RAISES (FileNotFoundError): E801."""
    path = Path(path)
    if not path.exists():
        problem = "there is no such file"
        raise FileNotFoundError(Errors.E801.format(path=path, problem=problem))
    if path.is_dir():
        problem = "it is a folder, expected a file"
        raise IsADirectoryError(Errors.E801.format(path=path, problem=problem))
    return path


def open_text(path: Path, newline: str = "") -> TextIO:
    """Open a UTF-8 file, `.gz` unpacked; line ends are left as they are."""
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline=newline)
    return path.open(encoding="utf-8-sig", newline=newline)


def guarded(path: Path, pieces: Iterator[T]) -> Iterator[T]:
    """Pass pieces of a file on; its decoding errors name the file and the line.

    RAISES (ValueError): E841 for bytes that are no UTF-8, E801 for a broken archive.
    """
    try:
        yield from pieces
    except UnicodeDecodeError:
        raise ValueError(Errors.E841.format(where=_undecodable(path))) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        problem = f"the compressed file is broken ({type(error).__name__})"
        raise ValueError(Errors.E801.format(path=path, problem=problem)) from None


def read_members(path: Path, expected: str) -> Iterator[Member]:
    """The members of the one JSON object of a file, or the items of its list.

    They are decoded one after the other: memory holds one of them, not the file.

    path (Path): The file.
    expected (str): What the file should hold, for errors.
    YIELDS (Member): In the order of the file; the key of an item is its number.
    RAISES (ValueError): E842 for anything but JSON.
    """
    with open_text(path, "\n") as file:
        yield from guarded(path, _Decoder(path, file, expected).members())


def read_json_lines(path: Path, expected: str) -> Iterator[Member]:
    """The objects of a file with a JSON object in each line; blank lines do not count.

    path (Path): The file.
    expected (str): What a line should hold, for errors.
    YIELDS (Member): The key is the number of the line.
    RAISES (ValueError): E842 for anything but JSON, E843 for anything but an object.
    """

    def objects(file: TextIO) -> Iterator[Member]:
        for line, text in enumerate(file, start=1):
            if not text.strip():
                continue
            where = f"{path}, line {line}"
            try:
                value = json.loads(text.strip())
            except json.JSONDecodeError as error:
                problem = f"{_said(error)} at column {error.colno}"
                raise _no_json(where, problem, expected) from None
            except ValueError as error:
                raise _no_json(where, _said(error), expected) from None
            except RecursionError:
                raise _no_json(where, "nested too deeply", expected) from None
            yield Member(str(line), typed(value, dict, where), line)

    with open_text(path, "\n") as file:
        yield from guarded(path, objects(file))


def typed(value: Any, kind: type[T], where: str, hint: str = "") -> T:
    """A value that has the type it should. RAISES (ValueError): E843."""
    # true is a whole number for Python, and none for JSON.
    if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return value
    raise wrong(where, shown(value), _NAMES[kind] + hint)


def member(
    record: Mapping[str, Any], key: str, kind: type[T], where: str, needed: str
) -> T:
    """A member of an object that must be there.

    record (Mapping[str, Any]): The object.
    key (str): The name of the member.
    kind (type): Its type.
    where (str): Place of the object, for errors.
    needed (str): The names that such an object has, for errors.
    RAISES (ValueError): E843 for another type, E844 where it is missing.
    """
    if key not in record:
        raise ValueError(Errors.E844.format(where=where, key=key, needed=needed))
    return typed(record[key], kind, f"{where} > {key}")


def optional(record: Mapping[str, Any], key: str, where: str, default: str = "") -> str:
    """A string that may be missing or null. RAISES (ValueError): E843."""
    value = record.get(key)
    return default if value is None else typed(value, str, f"{where} > {key}")


def wrong(where: str, got: str, allowed: str) -> ValueError:
    return ValueError(Errors.E843.format(where=where, got=got, allowed=allowed))


def shown(value: Any) -> str:
    """A value for an error: numbers and codes as they are, of text only its length."""
    if isinstance(value, str):
        if len(value) <= 60 and _CODE.fullmatch(value):
            return repr(value)
        return f"a string of {len(value)} characters"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:.12g}"
    return _NAMES.get(type(value), type(value).__name__)


def _said(error: ValueError) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return "a number has too many digits"
    # Some messages are meant to be followed by the place: "... starting at".
    return error.msg.removesuffix(" at")


def named(key: str) -> str:
    """The name of a member, for errors; long ones and phrases cannot be an id."""
    if len(key) <= 80 and len(key.split()) <= 2:
        return repr(key)
    return f"a name of {len(key)} characters"


def _no_json(where: str, problem: str, expected: str) -> ValueError:
    return ValueError(
        Errors.E842.format(where=where, problem=problem, expected=expected)
    )


def _undecodable(path: Path) -> str:
    """The place of the first line that is no UTF-8."""
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        for line, raw in enumerate(file, start=1):
            try:
                raw.decode("utf8")
            except UnicodeDecodeError:
                return f"{path}, line {line}"
    return str(path)


class _Decoder:
    """Decodes the members of one JSON object, or the items of one list.

    The standard library decodes whole texts only; it tells how much of a text it took,
    so that a window over the file is enough.
    """

    def __init__(self, path: Path, file: TextIO, expected: str) -> None:
        self.path, self.file, self.expected = path, file, expected
        self.decoder = json.JSONDecoder()
        self.text = ""
        self.at = 0
        self.line = 1
        self.ended = False

    def members(self) -> Iterator[Member]:
        opening = self._next_mark()
        if opening not in ("{", "["):
            raise self._wrong("it does not start with '{' or '['")
        self.at += 1
        closing = "}" if opening == "{" else "]"
        number = 0
        if self._next_mark() == closing:
            self.at += 1
        else:
            while True:
                key = str(number)
                if opening == "{":
                    if self._next_mark() != '"':
                        raise self._wrong("expected a name in double quotes")
                    key = self._value()
                    if self._next_mark() != ":":
                        raise self._wrong(f"expected ':' behind {named(key)}")
                    self.at += 1
                    self._next_mark()
                line = self.line
                yield Member(key, self._value(), line)
                number += 1
                mark = self._next_mark()
                if mark not in (",", closing):
                    problem = f"expected ',' or '{closing}' behind {named(key)}"
                    raise self._wrong(problem)
                self.at += 1
                if mark == closing:
                    break
                self._next_mark()
        if self._next_mark():
            raise self._wrong("something follows the end of the JSON value")

    def _next_mark(self) -> Optional[str]:
        """Go over blanks; the character that follows, None at the end of the file."""
        while True:
            found = _BLANKS.match(self.text, self.at)
            self._take(found.end() if found else self.at)
            if self.at < len(self.text):
                return self.text[self.at]
            if not self._read(_CHUNK):
                return None

    def _value(self) -> Any:
        """Decode the value that starts here, reading on as far as it needs."""
        size = _CHUNK
        while True:
            try:
                value, end = self.decoder.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                if self._is_wrong_for_good(error):
                    raise self._wrong(_said(error), error.pos) from None
            except ValueError as error:
                raise self._wrong(_said(error)) from None
            except RecursionError:
                raise self._wrong("nested too deeply") from None
            else:
                # A number at the end of the window may go on.
                if end < len(self.text) or self.ended:
                    self._take(end)
                    return value
            if len(self.text) - self.at > _LONGEST_MEMBER:
                raise self._wrong(f"a value of more than {_LONGEST_MEMBER} characters")
            self._read(size)
            size *= 2

    def _is_wrong_for_good(self, error: json.JSONDecodeError) -> bool:
        """Whether no further text can make sense of what the parser stumbled on."""
        if self.ended:
            return True
        if error.msg.startswith("Unterminated string"):
            return False
        return error.pos < len(self.text) - _UNDECIDED

    def _take(self, end: int) -> None:
        self.line += self.text.count("\n", self.at, end)
        self.at = end

    def _read(self, size: int) -> bool:
        more = self.file.read(size)
        self.ended = not more
        self.text = self.text[self.at :] + more
        self.at = 0
        return bool(more)

    def _wrong(self, problem: str, at: Optional[int] = None) -> ValueError:
        line = self.line
        if at is not None:
            line += self.text.count("\n", self.at, at)
        last = self.at if at is None else at
        if self.ended and last >= len(self.text) - 1:
            problem += "; the file ends here, it may be cut off"
        return _no_json(f"{self.path}, line {line}", problem, self.expected)
