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
from typing import NamedTuple

from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

GZIP = b"\x1f\x8b"


class Sentence(NamedTuple):
    """Tokens and the label of each, as (begins an entity, label), None outside."""

    words: list[str]
    tags: list[tuple[bool, str] | None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="file to write (.spacy)")
    parser.add_argument("inputs", type=Path, nargs="+", help="IOB files, gzip or not")
    parser.add_argument(
        "--sentences", type=int, default=1, help="sentences of a Doc (1)"
    )
    parser.add_argument(
        "--limit", type=int, default=0, help="Docs to write of each input (0: all)"
    )
    parser.add_argument(
        "--missing",
        action="store_true",
        help="tokens outside entities are not annotated, instead of outside",
    )
    args = parser.parse_args()
    if args.sentences < 1 or args.limit < 0:
        parser.error("--sentences must be 1 or more, --limit 0 or more")
    vocab, store, counts = Vocab(), DocBin(attrs=["ENT_IOB", "ENT_TYPE"]), Counter()
    try:
        for path in args.inputs:
            docs = group(read_iob(path), args.sentences)
            for sentences in islice(docs, args.limit or None):
                doc = make_doc(vocab, sentences, missing=args.missing)
                store.add(doc)
                counts.update(ent.label_ for ent in doc.ents)
                counts["sentences"] += len(sentences)
    except (OSError, EOFError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    args.output.parent.mkdir(parents=True, exist_ok=True)
    part = args.output.with_name(args.output.name + ".part")
    part.write_bytes(store.to_bytes())
    part.replace(args.output)
    print(json.dumps({"file": args.output.name, "docs": len(store), **counts}))
    return 0


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
            raise ValueError(f"{path}, line {number}: expected a token, a tab and a tag")
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


def make_doc(vocab: Vocab, sentences: list[Sentence], *, missing: bool) -> Doc:
    """One Doc of sentences, with a space between all tokens."""
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
    doc.set_ents(ents, default="missing" if missing else "outside")
    return doc


if __name__ == "__main__":
    sys.exit(main())
