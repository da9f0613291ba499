"""The word lists, read once and made ready for matching."""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Optional

from .data import SIGNIFICANCES
from .errors import Errors
from .inflection import plurals, singulars
from .lexicons import read_table, split_terms
from .matching import TermMatcher
from .spelling import Spelling

FINDING, ANATOMY, DEVICE, PROCEDURE, CHEMICAL, OTHER = (
    "FINDING",
    "ANATOMY",
    "DEVICE",
    "PROCEDURE",
    "CHEMICAL",
    "OTHER",
)
ANY_ANATOMY = "*"
# In the concept of a state of any structure: the name of the structure.
ANATOMY_MARK = "{anatomy}"
# The class of words of which none is a slip for another.
_ABBREVIATED = "abbreviated"
# The columns of every list; the README describes them for users who bring their own.
COLUMNS = {
    "findings": ("concept", "terms", "kind"),
    "anatomy": ("concept", "terms", "region"),
    "devices": ("concept", "terms"),
    "procedures": ("concept", "terms", "kind"),
    "chemicals": ("concept", "terms"),
    "abnormal_states": ("concept", "adjectives", "anatomy", "generic", "nouns"),
    "normal_states": ("state", "terms"),
    "denials": ("anatomy", "denies"),
    "modifiers": ("kind", "value", "terms"),
    "cues": ("polarity", "direction", "scope", "terms"),
    "word_classes": ("class", "terms"),
    "not_clinical": ("kind", "terms"),
    "labels": ("category", "labels"),
    "semantic_types": ("type", "category", "name"),
    "sections": ("section", "headings"),
    "suffixes": ("suffix", "category", "exceptions"),
    "real_words": ("kind", "terms"),
    "abbreviations": ("word", "short"),
    "significance": ("significance", "concepts"),
    "families": ("family", "concepts"),
}
# Where the words stand that a misspelt word may be meant for; the nouns among them
# have plurals.
_NOUN_COLUMNS = {
    "findings": ("concept", "terms"),
    "anatomy": ("concept", "terms"),
    "devices": ("concept", "terms"),
    "procedures": ("concept", "terms"),
    "abnormal_states": ("nouns",),
}
_WORD_COLUMNS = {
    **_NOUN_COLUMNS,
    "chemicals": ("concept", "terms"),
    "abnormal_states": ("adjectives", "nouns"),
    "normal_states": ("terms",),
    "modifiers": ("terms",),
    "cues": ("terms",),
    "word_classes": ("terms",),
    "not_clinical": ("terms",),
}
# Endings of last words of terms that have no plural: "dehydrated", "widening".
_NO_NOUNS = ("ed", "ing", "ic")


class Term(NamedTuple):
    """What a term of the lists stands for; `kind` refines the category."""

    category: str
    concept: str
    kind: str


class Cue(NamedTuple):
    """One meaning of a cue: see the head of cues.tsv."""

    polarity: str
    direction: str
    scope: str


class State(NamedTuple):
    """An adjective that makes a finding of some structures."""

    concept: str
    anatomy: frozenset[str]


