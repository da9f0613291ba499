"""A Doc as plain lists of words: what all rules read, whatever the text looks like.

White space, hyphens and de-identification marks are left out, so that line breaks,
double spaces and "mild-to-moderate" never split a phrase or a scope. Sentence ends are
read from the text: parsers trained on news split report style in odd places.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from spacy.attrs import LEMMA, ORTH, POS, SPACY
from spacy.symbols import NOUN, PROPN
from spacy.tokens import Doc

from .inflection import singulars

# "XXXX", "____", "[**...**]": where a name, date or place was removed.
_REMOVED = re.compile(r"^(?:X{3,}|_+)$", re.IGNORECASE)
_REMOVED_IN_BRACKETS = re.compile(r"\[\*\*.{0,80}?\*\*\]", re.DOTALL)
_ENUMERATED = re.compile(r"^\d{1,2}[.)](?=[^\W\d])")
_ENUMERATOR = re.compile(r"^\d{1,2}[.)]?$")
_HYPHENS = frozenset("-‐‑‒–—")
_SENTENCE_END = re.compile(r"^(?:[.!;]|\.{2,}|…)$")
_NUMBER = re.compile(r"^\d+(?:[.,]\d+)?$")
# How a question mark is written in the cue lists: in front of or after a phrase.
QUESTION_BEFORE, QUESTION_AFTER = "?", "?-"


class WordType(NamedTuple):
    """What the form of a word alone tells, whatever stands around it."""

    lower: str
    forms: tuple[str, ...]
    is_word: bool
    is_space: bool
    is_hyphen: bool
    ends_sentence: bool
    is_number: bool
    is_title: bool
    may_count: bool
    is_removed: bool
    is_bracket: bool


@dataclass
class Words:
    """The words of a Doc with what the rules need of each, by index.

    text (str): The report.
    lower (list[str]): The word in lower case.
    surface (list[tuple]): The word alone, for lists where inflection matters (cues).
    forms (list[tuple]): The word, its singular, its lemma: for all other lists.
    is_word (list[bool]): False for punctuation.
    is_number (list[bool]): "12", "1.2"; number words are in the word lists.
    tokens (list[int]): Index of the token in the Doc.
    starts (list[int]): Offset of the first character in the report.
    ends (list[int]): Offset after the last character.
    sentences (list[tuple]): Start and end word of each sentence.
    sentence_of (list[int]): Index of the sentence of each word.
    pos (list[int]): Coarse part of speech (spacy.symbols), 0 where not tagged.
    word_of_token (list[int]): For each token, and behind the last one, the next word.
    """

    text: str
    lower: list[str] = field(default_factory=list)
    surface: list[tuple[str]] = field(default_factory=list)
    forms: list[tuple[str, ...]] = field(default_factory=list)
    is_word: list[bool] = field(default_factory=list)
    is_number: list[bool] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    sentences: list[tuple[int, int]] = field(default_factory=list)
    sentence_of: list[int] = field(default_factory=list)
    pos: list[int] = field(default_factory=list)
    word_of_token: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.lower)

    def token_range(self, start: int, end: int) -> tuple[int, int]:
        """First and last-plus-one token of words[start:end]."""
        return self.tokens[start], self.tokens[end - 1] + 1

    def located(self, start: int, end: int) -> dict[str, Any]:
        """words[start:end] with offsets, as it is stored in a record."""
        first, last = self.starts[start], self.ends[end - 1]
        return {
            "text": self.text[first:last],
            "start_char": first,
            "end_char": last,
        }

    def word_range(self, start: int, end: int) -> tuple[int, int]:
        """The words within tokens[start:end]; both ends equal where there are none."""
        return self.word_of_token[start], self.word_of_token[end]


def read_words(doc: Doc) -> Words:
    """Read the words of a Doc, in one pass.

    doc (Doc): Tags and lemmas are used where present.
    RETURNS (Words): The words; nothing is written.
    """
    # One array for all: making a Token object for each word costs far more.
    columns = doc.to_array([ORTH, SPACY, POS, LEMMA])
    strings = doc.vocab.strings
    texts = [strings[orth] for orth in columns[:, 0].tolist()]
    kinds = list(map(word_type, texts))
    spaces = columns[:, 1].tolist()
    poses = columns[:, 2].tolist()
    lemmas = columns[:, 3].tolist()
    n = len(kinds)
    pieces = [
        text + " " if space else text for text, space in zip(texts, spaces, strict=True)
    ]
    offsets = list(accumulate(map(len, pieces), initial=0))
    words = Words("".join(pieces))
    hidden: set[int] = set()
    if any(kind.is_bracket for kind in kinds):
        hidden = _tokens_in_brackets(doc, words.text)
    after_newline = True
    start = 0
    for i, kind in enumerate(kinds):
        words.word_of_token.append(len(words.lower))
        if kind.is_space:
            breaks = kind.lower.count("\n")
            after_newline = after_newline or breaks > 0
            starts = i + 1 < n and kinds[i + 1].is_title
            if breaks > 1 or (breaks and starts):
                start = _close(words, start)
            continue
        if kind.is_removed or i in hidden:
            continue
        at_start = after_newline or len(words.lower) == start
        if kind.may_count and not at_start:
            at_start = _starts_item(kinds, i, words.lower[-1])
        after_newline = False
        if kind.is_hyphen:
            if at_start:
                start = _close(words, start)
            continue
        if at_start and kind.may_count and (i + 1 == n or _counts(kind, kinds[i + 1])):
            start = _close(words, start)
            continue
        if kind.ends_sentence:
            start = _close(words, start)
            continue
        lower, forms = kind.lower, kind.forms
        if lower == "?":
            following = kinds[i + 1] if i + 1 < n else None
            lower = QUESTION_AFTER
            if following is not None and following.is_word:
                apart = i == 0 or spaces[i - 1]
                if not spaces[i] or (apart and not following.is_title):
                    lower = QUESTION_BEFORE
            forms = (lower,)
        elif lemmas[i]:
            lemma = strings[lemmas[i]].lower()
            if lemma not in forms:
                forms = (*forms, lemma)
        words.lower.append(lower)
        words.surface.append((lower,))
        words.forms.append(forms)
        words.is_word.append(kind.is_word)
        words.is_number.append(kind.is_number)
        words.tokens.append(i)
        words.starts.append(offsets[i])
        words.ends.append(offsets[i] + len(texts[i]))
        words.pos.append(poses[i])
        words.sentence_of.append(len(words.sentences))
        if lower == QUESTION_AFTER:
            start = _close(words, start)
    _close(words, start)
    words.word_of_token.append(len(words.lower))
    return words


@lru_cache(maxsize=50_000)
def word_type(text: str) -> WordType:
    """What a token's text alone tells; cached, since reports repeat their words."""
    # A token of white space keeps its line breaks, which may end a sentence.
    lower = _ENUMERATED.sub("", text).lower()
    is_word = any(char.isalnum() for char in text)
    forms = (lower, *singulars(lower)) if is_word else (lower,)
    return WordType(
        lower=lower,
        forms=forms,
        is_word=is_word,
        is_space=not text.strip(),
        is_hyphen=text in _HYPHENS,
        ends_sentence=_SENTENCE_END.match(text) is not None,
        is_number=_NUMBER.match(text) is not None,
        is_title=len(text) > 1 and text.isalpha() and text.istitle(),
        may_count=text == ")" or _ENUMERATOR.match(text) is not None,
        is_removed=_REMOVED.match(text) is not None,
        is_bracket=text.startswith("["),
    )


def is_nominal(pos: int) -> bool:
    return pos in (NOUN, PROPN)


def _tokens_in_brackets(doc: Doc, text: str) -> set[int]:
    """Tokens of "[**...**]" marks, which tokenizers cut to pieces."""
    hidden: set[int] = set()
    for match in _REMOVED_IN_BRACKETS.finditer(text):
        span = doc.char_span(*match.span(), alignment_mode="contract")
        if span is not None:
            hidden.update(range(span.start, span.end))
    return hidden


def _close(words: Words, start: int) -> int:
    """End the sentence that began at word `start`; the next one begins here."""
    end = len(words.lower)
    if end > start:
        words.sentences.append((start, end))
    return end


def _starts_item(kinds: Sequence[WordType], at: int, before: str) -> bool:
    """Whether a number amid a line starts a list item: ": 1) ...", "...   2. ..."."""
    if before == ":" or kinds[at - 1].is_space:
        return True
    following = kinds[at + 1].lower if at + 1 < len(kinds) else ""
    return following == ")" and before not in ("(", "x", "of")


def _counts(kind: WordType, following: WordType) -> bool:
    """Whether a number at the start of a line or sentence only counts items."""
    return kind.lower[-1] in ".)" or following.lower in (".", ")")
