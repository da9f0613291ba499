"""One pass over a Doc's words that marks terms, modifiers and cues for all rules."""

from dataclasses import dataclass, field
from typing import Optional

from spacy.tokens import Doc

from .inflection import singulars
from .matching import Match
from .sections import Section, find_sections
from .spelling import SHORTEST
from .vocabulary import Cue, Term, Vocabulary
from .words import Words, read_words, word_columns

Modifier = tuple[str, str]


@dataclass
class Reading:
    """The words of a Doc with everything from the word lists that is in them.

    words (Words): The words.
    vocabulary (Vocabulary): The lists that were matched.
    terms (list): Findings, anatomy, devices... by position, not overlapping.
    term_of (list): For each word the term that covers it, or None.
    modifier_of (list): For each word the modifier (kinds and values) or None.
    cue_ending (dict): Word index to the cue that ends before it.
    cue_starting (dict): Word index to the cue that starts there.
    in_cue (list[bool]): Word belongs to a cue that decides an assertion.
    history_ending (set): Words before which a cue of history ends: "history of".
    told_apart (set): Sentences with a cue of history or of what was only looked for.
    sections (list[Section]): The sections of the report.
    """

    words: Words
    vocabulary: Vocabulary
    terms: list[Match[Term]]
    term_of: list[Optional[Match[Term]]]
    modifier_of: list[Optional[Match[tuple[Modifier, ...]]]]
    cue_ending: dict[int, Match[tuple[Cue, ...]]]
    cue_starting: dict[int, Match[tuple[Cue, ...]]]
    in_cue: list[bool]
    history_ending: set[int] = field(default_factory=set)
    told_apart: set[int] = field(default_factory=set)
    sections: list[Section] = field(default_factory=list)

    def sentence(self, at: int) -> tuple[int, int]:
        """Start and end word of the sentence of a word."""
        return self.words.sentences[self.words.sentence_of[at]]

    def category(self, at: int) -> str:
        """Category of the term that covers a word, '' where none does."""
        term = self.term_of[at]
        return term.value.category if term is not None else ""

    def is_class(self, at: int, name: str) -> bool:
        """Whether a word belongs to a closed class of word_classes.tsv."""
        return self.words.lower[at] in self.vocabulary.classes[name]

    def after_class(self, at: int, stop: int, name: str) -> int:
        """The word after the longest member of a class that begins at a word.

        RETURNS (int): `at` itself where no member begins there.
        """
        match = self.vocabulary.class_terms[name].longest(self.words.surface, at, stop)
        return match.end if match is not None else at

    def is_likened(self, at: int) -> bool:
        """Whether a word makes a comparison of what it follows: "flu-like"."""
        return at < len(self.words) and self.words.lower[at] == "like"

    def kinds(self, at: int) -> frozenset[str]:
        """Kinds of the modifier that covers a word."""
        match = self.modifier_of[at]
        return frozenset(k for k, _ in match.value) if match is not None else _NO_KINDS


_NO_KINDS: frozenset[str] = frozenset()
_HISTORICAL = frozenset(("historical",))
_NOT_OF_THIS_STUDY = frozenset(("historical", "hypothetical"))
_SILENT = frozenset(("mask", "carrier", "end"))


# The source and the refiner read each Doc one after the other: the second finds the
# reading of the first. Told by all that is read of the Doc, never by its identity.
_last: Optional[tuple[bytes, Vocabulary, Reading]] = None


def read(doc: Doc, vocabulary: Vocabulary) -> Reading:
    """Mark terms, modifiers and cues in a Doc.

    doc (Doc): Any Doc; tags and lemmas are used where present.
    vocabulary (Vocabulary): The word lists.
    RETURNS (Reading): To be left as it is; nothing is written on the Doc.
    """
    global _last
    columns = word_columns(doc)
    content = columns.tobytes()
    last = _last
    if last is not None and last[0] == content and last[1] is vocabulary:
        return last[2]
    sections: list[Section] = []

    def find_breaks(text: str) -> list[int]:
        sections.extend(find_sections(text, vocabulary.sections))
        return [section.end_char for section in sections[:-1]]

    words = read_words(
        doc,
        columns,
        vocabulary.last_words,
        vocabulary.first_words,
        vocabulary.classes["abbreviated"],
        find_breaks,
    )
    _spell_out(words, vocabulary)
    n = len(words)
    reading = Reading(
        words, vocabulary, [], [None] * n, [None] * n, {}, {}, [False] * n
    )
    reading.sections = sections
    forms = words.forms
    for start, end in words.sentences:
        for term in vocabulary.terms.all(forms, start, end):
            reading.terms.append(term)
            for at in range(term.start, term.end):
                reading.term_of[at] = term
        for modifier in vocabulary.modifiers.all(forms, start, end):
            for at in range(modifier.start, modifier.end):
                reading.modifier_of[at] = modifier
        for cue in vocabulary.cues.all(words.surface, start, end):
            polarities = {meaning.polarity for meaning in cue.value}
            if polarities & _NOT_OF_THIS_STUDY:
                reading.told_apart.add(words.sentence_of[start])
            if polarities == _HISTORICAL:
                reading.history_ending.add(cue.end)
                continue
            reading.cue_starting[cue.start] = cue
            reading.cue_ending[cue.end] = cue
            if any(meaning.direction not in _SILENT for meaning in cue.value):
                for at in range(cue.start, cue.end):
                    reading.in_cue[at] = True
    _last = (content, vocabulary, reading)
    return reading


def _spell_out(words: Words, vocabulary: Vocabulary) -> None:
    """Put whole and right words in the place of short and misspelt ones.

    Only the words change that the lists are compared with; offsets stay.
    """
    abbreviations, spelling = vocabulary.abbreviations, vocabulary.spelling
    for at, lower in enumerate(words.lower):
        meant = abbreviations.get(lower)
        if meant is not None:
            if at and words.is_number[at - 1]:
                continue  # "5 min"
            if not words.is_word[at]:
                if not _stands_for_word(words, at):
                    continue
                words.is_word[at] = True
        elif spelling is None or len(lower) < SHORTEST - 1:
            continue
        else:
            meant = spelling.correct(lower)
            if meant == lower:
                continue
        words.lower[at] = meant
        words.surface[at] = (meant,)
        words.forms[at] = (meant, *singulars(meant))


def _stands_for_word(words: Words, at: int) -> bool:
    """Whether a sign is read as a word: "no #", not "film # 3", "more in # and size" or
    "# Findings"."""
    if at == 0 or words.lower[at - 1] == "in":
        return False
    if at + 1 < len(words) and words.is_number[at + 1]:
        return False
    return "\n" not in words.text[words.ends[at - 1] : words.starts[at]]
