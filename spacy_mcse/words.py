"""A Doc as plain lists of words: what all rules read, whatever the text looks like.

White space, hyphens and de-identification marks are left out, so that line breaks,
double spaces and "mild-to-moderate" never split a phrase or a scope. Sentence ends are
read from the text: parsers trained on news split report style in odd places.
"""

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import LEMMA, ORTH, POS, SPACY
from spacy.symbols import NOUN, PROPN
from spacy.tokens import Doc

from .inflection import singulars
from .word_types import SPACE, STOP, WordType, word_type

_REMOVED_IN_BRACKETS = re.compile(r"\[\*\*.{0,80}?\*\*\]", re.DOTALL)
# A line that ends so goes on in the next one, whatever that begins with.
_HANGS = frozenset(
    (
        *("and", "or", "nor", "of", "in", "at", "for", "from", "by", "with"),
        *("without", "the", "a", "an"),
    )
)
# A line that ends so goes on in the next one where that begins in lower case.
_GO_ON = _HANGS | {"on", "no", "to", ",", "/", "-", "&"}
# ... and so, but for "effusion on the left", "effusion small", "heart is large".
_DESCRIBES = frozenset(
    ("right", "left", "small", "large", "mild", "moderate", "severe")
)
_ENDS_IN_FRONT = frozenset(("is", "are", "was", "were", "appears", ":"))
# A line that begins so goes on from the one before.
_GOES_ON = frozenset(("or", "and", "nor", "of", "with", "in", "to", "than", "which"))
# Characters: a longer line without a full stop was wrapped, and goes on in the next.
_FULL_LINE = 60
_LONGEST_HEAD = 2  # words in front of a dash that stands for a colon
_DASH_LINE = re.compile(
    r"^[ \t]*[^\W\d_]+(?: [^\W\d_]+)? [-\u2013\u2014\u2212] ", re.MULTILINE
)
# Punctuation as it is spoken in dictation, but for "a period of", "rest period".
_SPOKEN_STOP, _SPOKEN_COMMA = "period", "comma"
_NOT_SPOKEN_BEHIND = frozenset(
    (
        *("a", "the", "this", "that", "time", "interval", "same", "short", "long"),
        *("brief", "postoperative", "perioperative", "day", "week", "month", "year"),
        *("menstrual", "each", "every", "during", "recovery", "waiting", "in"),
    )
)
# How a question mark is written in the cue lists: in front of or after a phrase.
QUESTION_BEFORE, QUESTION_AFTER = "?", "?-"
# A hyphen alone in round brackets is a sign of absence.
MINUS = "(-)"


_RULES = frozenset("|*")  # of tables and lists
# Behind a hyphen with spaces these still make one word: "left - sided".
_COMPOUND_ENDS = frozenset(("sided", "based", "like", "shaped", "appearing", "to"))


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


def word_columns(doc: Doc) -> NDArray[np.uint64]:
    """All that is read of a Doc's tokens, one row each.

    RETURNS (NDArray): uint64 (tokens, 4): text, space behind, part of speech, lemma.
    """
    # One array for all: making a Token object for each word costs far more.
    return np.asarray(doc.to_array([ORTH, SPACY, POS, LEMMA]), np.uint64)


