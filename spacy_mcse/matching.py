"""Longest-match lookup of multi-word terms over a sequence of words."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Optional, TypeVar

T = TypeVar("T")
# No word is None, so it can mark the end of a term inside the tree of words.
_END = None


if TYPE_CHECKING:

    class Match(NamedTuple, Generic[T]):
        """A term found in words[start:end]."""

        start: int
        end: int
        value: T

else:

    class Match(NamedTuple):
        """A term found in words[start:end]."""

        # Python 3.10 has no generic named tuples.
        start: int
        end: int
        value: Any


class TermMatcher(Generic[T]):
    """Find terms by their words; each word may be given in several forms."""

    def __init__(self, terms: Iterable[tuple[str, T]]) -> None:
        """terms (Iterable): Pairs of a term, words separated by blanks, and its value.

        The first value of a term wins.
        """
        self._root: dict = {}
        for term, value in terms:
            node = self._root
            for word in term.split():
                node = node.setdefault(word, {})
            node.setdefault(_END, value)

    def longest(
        self, forms: Sequence[Sequence[str]], start: int, stop: int
    ) -> Optional[Match[T]]:
        """The longest term that begins at one word.

        forms (Sequence): For each word the forms to try, the word itself first.
        start (int): Index of the word where the term must begin.
        stop (int): Index after the last word that the term may use.
        """
        root = self._root
        # Most words begin no term: leave them before anything is built.
        if start >= stop:
            return None
        for form in forms[start]:
            if form in root:
                break
        else:
            return None
        best: Optional[Match[T]] = None
        stack = [(root, start)]
        while stack:
            node, at = stack.pop()
            if _END in node and (best is None or at > best.end):
                best = Match(start, at, node[_END])
            if at < stop:
                # Reversed, so that the word as it stands is tried before its lemma.
                for form in reversed(forms[at]):
                    if form in node:
                        stack.append((node[form], at + 1))
        return best if best is not None and best.end > start else None

    def all(
        self, forms: Sequence[Sequence[str]], start: int, stop: int
    ) -> list[Match[T]]:
        """Terms of words[start:stop], leftmost and longest first, not overlapping."""
        found = []
        root = self._root
        at = start
        while at < stop:
            # Most words begin no term: leave them before anything is built.
            for form in forms[at]:
                if form in root:
                    match = self.longest(forms, at, stop)
                    break
            else:
                match = None
            if match is not None:
                found.append(match)
                at = match.end
            else:
                at += 1
        return found