class Vocabulary:
    """All word lists as matchers and sets.

    terms (TermMatcher[Term]): Findings, anatomy, devices, procedures, chemicals.
    modifiers (TermMatcher): Terms to pairs of kind and value.
    cues (TermMatcher): Terms to the meanings of the cue.
    states (TermMatcher): Adjectives to the findings that they make.
    state_nouns (TermMatcher): The same for nouns: "prominence of the hilum".
    normal (TermMatcher): What a report calls normal.
    fingerprint (str): Hash of all lists; goes into the signature of a score.
    classes (dict[str, frozenset]): Closed word classes, single words.
    class_terms (dict[str, TermMatcher]): The same with several words.
    abbreviations (dict[str, str]): Short form of a word to the word.
    spelling (Optional[Spelling]): What misspelt words stand for; None: not asked for.
    significance (dict[str, str]): Concept to "urgent", "actionable", "minor" or
        "expected"; states of any structure by their pattern, "enlarged {anatomy}".
        A concept that is not there is actionable.
    finding_names (dict[str, str]): Each listed term of a finding to its concept.
    families (dict[str, frozenset[str]]): Concept to the names of its families; two
        concepts with a family in common are nearly the same to a reader.
    """

    def __init__(self, texts: Mapping[str, str], fix_spelling: bool = True) -> None:
        tables = {
            name: read_table(name, columns, texts.get(name))
            for name, columns in COLUMNS.items()
        }
        content = json.dumps(tables, sort_keys=True).encode("utf8")
        self.fingerprint = hashlib.sha256(content).hexdigest()[:12]
        self.regions = {row["concept"]: row["region"] for row in tables["anatomy"]}
        self.terms = TermMatcher(_terms(tables))
        self.modifiers = TermMatcher(
            _grouped(
                (term, (row["kind"], row["value"]))
                for row in tables["modifiers"]
                for term in split_terms(row["terms"])
            )
        )
        self.cues = TermMatcher(
            _grouped(
                (term, Cue(row["polarity"], row["direction"], row["scope"]))
                for row in tables["cues"]
                for term in split_terms(row["terms"])
            )
        )
        self.states = TermMatcher(
            _grouped(
                (term, State(row["concept"], frozenset(split_terms(row["anatomy"]))))
                for row in tables["abnormal_states"]
                for term in split_terms(row["adjectives"])
            )
        )
        self.state_nouns = TermMatcher(
            _grouped(
                (term, State(row["concept"], frozenset(split_terms(row["anatomy"]))))
                for row in tables["abnormal_states"]
                for term in split_terms(row["nouns"])
            )
        )
        self.normal = TermMatcher(
            (variant, row["state"])
            for row in tables["normal_states"]
            for term in split_terms(row["terms"])
            for variant in spelling_variants(term)
        )
        self.denials = {
            row["anatomy"]: tuple(split_terms(row["denies"]))
            for row in tables["denials"]
        }
        # A list of a user's own may lack a class: then no word belongs to it.
        self.classes: dict[str, frozenset[str]] = defaultdict(
            frozenset,
            {
                row["class"]: frozenset(split_terms(row["terms"]))
                for row in tables["word_classes"]
            },
        )
        self.class_terms: dict[str, TermMatcher[bool]] = defaultdict(
            _no_terms,
            {
                name: TermMatcher((term, True) for term in terms)
                for name, terms in self.classes.items()
            },
        )
        self.not_clinical = frozenset(
            term for row in tables["not_clinical"] for term in split_terms(row["terms"])
        )
        self.labels = {
            label: row["category"]
            for row in tables["labels"]
            for label in split_terms(row["labels"])
        }
        self.semantic_types = {
            row["type"]: row["category"] for row in tables["semantic_types"]
        }
        self.abbreviations = {
            short: row["word"]
            for row in tables["abbreviations"]
            for short in split_terms(row["short"])
        }
        self.suffixes = tuple(
            (row["suffix"], row["category"], frozenset(split_terms(row["exceptions"])))
            for row in tables["suffixes"]
        )
        self.sections = {
            heading: row["section"]
            for row in tables["sections"]
            for heading in split_terms(row["headings"])
        }
        self.finding_concepts = frozenset(row["concept"] for row in tables["findings"])
        self.finding_names = {
            name: row["concept"]
            for row in reversed(tables["findings"])
            for name in (row["concept"], *split_terms(row["terms"]))
        }
        _check_significance(tables["significance"])
        self.significance = {
            concept: row["significance"]
            for row in tables["significance"]
            for concept in split_terms(row["concepts"])
        }
        self._patterns = [
            (
                re.compile(re.escape(concept).replace(re.escape(ANATOMY_MARK), ".+")),
                name,
            )
            for concept, name in self.significance.items()
            if ANATOMY_MARK in concept
        ]
        families: dict[str, set[str]] = defaultdict(set)
        for row in tables["families"]:
            for concept in split_terms(row["concepts"]):
                families[concept].add(row["family"])
        self.families = {c: frozenset(names) for c, names in families.items()}
        self._by_suffix: dict[str, str] = {}
        self._by_pattern: dict[str, str] = {}
        self.last_words, self.first_words = _edge_words(tables, self.classes)
        self.spelling = _spelling(tables) if fix_spelling else None
        self._made_of = dict(texts), fix_spelling

    def __reduce__(self) -> tuple[Any, ...]:
        # Workers build the lists anew: cheaper than sending them.
        return load_vocabulary, self._made_of

    def suffix_category(self, word: str) -> str:
        """The category that the ending of an unknown word tells, '' where none."""
        if word not in self._by_suffix:
            if len(self._by_suffix) > _MAX_CACHED_WORDS:
                self._by_suffix.clear()
            self._by_suffix[word] = next(
                (
                    category
                    for suffix, category, exceptions in self.suffixes
                    if word.endswith(suffix)
                    and len(word) >= len(suffix) + 2
                    and word not in exceptions
                ),
                "",
            )
        return self._by_suffix[word]

    def significance_of(self, concept: str) -> str:
        """The class of significance of a concept, '' where no list says.

        States of any structure are listed by their pattern, "displaced {anatomy}".
        """
        own = self.significance.get(concept)
        if own is not None:
            return own
        if concept not in self._by_pattern:
            if len(self._by_pattern) > _MAX_CACHED_WORDS:
                self._by_pattern.clear()
            self._by_pattern[concept] = next(
                (
                    name
                    for pattern, name in self._patterns
                    if pattern.fullmatch(concept)
                ),
                "",
            )
        return self._by_pattern[concept]

    def denied_by(self, anatomy: str, state: str = "") -> tuple[str, ...]:
        """Concepts of findings that a normal statement about a structure rules out.

        anatomy (str): Concept of the structure.
        state (str): Kind of the normal state; "intact" says less than "normal".
        """
        limit = self.denials.get(f"state:{state}")
        denied = self._denied(anatomy)
        return denied if limit is None else tuple(c for c in denied if c in limit)

    def _denied(self, anatomy: str) -> tuple[str, ...]:
        own = self.denials.get(anatomy, ())
        region = self.denials.get(f"region:{self.regions.get(anatomy, '')}", ())
        return own or region


