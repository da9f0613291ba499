"""English and Latin plurals and their base forms, without a lemmatizer."""

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
# (ending, plurals), the first that fits.
_SINGULARS = (
    ("itis", ("itides", "itises")),
    ("sis", ("ses",)),
    ("ax", ("axes", "aces")),
    ("ix", ("ices",)),
    ("ex", ("exes", "ices")),
    ("us", ("uses", "i")),
    ("um", ("ums", "a")),
    ("nx", ("nxes", "nges")),
    ("ma", ("mas", "mata")),
    ("ra", ("ras", "rae")),
    ("la", ("las", "lae")),
    ("y", ("ies",)),
    ("s", ("ses",)),
    ("x", ("xes",)),
    ("ch", ("ches",)),
    ("sh", ("shes",)),
    ("", ("s",)),
)


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


def plurals(noun: str) -> tuple[str, ...]:
    """The regular plurals of a noun: "opacities", "pneumothoraxes, pneumothoraces".

    noun (str): A lower-case noun in the singular.
    """
    ending, plurals = next(row for row in _SINGULARS if noun.endswith(row[0]))
    if ending == "y" and noun[-2:-1] in tuple("aeiou"):
        return (noun + "s",)
    stem = noun.removesuffix(ending)
    return tuple(stem + plural for plural in plurals)
