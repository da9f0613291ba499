"""What encoders read from a saved pipeline, and the hash of what they consist of."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .errors import Errors

SETTINGS_FILE = "encoder.json"


def read_file(path: Path) -> bytes:
    """Read a file of an encoder.

    path (Path): The file.
    RETURNS (bytes): Its content.
    RAISES (FileNotFoundError): E301 where there is no such file.
    """
    if not path.is_file():
        raise FileNotFoundError(Errors.E301.format(path=path))
    return path.read_bytes()


def fingerprint_of(parts: Iterable[Any]) -> str:
    """Hash the weights and settings of an encoder.

    parts (Iterable[Any]): Bytes or buffers, in an order that is always the same.
    RETURNS (str): 16 hexadecimal digits.
    """
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:16]
