"""Base forms of English and Latin plurals, for pipelines without a lemmatizer."""

from functools import lru_cache

# (ending, replacements): every candidate is tried against the word lists, so a
# candidate that is no word costs nothing.
_PLURALS = (
    ("ies", ("y",)),
    ("ices", ("ex", "ix")),
    ("aces", ("ax", "ace")),
    ("inges", ("inx",)),
    ("ses", ("sis", "s", "se")),
    ("xes", ("x", "xis")),
    ("ches", ("ch", "che")),
    ("shes", ("sh",)),
    ("ves", ("f", "fe", "ve")),
    ("mata", ("ma",)),
    ("ae", ("a",)),
    ("zes", ("z", "ze")),
    ("i", ("us",)),
    ("a", ("um", "on")),
    ("s", ("",)),
)
_MIN_STEM = 3


@lru_cache(maxsize=20_000)
def singulars(word: str) -> tuple[str, ...]:
    """Candidates for the singular of a lower-case word, best first.

    word (str): One lower-case word.
    RETURNS (tuple[str, ...]): Empty where the word has no plural ending.
    """
    if len(word) <= _MIN_STEM or word.endswith(("ss", "us", "is")):
        return ()
    for ending, replacements in _PLURALS:
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            stem = word[: -len(ending)]
            return tuple(stem + replacement for replacement in replacements)
    return ()
