"""A Doc as plain lists of words: what all rules read, whatever the text looks like.

White space, hyphens and de-identification marks are left out, so that line breaks,
double spaces and "mild-to-moderate" never split a phrase or a scope. Sentence ends are
read from the text: parsers trained on news split report style in odd places.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from spacy.attrs import LEMMA, POS, TAG
from spacy.strings import get_string_id
from spacy.symbols import ADJ, ADV, AUX, NOUN, NUM, PROPN, VERB
from spacy.tokens import Doc

from .inflection import singulars

# "XXXX", "____", "[**...**]": where a name, date or place was removed.
_DEIDENTIFIED = re.compile(r"\bX{3,}\b|_{2,}|\[\*\*.*?\*\*\]", re.DOTALL)
_ENUMERATED = re.compile(r"^\d{1,2}[.)](?=[^\W\d])")
_ENUMERATOR = re.compile(r"^\d{1,2}[.)]?$")
_HYPHENS = frozenset("-‐‑‒–—")
_SENTENCE_END = re.compile(r"^(?:[.!;]|\.{2,}|…)$")
_NUMBER = re.compile(r"^\d+(?:[.,]\d+)?$")
# How a question mark is written in the cue lists: in front of or after a phrase.
QUESTION_BEFORE, QUESTION_AFTER = "?", "?-"
_FINITE_TAGS = frozenset(get_string_id(tag) for tag in ("VBZ", "VBP", "VBD", "MD"))


class WordType(NamedTuple):
    """What the form of a word alone tells, whatever stands around it."""

    lower: str
    forms: tuple[str, ...]
    is_word: bool
    is_space: bool
    is_hyphen: bool
    ends_sentence: bool
    is_number: bool


@dataclass
class Words:
    """The words of a Doc with what the rules need of each, by index.

    lower (list[str]): The word in lower case.
    surface (list[tuple]): The word alone, for lists where inflection matters (cues).
    forms (list[tuple]): The word, its singular, its lemma: for all other lists.
    is_word (list[bool]): False for punctuation.
    is_number (list[bool]): "12", "1.2"; number words are in the word lists.
    tokens (list[int]): Index of the token in the Doc.
    sentences (list[tuple]): Start and end word of each sentence.
    sentence_of (list[int]): Index of the sentence of each word.
    pos (list[int]): Coarse part of speech (spacy.symbols), 0 where not tagged.
    finite (list[bool]): Tagged as a finite verb.
    """

    doc: Doc
    lower: list[str]
    surface: list[tuple[str]]
    forms: list[tuple[str, ...]]
    is_word: list[bool]
    is_number: list[bool]
    tokens: list[int]
    sentences: list[tuple[int, int]]
    sentence_of: list[int]
    pos: list[int]
    finite: list[bool]
    word_of_token: list[int]

    def __len__(self) -> int:
        return len(self.lower)

    def token_range(self, start: int, end: int) -> tuple[int, int]:
        """First and last-plus-one token of words[start:end]."""
        return self.tokens[start], self.tokens[end - 1] + 1

    def text(self, start: int, end: int) -> str:
        """words[start:end] as they stand in the report."""
        first, last = self.token_range(start, end)
        return self.doc[first:last].text

    def offsets(self, start: int, end: int) -> tuple[int, int]:
        """Character offsets of words[start:end] in the report."""
        first, last = self.token_range(start, end)
        span = self.doc[first:last]
        return span.start_char, span.end_char

    def located(self, start: int, end: int) -> dict:
        """words[start:end] with offsets, as it is stored in a record."""
        first, last = self.token_range(start, end)
        span = self.doc[first:last]
        return {
            "text": span.text,
            "start_char": span.start_char,
            "end_char": span.end_char,
        }

    def word_range(self, start: int, end: int) -> tuple[int, int]:
        """The words within tokens[start:end]; both ends equal where there are none."""
        return self.word_of_token[start], self.word_of_token[end]


def read_words(doc: Doc) -> Words:
    """Read the words of a Doc, in one pass.

    doc (Doc): Tags and lemmas are used where present.
    RETURNS (Words): Refers to the Doc, copies no text.
    """
    n = len(doc)
    texts = [token.text for token in doc]
    spaces = [bool(token.whitespace_) for token in doc]
    hidden = _deidentified_tokens(doc)
    tagged = doc.has_annotation("TAG")
    lemmas, poses, tags = _annotations(doc, tagged)
    words = Words(doc, [], [], [], [], [], [], [], [], [], [], [])
    after_newline = True
    start = 0
    for i in range(n):
        words.word_of_token.append(len(words.lower))
        kind = word_type(texts[i])
        if kind.is_space:
            breaks = texts[i].count("\n")
            after_newline = after_newline or breaks > 0
            if breaks > 1 or (breaks and _starts_sentence(texts, i + 1)):
                start = _close(words, start)
            continue
        if i in hidden:
            continue
        at_start = after_newline or len(words.lower) == start
        after_newline = False
        if kind.is_hyphen:
            if at_start:
                start = _close(words, start)
            continue
        if at_start and (
            texts[i] == ")"
            or (_ENUMERATOR.match(texts[i]) and _is_list_mark(texts, i))
        ):
            start = _close(words, start)
            continue
        if kind.ends_sentence:
            start = _close(words, start)
            continue
        lower, forms = kind.lower, kind.forms
        if lower == "?":
            prefix = i + 1 < n and not spaces[i] and texts[i + 1][:1].isalpha()
            alone = i + 1 < n and (i == 0 or spaces[i - 1]) and texts[i + 1].islower()
            lower = QUESTION_BEFORE if prefix or alone else QUESTION_AFTER
            forms = (lower,)
        elif lemmas and lemmas[i] and lemmas[i] not in forms:
            forms = (*forms, lemmas[i])
        words.lower.append(lower)
        words.surface.append((lower,))
        words.forms.append(forms)
        words.is_word.append(kind.is_word)
        words.is_number.append(kind.is_number)
        words.tokens.append(i)
        words.pos.append(poses[i] if poses else 0)
        words.finite.append(bool(tags) and tags[i] in _FINITE_TAGS)
        words.sentence_of.append(len(words.sentences))
        if lower == QUESTION_AFTER:
            start = _close(words, start)
    _close(words, start)
    words.word_of_token.append(len(words.lower))
    return words


@lru_cache(maxsize=50_000)
def word_type(text: str) -> WordType:
    """What a token's text alone tells; cached, since reports repeat their words."""
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
    )


