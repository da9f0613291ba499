"""The component `mcse_entity_refiner`: candidates in, clinical entities out."""

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Optional

from spacy.language import Language
from spacy.tokens import Doc, Span

from .candidates import SOURCE_ID, Candidate
from .data import PRESENT
from .errors import Errors, Warnings
from .extensions import install_extensions
from .filters import is_beyond_chest
from .given_assertion import GivenAssertion
from .lexicons import read_table
from .linked import KnowledgeBases, given_category, labelled_category
from .lists import ListsPipe
from .normal import find_normal
from .phrases import whole_phrase
from .reading import Reading, read
from .records import Refinement, entity_record, write_refinement
from .refining import (
    TRUSTED,
    Steps,
    assess,
    given_phrase,
    head_concept,
    refine,
)
from .scorer import DEFAULT_SCORE_WEIGHTS, SCORER, clinical_entity_score
from .sections import NO_SECTION, counted_ranges
from .vocabulary import COLUMNS, OTHER

FACTORY = "mcse_entity_refiner"
DEFAULT_SECTIONS = ["findings", "impression"]
# After how many Docs without an entity of the wanted labels a user is warned.
WARN_AFTER = 100

DEFAULT_CONFIG: dict[str, Any] = {
    "spans_in": None,
    "ent_types": None,
    "sections": DEFAULT_SECTIONS,
    "drop_devices": True,
    "drop_procedures": True,
    "drop_anatomy": True,
    "drop_change_only": True,
    "drop_single_adjectives": True,
    "drop_not_clinical": True,
    "drop_history": True,
    "drop_hypothetical": True,
    "attach_modifiers": True,
    "attach_assertion": True,
    "find_normal_statements": True,
    "fix_spelling": True,
    "lexicons": None,
    "scorer": {"@scorers": SCORER},
    "assertion_attr": None,
}
_REASON_OF_SETTING = {
    "drop_devices": "device",
    "drop_procedures": "procedure",
    "drop_anatomy": "anatomy",
    "drop_change_only": "change_only",
    "drop_single_adjectives": "single_adjective",
    "drop_not_clinical": "not_clinical",
    "drop_history": "history",
    "drop_hypothetical": "hypothetical",
}


@Language.factory(
    FACTORY,
    assigns=[
        "doc.spans",
        "doc._.clinical_entities",
        "doc._.normal_statements",
        "doc._.dropped_entities",
        "span._.assertion",
        "span._.negated",
        "span._.cue",
        "span._.attributes",
        "span._.mcse_text",
        "span._.concept",
        "span._.denies",
    ],
    requires=["doc.ents"],
    default_config=DEFAULT_CONFIG,
    default_score_weights=DEFAULT_SCORE_WEIGHTS,
)
def make_refiner(
    nlp: Language,
    name: str,
    spans_in: Optional[str],
    ent_types: Optional[list[str]],
    sections: Optional[list[str]],
    drop_devices: bool,
    drop_procedures: bool,
    drop_anatomy: bool,
    drop_change_only: bool,
    drop_single_adjectives: bool,
    drop_not_clinical: bool,
    drop_history: bool,
    drop_hypothetical: bool,
    attach_modifiers: bool,
    attach_assertion: bool,
    find_normal_statements: bool,
    fix_spelling: bool,
    lexicons: Optional[dict[str, str]],
    scorer: Optional[Callable],
    assertion_attr: Optional[str],
) -> "EntityRefiner":
    """Build the component; see `EntityRefiner` for the settings."""
    return EntityRefiner(
        name,
        spans_in=spans_in,
        ent_types=ent_types,
        sections=sections,
        drop_devices=drop_devices,
        drop_procedures=drop_procedures,
        drop_anatomy=drop_anatomy,
        drop_change_only=drop_change_only,
        drop_single_adjectives=drop_single_adjectives,
        drop_not_clinical=drop_not_clinical,
        drop_history=drop_history,
        drop_hypothetical=drop_hypothetical,
        attach_modifiers=attach_modifiers,
        attach_assertion=attach_assertion,
        find_normal_statements=find_normal_statements,
        fix_spelling=fix_spelling,
        lexicons=lexicons,
        scorer=scorer,
        assertion_attr=assertion_attr,
        nlp=nlp,
    )


