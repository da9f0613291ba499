"""Misspelt long words: one letter too many, too few, wrong, or two changed over.

The idea is that of symmetric deletion: two words are one edit apart only if both give
the same string with at most one letter left out. So a look-up costs as many steps as
the word has letters, however long the lists are.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Optional

from .inflection import singulars

# Shorter words have too many real words beside them: "chromic", "humoral", "settling".
SHORTEST = 8
_MAX_CACHED_WORDS = 50_000
# (ending, what stood there before): forms of a known word are no mistakes.
_ENDINGS = (
    ("ed", ("", "e")),
    ("ing", ("", "e")),
    ("ly", ("", "le")),
    ("ally", ("",)),
    ("er", ("", "e")),
    ("ies", ("y",)),
    ("ied", ("y",)),
    ("ness", ("",)),
    ("less", ("",)),
)
# Last letters that make another word of a word: "hypoxemic", "angiography".
_LAST_OF_OTHERS = frozenset("acdeilrsy")
# Last letters without which a word is another one: "isolate", "diarrhea".
_LOST_BY_OTHERS = frozenset("dlr")
# Last letters of nouns that never make way for another: "effusion", "thorax".
_ENDS_NOUNS = frozenset("nx")


class Spelling:
    """Reads a misspelt word as the word of the lists that it stands for.

    words (Iterable[str]): Words in small letters that are right. Mistakes are read as
        those of at least `SHORTEST` letters.
    real_words (Iterable[str]): Further words that are right.
    concepts (Optional[Mapping[str, str]]): Concepts by word: a mistake for one of two
        words of the same concept is told all the same.
    """

    def __init__(
        self,
        words: Iterable[str],
        real_words: Iterable[str] = (),
        concepts: Optional[Mapping[str, str]] = None,
    ) -> None:
        self._words = frozenset(words)
        self._real_words = frozenset(real_words)
        self._concepts = dict(concepts or {})
        self._corrected: dict[str, str] = {}

    def correct(self, word: str) -> str:
        """The word that a word was meant to be.

        word (str): One word in small letters.
        RETURNS (str): The word itself where it is right, is short, or may stand for
            words of several concepts. The first letter counts as right.
        """
        if len(word) < SHORTEST - 1:
            return word
        corrected = self._corrected.get(word)
        if corrected is None:
            if len(self._corrected) > _MAX_CACHED_WORDS:
                self._corrected.clear()
            corrected = self._corrected[word] = self._look_up(word)
        return corrected

    def is_known(self, word: str) -> bool:
        """Whether a word, or a word of which it is a form, is right."""
        if word in self._words or word in self._real_words:
            return True
        if not self._words.isdisjoint(singulars(word)):
            return True
        return any(
            word[: -len(ending)] + before in self._words
            for ending, befores in _ENDINGS
            if word.endswith(ending)
            for before in befores
        )

    def _look_up(self, word: str) -> str:
        if not word.isalpha() or self.is_known(word):
            return word
        meant = {
            other
            for key in _keys(word)
            for other in self._by_key.get(key, ())
            if is_one_edit(word, other) and not _is_other_ending(word, other)
        }
        # "effusios" may be "effusion" or "effusions": one finding.
        plurals = {other for other in meant if not meant.isdisjoint(singulars(other))}
        # "hamothorax" may be "haemothorax" or "hemothorax": the same as well.
        meant -= plurals
        if len(set(map(self._concept, meant))) != 1:
            return word
        # The word that names the concept, or else the first by alphabet.
        return min(meant, key=self._preference)

    def _preference(self, word: str) -> tuple[bool, str]:
        return word != self._concept(word), word

    def _concept(self, word: str) -> str:
        for form in (word, *singulars(word)):
            if form in self._concepts:
                return self._concepts[form]
        return word

    @cached_property
    def _by_key(self) -> dict[str, tuple[str, ...]]:
        """The words by what a mistake may have left of them; built at first use."""
        index: dict[str, tuple[str, ...]] = {}
        for word in self._words:
            if len(word) < SHORTEST or not word.isalpha():
                continue
            itself = (word,)
            for key in _keys(word):
                others = index.get(key)
                index[key] = itself if others is None else others + itself
        return index


def is_one_edit(word: str, other: str) -> bool:
    """Whether one letter more, fewer, other or changed over makes one of the other.

    RETURNS (bool): False for equal words.
    """
    if len(word) > len(other):
        word, other = other, word
    if len(other) - len(word) > 1 or word == other:
        return False
    at = 0
    while at < len(word) and word[at] == other[at]:
        at += 1
    if len(word) < len(other):
        return word[at:] == other[at + 1 :]
    if word[at + 1 :] == other[at + 1 :]:
        return True
    changed_over = word[at : at + 2][::-1] == other[at : at + 2]
    return changed_over and word[at + 2 :] == other[at + 2 :]


def _is_other_ending(word: str, known: str) -> bool:
    """Whether a word only ends otherwise: "hypoxemic" is not meant for "hypoxemia"."""
    if known[-1] in _ENDS_NOUNS:
        return False
    if word[:-1] == known:
        return word[-1] in _LAST_OF_OTHERS and word[-1] != known[-1]
    if word == known[:-1]:
        return known[-1] in _LOST_BY_OTHERS
    return word[:-1] == known[:-1] and word[-1] in _LAST_OF_OTHERS


def _keys(word: str) -> Iterator[str]:
    """The word, and the word without each of its letters but the first."""
    yield word
    for at in range(1, len(word)):
        if word[at] != word[at - 1] or at == 1:  # "ss": the same with either left out
            yield word[:at] + word[at + 1 :]