def read_words(
    doc: Doc,
    columns: NDArray[np.uint64],
    last_words: Set[str] = frozenset(),
    first_words: Set[str] = frozenset(),
    abbreviated: Set[str] = frozenset(),
    find_breaks: Optional[Callable[[str], Sequence[int]]] = None,
) -> Words:
    """Read the words of a Doc, in one pass.

    doc (Doc): Tags and lemmas are used where present.
    columns (NDArray): What `word_columns` gives for the Doc.
    last_words (Set[str]): Words with which a statement may end, and
    first_words (Set[str]): with which one may begin: between the two a capital
        letter ends a sentence that has no full stop.
    abbreviated (Set[str]): Words behind which a full stop ends no sentence where more
        follows in lower case: "Lt. base", "no sig. effusion".
    find_breaks (Optional[Callable]): Gives the offsets in a text where a sentence ends
        whatever stands there, in order: in front of headings.
    RETURNS (Words): The words; nothing is written.
    """
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
    # Telegraphic text has one statement a line and no full stops.
    by_lines = not any(kind.ends_sentence for kind in kinds)
    has_labels = texts.count(":") > 1
    lowers, tokens = words.lower, words.tokens
    sentences, sentence_of = words.sentences, words.sentence_of
    after_newline = True
    start = line_start = line_first = 0
    ahead = list(reversed(find_breaks(words.text))) if find_breaks else []
    for i, kind in enumerate(kinds):
        words.word_of_token.append(len(words.lower))
        while ahead and offsets[i + 1] > ahead[-1]:
            start = _close(words, start)
            ahead.pop()
        if kind.is_space:
            after_newline = after_newline or kind.line_breaks > 0
            if kind.line_breaks > 1 or (
                kind.line_breaks
                and _starts_line(
                    kinds,
                    i + 1,
                    _hangs(words, start, last_words),
                    by_lines and offsets[i] - line_start < _FULL_LINE,
                )
            ):
                start = _close(words, start)
            if kind.line_breaks:
                line_start, line_first = offsets[i + 1], len(words.lower)
            continue
        if kind.is_removed or i in hidden:
            continue
        at_start = after_newline or len(words.lower) == start
        if kind.may_count and not at_start:
            at_start = _starts_item(kinds, i, words.lower[start:])
        after_newline = False
        is_minus = kind.is_hyphen and _is_alone_in_brackets(kinds, i)
        is_dash = kind.is_hyphen and not at_start and _is_dash(kinds, spaces, i)
        if kind.is_hyphen and not (is_minus or is_dash):
            if at_start:
                start = _close(words, start)
            continue
        if at_start and kind.may_count and (i + 1 == n or _counts(kind, kinds[i + 1])):
            start = _close(words, start)
            continue
        if has_labels and _is_label(kinds, i) and ":" in words.lower[start:]:
            start = _close(words, start)  # "Pleura: no effusion Heart: enlarged"
        if kind.lower in _RULES and _parts_statements(kinds, i):
            start = _close(words, start)
            continue
        if kind.ends_sentence:
            if not (
                kind.lower == STOP and _goes_on(words, start, kinds, i, abbreviated)
            ):
                start = _close(words, start)
            continue
        lower, forms = kind.lower, kind.forms
        if lower in (_SPOKEN_STOP, _SPOKEN_COMMA) and _is_spoken(kinds, i):
            if lower == _SPOKEN_STOP:
                start = _close(words, start)
                continue
            lower, forms = ",", (",",)
        if kind.is_title and lower in first_words and len(words.lower) > start:
            before = kinds[words.tokens[-1]]
            if before.is_small and not last_words.isdisjoint(before.forms):
                start = _close(words, start)
        if lower == "?":
            following = kinds[i + 1] if i + 1 < n else None
            lower = QUESTION_AFTER
            if following is not None and (following.is_word or following.lower == "#"):
                apart = i == 0 or spaces[i - 1]
                if not spaces[i] or (apart and not following.is_title):
                    lower = QUESTION_BEFORE
            forms = (lower,)
        elif is_minus:
            lower, forms = MINUS, (MINUS,)
        elif is_dash:
            # In a list of organs "Aorta - unfolded" is "Aorta: unfolded".
            is_head = start == line_first and len(words.lower) - start <= _LONGEST_HEAD
            lower = ":" if is_head and _has_dash_lines(words.text) else ","
            forms = (lower,)
        elif lemmas[i]:
            forms = _with_lemma(forms, strings[lemmas[i]])
        for part in kind.parts or (lower,):
            if part == STOP:
                start = _close(words, start)
                continue
            lowers.append(part)
            words.forms.append((part, *singulars(part)) if kind.parts else forms)
            tokens.append(i)
            sentence_of.append(len(sentences))
        if lower == QUESTION_AFTER or (
            kind.has_stop and not _goes_on(words, start, kinds, i, abbreviated)
        ):
            start = _close(words, start)
    _close(words, start)
    words.word_of_token.append(len(words.lower))
    # What the token alone decides is filled in at once: quicker than word by word.
    words.surface = list(map(_surface, lowers))
    words.is_word = [
        kinds[i].is_word and lower != ","
        for i, lower in zip(tokens, lowers, strict=True)
    ]
    words.is_number = [kinds[i].is_number for i in tokens]
    words.starts = [offsets[i] for i in tokens]
    words.ends = [offsets[i] + len(texts[i]) for i in tokens]
    words.pos = [poses[i] for i in tokens]
    return words


def is_nominal(pos: int) -> bool:
    return pos in (NOUN, PROPN)


@lru_cache(maxsize=50_000)
def _with_lemma(forms: tuple[str, ...], lemma: str) -> tuple[str, ...]:
    lemma = lemma.lower()
    return forms if lemma in forms else (*forms, lemma)


@lru_cache(maxsize=50_000)
def _surface(word: str) -> tuple[str]:
    # One object for each word, not for each occurrence: less for the collector.
    return (word,)


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