class EntityRefiner(ListsPipe):
    """Refine the entities of a Doc (Gholipour Picha et al. 2024, section 3.1).

    name (str): Name in the pipeline.
    spans_in (Optional[str]): Span group with the candidates; None reads `doc.ents`.
    ent_types (Optional[Sequence[str]]): Labels of candidates to read; None reads all.
    sections (Optional[Sequence[str]]): Sections whose entities count; None counts all.
        Text in front of the first heading always counts.
    drop_devices (bool): Drop lab equipment.
    drop_procedures (bool): Drop diagnostic procedures.
    drop_anatomy (bool): Drop structures of which nothing is said.
    drop_change_only (bool): Drop words of change ("interval improvement").
    drop_single_adjectives (bool): Drop describing words without a finding.
    drop_not_clinical (bool): Drop what is no finding.
    drop_history (bool): Drop what is told of the past or the family ("history of").
    drop_hypothetical (bool): Drop what was only looked for ("rule out pneumonia").
    attach_modifiers (bool): Attach describing words, across "of", hyphens and lists.
    attach_assertion (bool): Attach negation and uncertainty.
    find_normal_statements (bool): Fill `doc._.normal_statements`.
    fix_spelling (bool): Read a long word with one mistake as the word of the lists:
        "cardiomegally". Offsets and `span.text` stay those of the report.
    lexicons (Optional[Mapping[str, str]]): Word lists of your own: path by the name of
        the packaged list. None uses the packaged lists.
    scorer (Optional[Callable]): What `nlp.evaluate` calls; None scores nothing.
    assertion_attr (Optional[str]): Span extension in which another component leaves
        the assertion of each candidate: "negex" of negspaCy. True is absent, False
        present; 'present', 'absent' and 'uncertain' are taken as they are; for None our
        rules decide, as they do for all without this setting. It is read once for a
        candidate and holds for all findings within it; `span._.cue` is None then, and
        `attach_assertion` False makes all present still. Normal statements and what is
        dropped, history and what was only looked for among it, go by our rules.
    nlp (Optional[Language]): The pipeline. Where one of its components is a linker such
        as scispaCy's, the best concept of `span._.kb_ents` tells the category of a
        span; else its label does, and for a label that says nothing its words.
    RAISES (ValueError): E104 for a string in place of a list, E105 for an unknown list.
    """

    def __init__(
        self,
        name: str = FACTORY,
        *,
        spans_in: Optional[str] = None,
        ent_types: Optional[Sequence[str]] = None,
        sections: Optional[Sequence[str]] = tuple(DEFAULT_SECTIONS),
        drop_devices: bool = True,
        drop_procedures: bool = True,
        drop_anatomy: bool = True,
        drop_change_only: bool = True,
        drop_single_adjectives: bool = True,
        drop_not_clinical: bool = True,
        drop_history: bool = True,
        drop_hypothetical: bool = True,
        attach_modifiers: bool = True,
        attach_assertion: bool = True,
        find_normal_statements: bool = True,
        fix_spelling: bool = True,
        lexicons: Optional[Mapping[str, str]] = None,
        scorer: Optional[Callable] = clinical_entity_score,
        assertion_attr: Optional[str] = None,
        nlp: Optional[Language] = None,
    ) -> None:
        super().__init__(name, lexicons, fix_spelling)
        # Not among the settings: how a pipeline is evaluated changes no entity.
        self.scorer = scorer
        drops = {
            "drop_devices": drop_devices,
            "drop_procedures": drop_procedures,
            "drop_anatomy": drop_anatomy,
            "drop_change_only": drop_change_only,
            "drop_single_adjectives": drop_single_adjectives,
            "drop_not_clinical": drop_not_clinical,
            "drop_history": drop_history,
            "drop_hypothetical": drop_hypothetical,
        }
        self.cfg: dict[str, Any] = {
            "spans_in": spans_in,
            "ent_types": _as_list(name, "ent_types", ent_types),
            "sections": self._known_sections(sections),
            **drops,
            "attach_modifiers": attach_modifiers,
            "attach_assertion": attach_assertion,
            "find_normal_statements": find_normal_statements,
            "fix_spelling": fix_spelling,
        }
        self._given: Optional[GivenAssertion] = None
        if assertion_attr is not None:
            # Not among the settings where it is not used: the hash of pipelines that
            # do without it stays what it was.
            self.cfg["assertion_attr"] = assertion_attr
            self._given = GivenAssertion(assertion_attr, name)
        self.steps = Steps(
            reasons=frozenset(_REASON_OF_SETTING[key] for key in drops if drops[key]),
            modifiers=attach_modifiers,
            assertion=attach_assertion,
        )
        self._knowledge_bases = KnowledgeBases(nlp)
        self._fingerprint: Optional[str] = None
        self._seen = 0
        self._matched = False
        # Documents without the group `spans_in`; None for good once one has it.
        self._lacking: Optional[int] = 0
        self._warned = False
        self._warned_of_region = False
        self._read = self._beyond_chest = 0
        install_extensions()

    def __call__(self, doc: Doc) -> Doc:
        """Refine one Doc; `doc.ents` is left as it was."""
        self.set_annotations(doc, self.refine(doc))
        return doc

    @property
    def fingerprint(self) -> str:
        """Hash of settings and word lists: equal ones refine alike."""
        if self._fingerprint is None or self._vocabulary is None:
            content = json.dumps(self.cfg, sort_keys=True) + self.vocabulary.fingerprint
            digest = hashlib.sha256(content.encode("utf8")).hexdigest()
            self._fingerprint = digest[:12]
        return self._fingerprint

    def refine(self, doc: Doc) -> Refinement:
        """Find the clinical entities of a Doc; nothing is written.

        doc (Doc): With entities, or the span group `spans_in`. A missing span group
            reads as empty.
        RETURNS (Refinement): Entities, devices, dropped candidates, normal statements.
        RAISES (ValueError): E108 where `assertion_attr` names no extension, E109 where
            the extension has a value that is no assertion.
        """
        reading = read(doc, self.vocabulary)
        spans = self._spans_in(doc)
        counted = _counted_words(reading, self.cfg["sections"])
        candidates = [self._candidate(reading, span) for span in spans]
        if self._given is not None:
            given = self._given.of_candidates(doc, spans)
            candidates = [
                candidate._replace(assertion=assertion)
                for candidate, assertion in zip(candidates, given, strict=True)
            ]
        entities, devices, dropped = refine(
            reading, candidates, self.steps, counted.__getitem__
        )
        normal = find_normal(reading) if self.cfg["find_normal_statements"] else []
        normal = [statement for statement in normal if counted[statement.start]]
        if entities and not self._warned_of_region:
            self._warn_of_region(reading)
        return Refinement(reading, entities, devices, dropped, normal)

    def set_annotations(self, doc: Doc, refinement: Refinement) -> None:
        """Write a refinement on its Doc: span groups with records, nothing else."""
        write_refinement(doc, refinement, self.fingerprint)

    def assess(self, doc: Doc, spans: Iterable[Span]) -> list[dict[str, Any]]:
        """Assess given spans without filtering and without changing the Doc.

        doc (Doc): The Doc of the spans.
        spans (Iterable[Span]): Any spans, in any order. With `assertion_attr`, each
            has what the other component left for its offsets; a span that it has not
            seen has the default of the extension, which for `negex` means present.
        RETURNS (list[dict]): For each span `assertion`, `cue`, `attributes` and
            `mcse_text`, as in `doc._.clinical_entities`.
        RAISES (ValueError): E108, E109 as `refine`.
        """
        if not isinstance(doc, Doc):
            raise TypeError(Errors.E203.format(got=type(doc).__name__))
        reading = read(doc, self.vocabulary)
        found: list[dict[str, Any]] = []
        for span in spans:
            if not isinstance(span, Span):
                raise TypeError(Errors.E204.format(got=type(span).__name__))
            phrase = given_phrase(
                reading, *reading.words.word_range(span.start, span.end)
            )
            if self._given is not None:
                phrase.assertion = self._given.of(span)
            if phrase.start >= phrase.end:
                found.append(
                    {
                        "assertion": PRESENT,
                        "cue": None,
                        "attributes": {},
                        "mcse_text": " ".join(span.text.lower().split()),
                    }
                )
                continue
            if self.steps.modifiers:
                whole_phrase(reading, phrase, *reading.sentence(phrase.start))
            entity = assess(
                reading, phrase, OTHER, head_concept(reading, phrase), self.steps
            )
            found.append(entity_record(reading, entity))
        return found

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Refine a stream; at its end warn once of labels that never occurred."""
        yield from super().pipe(stream, batch_size=batch_size)
        self._warn_of_labels(self._seen)

    def _warn_of_region(self, reading: Reading) -> None:
        """Warn once where most texts are not of the chest; a single one among others
        in a corpus of chest reports is no news."""
        self._read += 1
        if not is_beyond_chest(reading):
            return
        self._beyond_chest += 1
        if 2 * self._beyond_chest > self._read:
            self._warned_of_region = True
            warnings.warn(Warnings.W103.format(component=self.name), stacklevel=4)

    def _known_sections(self, sections: Optional[Sequence[str]]) -> Optional[list[str]]:
        """The names of sections in small letters; E105 for one that no list has."""
        names = _as_list(self.name, "sections", sections)
        if names is None or "sections" in self._paths:
            return names
        rows = read_table("sections", COLUMNS["sections"])
        known = {row["section"] for row in rows}
        for section in names:
            if section.lower() not in known:
                raise ValueError(
                    Errors.E105.format(
                        argument="sections",
                        component=self.name,
                        got=repr(section),
                        allowed=", ".join(sorted(known)),
                    )
                )
        return [section.lower() for section in names]

    def _spans_in(self, doc: Doc) -> list[Span]:
        key = self.cfg["spans_in"]
        if key is not None and len(doc):
            if self._lacking is not None:
                self._lacking = None if key in doc.spans else self._lacking + 1
            if self._lacking == WARN_AFTER:
                self._warn_of_labels(self._seen)
        spans = list(doc.ents if key is None else doc.spans.get(key, ()))
        wanted = self.cfg["ent_types"]
        if wanted is None:
            return spans
        chosen = [span for span in spans if span.label_ in wanted]
        self._seen += bool(spans)
        self._matched = self._matched or bool(chosen)
        if self._seen >= WARN_AFTER:
            self._warn_of_labels(self._seen)
        return chosen

    def _warn_of_labels(self, seen: int) -> None:
        wanted = self.cfg["ent_types"]
        if self._warned:
            return
        if self._lacking:
            message = Warnings.W102.format(
                component=self.name, n=self._lacking, key=self.cfg["spans_in"]
            )
        elif wanted is not None and not self._matched and seen:
            message = Warnings.W101.format(
                component=self.name,
                argument="ent_types",
                n=seen,
                labels=", ".join(wanted),
            )
        else:
            return
        self._warned = True
        warnings.warn(message, stacklevel=3)

    def _candidate(self, reading: Reading, span: Span) -> Candidate:
        start, end = reading.words.word_range(span.start, span.end)
        # The entity source names the concept in the span's id; ids of others mean
        # other things.
        if span.kb_id_ == SOURCE_ID:
            category, concept = labelled_category(span, self.vocabulary), span.id_
        else:
            bases, concept = self._knowledge_bases, ""
            category = given_category(span, reading, bases)
        return Candidate(start, end, TRUSTED if category is None else category, concept)


def _counted_words(reading: Reading, sections: Optional[Sequence[str]]) -> list[bool]:
    """For each word whether it stands in a section that counts."""
    words = reading.words
    if sections is None or not len(words):
        return [True] * len(words)
    found = reading.sections
    if len(found) == 1 and found[0].name == NO_SECTION:
        return [True] * len(words)
    ranges = counted_ranges(words.text, found, sections)
    counted = []
    at = 0
    for start in words.starts:
        while at < len(ranges) and start >= ranges[at][1]:
            at += 1
        counted.append(at < len(ranges) and start >= ranges[at][0])
    return counted


def _as_list(
    component: str, argument: str, value: Optional[Sequence[str]]
) -> Optional[list[str]]:
    """A list for the config; a string is refused, since it would read by letters."""
    if value is None:
        return None
    if isinstance(value, str):
        raise ValueError(
            Errors.E104.format(
                argument=argument,
                component=component,
                got=f"the string {value!r}",
                allowed="a list of strings",
                example=f"{argument} = {json.dumps([value])}",
            )
        )
    return sorted(value) if isinstance(value, (set, frozenset)) else list(value)
