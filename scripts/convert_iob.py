"""Convert entities in IOB files to spaCy's binary format (.spacy).

A line holds a token, a tab and a tag (`O`, `B-Disease`, `I-Disease`); other columns may
stand between them. A blank line ends a sentence. Files may be compressed with gzip,
whatever their names end with. Read line by line, written whole or not at all.
"""

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

GZIP = b"\x1f\x8b"
ENDINGS = (".gz", ".tsv", ".txt", ".conll", ".iob", ".iob2", ".bio")


class Sentence(NamedTuple):
    """Tokens and the label of each, as (begins an entity, label), None outside."""

    words: list[str]
    tags: list[tuple[bool, str] | None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="folder to write to")
    parser.add_argument("inputs", type=Path, nargs="+", help="IOB files, gzip or not")
    parser.add_argument(
        "--sentences", type=int, default=1, help="sentences of a Doc (1)"
    )
    parser.add_argument(
        "--limit", type=int, default=0, help="Docs to write of each file (0: all)"
    )
    args = parser.parse_args()
    if args.sentences < 1 or args.limit < 0:
        parser.error("--sentences must be 1 or more, --limit 0 or more")
    targets = [args.output / f"{name_of(path)}.spacy" for path in args.inputs]
    if len(set(targets)) < len(targets):
        parser.error("two inputs would be written to one file")
    try:
        for path, target in zip(args.inputs, targets, strict=True):
            print(json.dumps(convert(path, target, args.sentences, args.limit)))
    except FileNotFoundError as error:
        hint = "in the project, --vars.data names the folder that has the folder `ner`"
        print(f"{error.filename} is missing ({hint})", file=sys.stderr)
        return 2
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def name_of(path: Path) -> str:
    """The name of a file without the endings that say its format."""
    name = path.name
    while (stem := Path(name)).suffix in ENDINGS:
        name = stem.stem
    return name


def convert(path: Path, target: Path, size: int, limit: int) -> dict[str, Any]:
    """Convert one file and count what is in it.

    path (Path): The IOB file.
    target (Path): The file to write; it is there only once it is whole.
    size (int): Sentences of a Doc.
    limit (int): Docs to write; 0 means all.
    RETURNS (dict[str, Any]): Name, Docs, sentences, entities of each label.
    RAISES (OSError, ValueError): Where the file cannot be read, see `read_iob`.
    """
    vocab, store = Vocab(), DocBin(attrs=["ENT_IOB", "ENT_TYPE"])
    counts: Counter[str] = Counter()
    for sentences in islice(group(read_iob(path), size), limit or None):
        doc = make_doc(vocab, sentences)
        store.add(doc)
        counts.update(ent.label_ for ent in doc.ents)
        counts["sentences"] += len(sentences)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    part.write_bytes(store.to_bytes())
    part.replace(target)
    return {"file": target.name, "docs": len(store), **counts}


def read_iob(path: Path) -> Iterator[Sentence]:
    """Read the sentences of a file; IOB1 and IOB2 are read alike.

    path (Path): The file.
    YIELDS (Sentence): Each sentence that has tokens.
    RAISES (OSError): Where the file cannot be read.
    RAISES (ValueError): For bytes that are no UTF-8, lines without a tag, tags that are
        none, and files without a sentence. It names the file and line, not the text.
    """
    words: list[str] = []
    tags: list[tuple[bool, str] | None] = []
    empty = True
    for number, line in read_lines(path):
        columns = line.split("\t")
        if not line.strip():
            if words:
                yield Sentence(words, tags)
                words, tags = [], []
            continue
        if columns[0] == "-DOCSTART-":
            continue
        if len(columns) < 2 or not columns[0].strip():
            raise ValueError(
                f"{path}, line {number}: expected a token, a tab and a tag"
            )
        words.append(columns[0].strip())
        try:
            tags.append(read_tag(columns[-1].strip(), tags[-1] if tags else None))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from error
        empty = False
    if words:
        yield Sentence(words, tags)
    if empty:
        raise ValueError(f"{path}: no sentence in it")


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file, compressed or not, with their numbers."""
    with path.open("rb") as file:
        compressed = file.peek(2)[:2] == GZIP  # type: ignore[attr-defined]
        lines: Iterable[bytes] = gzip.GzipFile(fileobj=file) if compressed else file
        number = 0
        try:
            for number, line in enumerate(lines, start=1):
                yield number, line.decode("utf-8-sig" if number == 1 else "utf8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}, line {number}: not UTF-8") from error
        except (OSError, EOFError) as error:
            problem = f"broken gzip ({error})"
            raise ValueError(f"{path}, after line {number}: {problem}") from error


def read_tag(tag: str, before: tuple[bool, str] | None) -> tuple[bool, str] | None:
    """Whether a tag begins an entity, and its label in capitals; None outside.

    In IOB1, `B-` marks only an entity that touches another of its label, and in broken
    files `I-` follows `O` or another label: both begin an entity.
    """
    if tag == "O":
        return None
    prefix, dash, label = tag.partition("-")
    if prefix not in ("B", "I") or not dash or not label:
        raise ValueError("a tag is O, B-LABEL or I-LABEL")
    label = label.upper()
    return prefix == "B" or before is None or before[1] != label, label


def group(sentences: Iterator[Sentence], size: int) -> Iterator[list[Sentence]]:
    """Lists of `size` sentences in their order; the last may be shorter."""
    while chunk := list(islice(sentences, size)):
        yield chunk


def make_doc(vocab: Vocab, sentences: list[Sentence]) -> Doc:
    """One Doc of sentences; where spaces stood between tokens is not known."""
    words = [word for sentence in sentences for word in sentence.words]
    doc = Doc(vocab, words=words)
    tags = [tag for sentence in sentences for tag in sentence.tags]
    ents, start = [], 0
    for index in range(1, len(tags) + 1):
        following = tags[index] if index < len(tags) else None
        first = tags[start]
        if following is None or following[0]:
            if first is not None:
                ents.append(Span(doc, start, index, label=first[1]))
            start = index
    doc.set_ents(ents, default="outside")
    return doc


if __name__ == "__main__":
    sys.exit(main())
