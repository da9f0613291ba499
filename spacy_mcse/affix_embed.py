"""Word embeddings that see how words begin and end, for recognizers of medical terms.

spaCy's `MultiHashEmbed` reads one letter at the front of a word and three at its end.
The parts that medical words are made of are longer: "hyper-", "-itis", "-mycin".
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from spacy.ml.staticvectors import StaticVectors
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import (
    HashEmbed,
    Maxout,
    Model,
    chain,
    concatenate,
    list2ragged,
    ragged2list,
    with_array,
)

from .errors import Errors

# As spaCy does: tables of one layer differ in their seeds.
FIRST_SEED = 8
MAX_WORDS = 100_000
# Attributes that tell one word from all others.
WORD_ATTRS = ("ORTH", "LOWER", "NORM")


@registry.architectures("spacy-mcse.AffixEmbed.v1")
def make_affix_embed(
    width: int,
    attrs: list[str],
    rows: list[int],
    prefixes: list[int],
    suffixes: list[int],
    affix_rows: int,
    include_static_vectors: bool,
    unseen: float = 0.0,
) -> Model[list[Doc], list[Any]]:
    """Embed attributes of tokens and the first and last letters of their norms.

    width (int): Width of each table and of the output.
    attrs (list[str]): Attributes of tokens, as for `spacy.MultiHashEmbed.v2`.
    rows (list[int]): Rows of the table of each attribute.
    prefixes (list[int]): How many letters to read at the front, for each table.
    suffixes (list[int]): The same for the end.
    affix_rows (int): Rows of each of these tables.
    include_static_vectors (bool): Whether to add the word vectors of the vocabulary.
    unseen (float): Share of the words that are taken for others while training. A word
        that training never saw reads rows of the tables that belong to other words;
        with this, the layer learns to go by the rest.
    RETURNS (Model): The layer.
    RAISES (ValueError): E105 where attributes and rows do not pair up, a number of
        letters or rows is not positive or `unseen` is no share.
    """
    _check("rows", rows, len(attrs))
    _check("affix_rows", [affix_rows], 1)
    _check("prefixes", prefixes, len(prefixes))
    _check("suffixes", suffixes, len(suffixes))
    if not 0 <= unseen < 1:
        raise _error("unseen", unseen, "0 to less than 1")
    sizes = [*rows, *[affix_rows] * (len(prefixes) + len(suffixes))]
    tables: list[Model[Any, Any]] = [
        HashEmbed(width, size, column=column, seed=FIRST_SEED + column, dropout=0.0)
        for column, size in enumerate(sizes)
    ]
    extract: Model[Any, Any] = Model(
        "extract_affixes",
        _extract,
        attrs={
            "columns": attrs,
            "prefixes": prefixes,
            "suffixes": suffixes,
            "unseen": unseen,
        },
    )
    parts: Any = chain(extract, list2ragged(), with_array(concatenate(*tables)))
    if include_static_vectors:
        parts = concatenate(parts, StaticVectors(width, dropout=0.0))
    inputs = width * (len(tables) + include_static_vectors)
    mix = Maxout(width, inputs, nP=3, dropout=0.0, normalize=True)
    return chain(parts, with_array(mix), ragged2list())


def _check(name: str, values: Sequence[int], length: int) -> None:
    if len(values) != length or any(value < 1 for value in values):
        raise _error(name, list(values), f"{length} positive numbers")


def _error(name: str, got: Any, allowed: str) -> ValueError:
    message = Errors.E105.format(
        argument=name, component="AffixEmbed", got=got, allowed=allowed
    )
    return ValueError(message)


def _extract(
    model: Model[Any, Any], docs: list[Doc], is_train: bool
) -> tuple[list[Any], Callable[[Any], list[Any]]]:
    prefixes = tuple(model.attrs["prefixes"])
    suffixes = tuple(model.attrs["suffixes"])
    names = model.attrs["columns"]
    words = [index for index, name in enumerate(names) if name in WORD_ATTRS]
    unseen = model.attrs["unseen"] if is_train else 0.0
    found = []
    for doc in docs:
        columns = doc.to_array(names).reshape(len(doc), len(names))
        if unseen:
            # numpy's global generator, which spaCy seeds, as for dropout.
            others = np.random.random(len(doc)) < unseen
            drawn = np.random.randint(1, 2**63, int(others.sum()), dtype="int64")
            for index in words:
                columns[others, index] = drawn
        ends = [_affixes(token.norm_, prefixes, suffixes) for token in doc]
        affixes = np.array(ends, "uint64").reshape(len(doc), len(prefixes + suffixes))
        both = np.hstack([columns, affixes])
        found.append(model.ops.asarray2i(both, dtype="uint64"))  # type: ignore[arg-type]

    def backprop(gradient: Any) -> list[Any]:
        return []

    return found, backprop


@lru_cache(maxsize=MAX_WORDS)
def _affixes(
    word: str, prefixes: tuple[int, ...], suffixes: tuple[int, ...]
) -> tuple[int, ...]:
    parts = [word[:size] for size in prefixes] + [word[-size:] for size in suffixes]
    return tuple(get_string_id(part) for part in parts)
