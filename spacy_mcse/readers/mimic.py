"""Reports of MIMIC-CXR: text files, laid out for a page.

Johnson et al. 2019, https://physionet.org/content/mimic-cxr/. Each file has a header
("FINAL REPORT"), headings in capitals with a colon, and indented, wrapped lines.
"""

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Union

from ..errors import Errors
from ..sections import find_sections
from ..vocabulary import load_vocabulary
from .reports import Report

_ENDING = ".txt"


def read_mimic_reports(path: Union[str, Path]) -> Iterator[Report]:
    """Read reports, one file each, in the order of their paths.

    path (Union[str, Path]): A folder with `.txt` files at any depth, a .zip archive of
        such a folder (`mimic-cxr-reports.zip`), or one file.
    YIELDS (Report): Its id is the name of the file without ".txt" ("s50414267").
    RAISES (FileNotFoundError): E801. (ValueError): E841 with the file, E856.
    """
    path = Path(path)
    if not path.exists():
        problem = "there is no such file or folder"
        raise FileNotFoundError(Errors.E801.format(path=path, problem=problem))
    return _reports(path)


def _reports(path: Path) -> Iterator[Report]:
    headings = load_vocabulary().sections
    none = True
    for where, data in _files(path):
        none = False
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            message = Errors.E841.format(where=f"{where}, line {line}")
            raise ValueError(message) from None
        name = where.rpartition("/")[2].removesuffix(_ENDING)
        yield Report(name, text, tuple(find_sections(text, headings)))
    if none:
        raise ValueError(Errors.E856.format(path=path))


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    """Path and content of each report."""
    if path.is_dir():
        for folder, folders, names in os.walk(path):
            folders.sort()  # os.walk goes on in this order
            for name in sorted(names):
                if name.endswith(_ENDING):
                    file = Path(folder, name)
                    yield file.as_posix(), file.read_bytes()
    elif path.suffix.lower() == ".zip":
        try:
            with zipfile.ZipFile(path) as archive:
                for name in sorted(archive.namelist()):
                    if name.endswith(_ENDING):
                        yield f"{path.as_posix()}/{name}", archive.read(name)
        except zipfile.BadZipFile:
            problem = "it is no .zip archive, or a broken one"
            raise ValueError(Errors.E801.format(path=path, problem=problem)) from None
    else:
        yield path.as_posix(), path.read_bytes()
