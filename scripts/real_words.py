"""Print the words of a dictionary that would be read as a mistake for a list word.

    python scripts/real_words.py /usr/share/dict/words ...

Each is one edit from a word of the lists and not in `real_words.tsv` yet: add those
that reports may use. Dictionaries have one word a line.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from spacy_mcse.vocabulary import load_vocabulary


def taken_for_mistakes(words: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of a word and what it is read as, by alphabet."""
    spelling = load_vocabulary().spelling
    assert spelling is not None
    pairs = ((word, spelling.correct(word)) for word in sorted(set(words)))
    return [(word, read_as) for word, read_as in pairs if word != read_as]


if __name__ == "__main__":
    read = (Path(path).read_text("utf8").splitlines() for path in sys.argv[1:])
    lower = (word for words in read for word in words if word.islower())
    for word, read_as in taken_for_mistakes(lower):
        print(f"{word}\t{read_as}")
