"""Make folders that spaCy 3.8 loads of scispaCy's released pipelines.

Release 0.5.4 asks for spaCy below 3.8, so that pip would take spaCy back, and its
configs say "True" and "False" in quotes, which newer releases of spaCy 3.8 (with
confection 1.3) refuse. This copies the data of each pipeline and writes true and false
in its config; nothing else is changed and nothing is fetched.

    python scripts/unpack_scispacy.py en_core_sci_md-0.5.4.tar.gz --output models
    python -c "import spacy; spacy.load('models/en_core_sci_md')"

spaCy still warns (W095) that the pipeline was made with an older version.
"""

import argparse
import json
import sys
import tarfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

from thinc.api import Config

BOOLEANS = {"True": True, "False": False}
CONFIG, META = "config.cfg", "meta.json"
# A file of a pipeline: where it is, and what is in it.
_File = tuple[PurePosixPath, bytes]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "pipelines",
        nargs="+",
        help="archives (.tar.gz) as released, folders, or names of installed packages",
    )
    parser.add_argument("--output", type=Path, required=True, help="folder for them")
    args = parser.parse_args()
    for source in args.pipelines:
        try:
            path, changed = unpack(source, args.output)
        except (OSError, ValueError, tarfile.TarError) as error:
            sys.exit(f"{source}: {error}")
        print(f"{path}: {changed} settings mended")


def unpack(source: str, output: Path) -> tuple[Path, int]:
    """Copy a pipeline and mend its config.

    source (str): Archive, folder, or name of an installed package.
    output (Path): Folder that gets a folder of the pipeline's name.
    RETURNS (tuple[Path, int]): The folder, and how many settings were changed.
    RAISES (OSError): For what does not exist. (ValueError): For what is no pipeline.
    """
    files = dict(read_files(source))
    roots = {path.parent for path in files if path.name == CONFIG}
    roots = {root for root in roots if root / META in files}
    if len(roots) != 1:
        raise ValueError("no pipeline: expected one folder with config.cfg, meta.json")
    root = roots.pop()
    meta = json.loads(files[root / META])
    folder = output / f"{meta['lang']}_{meta['name']}"
    if folder.exists():
        raise FileExistsError(f"{folder} exists")
    config, changed = mended(files[root / CONFIG].decode("utf8"))
    files[root / CONFIG] = config.encode("utf8")
    for path, data in files.items():
        if path.is_relative_to(root):
            target = folder / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    return folder, changed


def read_files(source: str) -> Iterator[_File]:
    """All files of an archive, a folder or an installed package."""
    if source.endswith((".tar.gz", ".tgz")):
        with tarfile.open(source) as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isfile() else None
                if file is not None:
                    path = PurePosixPath(member.name)
                    if path.is_absolute() or ".." in path.parts:
                        raise ValueError("a path of the archive leads out of it")
                    yield path, file.read()
        return
    folder = Path(source)
    if not folder.is_dir():
        spec = find_spec(source) if source.isidentifier() else None
        if spec is None or spec.origin is None:
            raise FileNotFoundError("no such archive, folder or installed package")
        folder = Path(spec.origin).parent
    # A package has a meta.json of its own beside the folder with the data.
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield PurePosixPath(path.relative_to(folder).as_posix()), path.read_bytes()


def mended(text: str) -> tuple[str, int]:
    """A config with true and false for "True" and "False", and how many there were."""
    config = Config().from_str(text, interpolate=False)
    changed = sum(1 for block in blocks(config) for key in mend(block))
    return config.to_str(interpolate=False), changed


def blocks(block: dict[str, Any]) -> Iterable[dict[str, Any]]:
    yield block
    for value in block.values():
        if isinstance(value, dict):
            yield from blocks(value)


def mend(block: dict[str, Any]) -> list[str]:
    keys = [key for key, value in block.items() if value in ("True", "False")]
    for key in keys:
        block[key] = BOOLEANS[block[key]]
    return keys


if __name__ == "__main__":
    main()
