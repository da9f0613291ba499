"""What the form of a single word tells, whatever stands around it."""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from .inflection import singulars

STOP = "."
# "XXXX", "____", "[**...**]": where a name, date or place was removed.
_REMOVED = re.compile(r"^(?:X{3,}|_+)$", re.IGNORECASE)
_ENUMERATED = re.compile(r"^\d{1,2}[.)](?=[^\W\d])")
_ENUMERATOR = re.compile(r"^\d{1,2}[.)]?$")
_HYPHENS = frozenset("-‐‑‒–—\u2212")
# "L." and "R.", "N." for normal, arrows for more and less.
_LETTER_WITH_STOP = re.compile(r"^[LRNn↑↓]\.$")
# List marks amid a line, as from word processors, part statements too.
_SENTENCE_END = re.compile(r"^(?:[.!;]|\.{2,}|…|[•▪▫◦●○■□‣⁃➢✓✔➤])$")
# Mark-up of web pages and tables: a block parts statements, "<b>" is not there.
_TAG = re.compile(r"^</?([A-Za-z][A-Za-z0-9]*)\b[^<>]{0,80}>$")
_INLINE_TAGS = frozenset(("b", "i", "u", "em", "strong", "span", "font", "sup", "sub"))
_ARROWS = frozenset("↑↓")  # read as "increased", "decreased"
_NO_EMOJI = frozenset("°®©™№") | _ARROWS
_MUCH = re.compile(r"(?<=[a-z])\+{2,}$")  # "kyphosis++"
_NUMBER = re.compile(r"^\d+(?:[.,]\d+)?$")
# How characters of word processors and PDFs are typed; None leaves them out.
# Marks of the direction of writing are among them.
_TYPED = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "`": "'"}
    | dict.fromkeys(
        "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u202a\u202b\u202c\u202d"
        "\u202e\u2066\u2067\u2068\u2069"
    )
)
_LINE_BREAK = re.compile("\r\n|[\n\r\u2028\u2029\x85\x0b\x0c]")
# spaCy cuts "isn't" in two, but not "ISN'T"; it cuts at "-", but not at U+2011.
_CONTRACTION = re.compile(
    r"^(is|are|was|were|does|do|did|has|have|had|could|would|should|ca)n'?t$"
)
# Within a token: hyphens that are not kept, full stops that are.
_CUTS = re.compile(
    "[-\u2010\u2011\u2012\u2013\u2212]"
    r"|(?<=[a-z]{3})(\.)(?=[a-z]{3}|\d)|(?<=\d)(\.)(?=[a-z]{3})"
)


class WordType(NamedTuple):
    """What the form of a word alone tells, whatever stands around it."""

    lower: str
    forms: tuple[str, ...]
    parts: tuple[str, ...]  # several words in one token, "isn't" in capitals
    is_word: bool
    is_space: bool
    line_breaks: int
    is_hyphen: bool
    ends_sentence: bool
    is_number: bool
    is_title: bool
    is_small: bool
    may_count: bool
    is_removed: bool
    is_bracket: bool
    has_stop: bool  # "L." as one token


SPACE = WordType(
    lower=" ",
    forms=(" ",),
    parts=(),
    is_word=False,
    is_space=True,
    line_breaks=0,
    is_hyphen=False,
    ends_sentence=False,
    is_number=False,
    is_title=False,
    is_small=False,
    may_count=False,
    is_removed=False,
    is_bracket=False,
    has_stop=False,
)


def plain_text(text: str) -> str:
    """A token in small letters as it would be typed: "isn’t", "ﬁlm", "left‑sided"."""
    text = unicodedata.normalize("NFKC", text).translate(_TYPED)
    return text.lower()


@lru_cache(maxsize=50_000)
def word_type(text: str) -> WordType:
    """What a token's text alone tells; cached, since reports repeat their words."""
    if not text.strip():
        # A token of white space keeps its line breaks, which may end a sentence.
        return SPACE._replace(line_breaks=len(_LINE_BREAK.findall(text)))
    lower = _MUCH.sub("", plain_text(_ENUMERATED.sub("", text))) or text
    has_stop = _LETTER_WITH_STOP.match(text) is not None
    lower = lower.rstrip(STOP) if has_stop else lower
    if text == "nt":
        lower = "n't"  # "isnt", which spaCy cuts in two
    is_word = any(char.isalnum() or char in _ARROWS for char in text)
    forms = (lower, *singulars(lower)) if is_word else (lower,)
    parts: tuple[str, ...]
    contraction = _CONTRACTION.match(lower)
    if contraction is not None:
        parts = (contraction[1], "n't")
    else:
        parts = tuple(filter(None, _CUTS.split(lower))) if is_word else ()
        # The number of a list item: "fracture.2.small".
        parts = tuple(
            part
            for before, part in zip(("", *parts), parts, strict=False)
            if not (before == STOP and part.isdecimal())
        )
    return WordType(
        lower=lower,
        forms=forms,
        parts=parts if len(parts) > 1 else (),
        is_word=is_word,
        is_space=False,
        line_breaks=0,
        is_hyphen=text in _HYPHENS,
        ends_sentence=_SENTENCE_END.match(text) is not None
        or _is_block(text)
        or _is_emoji(text),
        is_number=_NUMBER.match(text) is not None,
        is_title=len(text) > 1 and text.isalpha() and text.istitle(),
        is_small=text.islower(),
        may_count=text == ")" or _ENUMERATOR.match(text) is not None,
        is_removed=_REMOVED.match(text) is not None or _is_inline(text),
        is_bracket=text.startswith("["),
        has_stop=has_stop,
    )


def _is_inline(text: str) -> bool:
    tag = _TAG.match(text)
    return tag is not None and tag[1].lower() in _INLINE_TAGS


def _is_block(text: str) -> bool:
    return _TAG.match(text) is not None and not _is_inline(text)


def _is_emoji(text: str) -> bool:
    """Whether a token is only pictures, which people put between statements."""
    return text[0] not in _NO_EMOJI and unicodedata.category(text[0]) == "So"