def is_nominal(pos: int) -> bool:
    return pos in (NOUN, PROPN)


def is_describing(pos: int) -> bool:
    return pos in (ADJ, NUM)


def is_verbal(pos: int) -> bool:
    return pos in (VERB, AUX)


def is_adverb(pos: int) -> bool:
    return pos == ADV


def _annotations(
    doc: Doc, tagged: bool
) -> tuple[Sequence[str], Sequence[int], Sequence[int]]:
    lemmas: Sequence[str] = ()
    poses: Sequence[int] = ()
    tags: Sequence[int] = ()
    if doc.has_annotation("LEMMA"):
        strings = doc.vocab.strings
        lemmas = [
            strings[lemma].lower() for lemma in doc.to_array([LEMMA]).ravel().tolist()
        ]
    if tagged or doc.has_annotation("POS"):
        pairs = doc.to_array([POS, TAG]).tolist()
        poses = [pair[0] for pair in pairs]
        tags = [pair[1] for pair in pairs]
    return lemmas, poses, tags


def _deidentified_tokens(doc: Doc) -> set[int]:
    hidden: set[int] = set()
    text = doc.text
    if "XXX" not in text and "__" not in text and "[**" not in text:
        return hidden
    for match in _DEIDENTIFIED.finditer(text):
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


def _starts_sentence(texts: Sequence[str], at: int) -> bool:
    """Whether a line begins with a capitalised word: "Heart size is normal"."""
    return at < len(texts) and len(texts[at]) > 1 and texts[at].istitle()


def _is_list_mark(texts: Sequence[str], at: int) -> bool:
    """Whether a number at the start of a line or sentence only counts items."""
    if len(texts[at]) > 1 and texts[at][-1] in ".)":
        return True
    return at + 1 < len(texts) and texts[at + 1] in (".", ")")