_MAX_CACHED_WORDS = 50_000


def _no_terms() -> TermMatcher[bool]:
    return TermMatcher(())


def _check_significance(rows: Iterable[Mapping[str, str]]) -> None:
    """Refuse classes that have no weight among the settings of the score."""
    for number, row in enumerate(rows, start=1):
        if row["significance"] not in SIGNIFICANCES:
            raise ValueError(
                Errors.E106.format(
                    name="significance",
                    line=f"of row {number}",
                    problem=f"{row['significance']!r} is none of "
                    f"{', '.join(SIGNIFICANCES)}",
                    columns="significance, concepts",
                )
            )


def _edge_words(
    tables: Mapping[str, list[dict[str, str]]], classes: Mapping[str, frozenset[str]]
) -> tuple[frozenset[str], frozenset[str]]:
    """The words with which a statement may end, and with which one may begin."""

    def terms(name: str, column: str = "terms", kind: str = "") -> Iterable[str]:
        for row in tables[name]:
            if not kind or row["kind"] == kind:
                yield from split_terms(row[column])

    clinical = [(term, value.category) for term, value in _terms(tables)]
    last = [term for term, category in clinical if category != ANATOMY]
    last += terms("normal_states")
    last += terms("abnormal_states", "adjectives")
    last += terms("modifiers", kind="change")
    first = [term for term, _ in clinical]
    first += terms("normal_states")
    first += terms("modifiers")
    first += terms("cues")
    # In "right lower lobe Pneumonia" a capital letter starts nothing.
    structures = frozenset(t.split()[-1] for t, c in clinical if c == ANATOMY)
    return (
        (frozenset(term.split()[-1] for term in last) | classes["noticed"])
        - structures,
        frozenset(term.split()[0] for term in first) | classes["determiner"],
    )


def load_vocabulary(
    texts: Optional[Mapping[str, str]] = None, fix_spelling: bool = True
) -> Vocabulary:
    """The vocabulary; built once in a process for the same lists.

    texts (Optional[Mapping[str, str]]): The text of lists of the user's own by the
        name of the packaged list that they replace.
    fix_spelling (bool): Read misspelt long words as the words of the lists.
    RAISES (ValueError): E106 for a malformed list.
    """
    return _load(tuple(sorted((texts or {}).items())), bool(fix_spelling))


@lru_cache(maxsize=8)
def _load(texts: tuple[tuple[str, str], ...], fix_spelling: bool) -> Vocabulary:
    return Vocabulary(dict(texts), fix_spelling)


def spelling_variants(term: str) -> list[str]:
    """A term as tokenizers cut it: "r/o" is one token or three."""
    variants = [term]
    if "/" in term:
        variants.append(" ".join(term.replace("/", " / ").split()))
        variants.append(" ".join(term.replace("/", " /").split()))
    return variants


def _spelling(tables: Mapping[str, list[dict[str, str]]]) -> Spelling:
    words = {
        word for term in _cells(tables, _WORD_COLUMNS) for word in _single_words(term)
    }
    for term in _cells(tables, _NOUN_COLUMNS):
        noun = _single_words(term)[-1]
        if not noun.endswith(_NO_NOUNS) and not singulars(noun):
            words.update(plurals(noun))
    concepts = {term: value.concept for term, value in _terms(tables)}
    return Spelling(words, _cells(tables, {"real_words": ("terms",)}), concepts)


def _cells(
    tables: Mapping[str, list[dict[str, str]]], columns: Mapping[str, tuple[str, ...]]
) -> Iterable[str]:
    """All terms of some columns."""
    for name, names in columns.items():
        for row in tables[name]:
            if row.get("class") == _ABBREVIATED:
                continue  # nothing is a slip for them
            for column in names:
                yield from split_terms(row[column])


def _single_words(term: str) -> list[str]:
    return term.replace("/", " ").split() or [term]


def _terms(tables: Mapping[str, list[dict[str, str]]]) -> Iterable[tuple[str, Term]]:
    # The order decides which list a term belongs to that stands in two of them.
    for name, category in (
        ("findings", FINDING),
        ("devices", DEVICE),
        ("procedures", PROCEDURE),
        ("chemicals", CHEMICAL),
        ("anatomy", ANATOMY),
    ):
        for row in tables[name]:
            value = Term(category, row["concept"], row.get("kind", ""))
            for term in (row["concept"], *split_terms(row["terms"])):
                for variant in spelling_variants(term):
                    yield variant, value


def _grouped(pairs: Iterable[tuple[str, tuple]]) -> list[tuple[str, tuple]]:
    """All values of the same term together, in the order of the list."""
    groups: dict[str, list] = defaultdict(list)
    for term, value in pairs:
        for variant in spelling_variants(term):
            if value not in groups[variant]:
                groups[variant].append(value)
    return [(term, tuple(values)) for term, values in groups.items()]