def _goes_on(
    words: Words,
    start: int,
    kinds: Sequence[WordType],
    stop: int,
    abbreviated: Set[str],
) -> bool:
    """Whether a full stop only ends an abbreviation: "Lt. base", not "L. No mass"."""
    at = stop + 1
    if at < len(kinds) and kinds[at].is_space:
        # "no sig.  effusion"; in the next line only where the word must describe it
        hangs = len(words) > 1 and words.lower[-2] in _HANGS | {"no"}
        at += not kinds[at].line_breaks or (kinds[at].line_breaks == 1 and hangs)
    following = kinds[at] if at < len(kinds) else None
    return (
        following is not None
        and following.is_word
        and len(words.lower) > start
        and words.lower[-1] in abbreviated
        and (not following.is_title or len(words.lower) == start + 1)
    )


@lru_cache(maxsize=16)
def _has_dash_lines(text: str) -> bool:
    """Whether several lines have a dash behind their first words: a list of organs."""
    return len(_DASH_LINE.findall(text)) > 1


def _is_spoken(kinds: Sequence[WordType], at: int) -> bool:
    """Whether "period" or "comma" is punctuation that was dictated."""
    following = kinds[at + 1].lower if at + 1 < len(kinds) else ""
    return (
        at > 0
        and kinds[at - 1].lower not in _NOT_SPOKEN_BEHIND
        and following not in ("of", "between", "since")
    )


def _starts_line(
    kinds: Sequence[WordType], at: int, hangs: Optional[bool], by_lines: bool
) -> bool:
    """Whether a new statement starts with a line, not only a wrapped one goes on."""
    if at >= len(kinds):
        return False
    if any(kind.lower == ":" for kind in kinds[at + 1 : at + 4]):
        return True  # "HEART: ..."
    if hangs:
        return False
    if kinds[at].is_title:
        return True
    return by_lines and hangs is not None and kinds[at].lower not in _GOES_ON


def _hangs(words: Words, start: int, last_words: Set[str]) -> Optional[bool]:
    """Whether a line, which ends with the last word, must go on: "effusion or"; None
    where it does if the next one begins in lower case: "a small"."""
    said = words.lower[max(start, len(words) - 3) :]
    ending = said[-1] if said else ""
    if ending == ":" or ending in _HANGS:
        return True  # "HEART:", with what is said of it in the next line
    if ending in _GO_ON:
        return None
    if ending not in _DESCRIBES or len(said) < 2:
        return None if ending in _DESCRIBES else False
    ended = (
        said[-2] in _ENDS_IN_FRONT
        or not last_words.isdisjoint(words.forms[-2])
        or said[-3:-1] in (["on", "the"], ["to", "the"])
    )
    return False if ended else None


def _starts_item(kinds: Sequence[WordType], at: int, said: list[str]) -> bool:
    """Whether a number amid a line starts a list item: ": 1) ...", "...   2. ..."."""
    before = said[-1]
    if before != "(" and said.count("(") > said.count(")"):
        return False  # "(left 5-7)"
    if before == ":" or kinds[at - 1].is_space:
        return True
    following = kinds[at + 1].lower if at + 1 < len(kinds) else ""
    if before == "(":  # "(2) Nodule", but not "on image (2) there is ..."
        return following == ")" and at + 2 < len(kinds) and kinds[at + 2].is_title
    return following == ")" and before not in ("x", "of")


def _is_dash(kinds: Sequence[WordType], spaces: Sequence[int], at: int) -> bool:
    """Whether a hyphen parts two phrases as a comma does: "effusion - stable"."""
    if not (0 < at < len(kinds) - 1 and spaces[at - 1] and spaces[at]):
        return False
    if kinds[at + 1].lower in _COMPOUND_ENDS:
        return False
    return all(kinds[i].is_word and not kinds[i].is_number for i in (at - 1, at + 1))


def _parts_statements(kinds: Sequence[WordType], at: int) -> bool:
    """Whether a bar or star stands at the edge of a line or in front of an item."""
    before = kinds[at - 1] if at else SPACE
    following = kinds[at + 1] if at + 1 < len(kinds) else SPACE
    if before.is_space or following.is_space:
        return True
    return kinds[at].lower == "*" and following.is_title


def _is_label(kinds: Sequence[WordType], at: int) -> bool:
    """Whether a word begins a label: "Heart:", "Heart size:", "HEART:"."""
    if not kinds[at].is_word or kinds[at].is_small or kinds[at].is_number:
        return False
    if at + 1 < len(kinds) and kinds[at + 1].lower == ":":
        return True
    return (
        kinds[at].is_title
        and at + 2 < len(kinds)
        and kinds[at + 1].is_word
        and kinds[at + 2].lower == ":"
    )


def _is_alone_in_brackets(kinds: Sequence[WordType], at: int) -> bool:
    return (
        0 < at < len(kinds) - 1
        and kinds[at - 1].lower == "("
        and kinds[at + 1].lower == ")"
    )


def _counts(kind: WordType, following: WordType) -> bool:
    """Whether a number at the start of a line or sentence only counts items."""
    return kind.lower[-1] in ".)" or following.lower in (".", ")")
