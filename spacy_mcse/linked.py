"""The category of a span of another recognizer: its linked concept, else its label.

scispaCy's linker leaves concepts with scores in `span._.kb_ents`, and what they are in
its knowledge base: `linker.kb.cui_to_entity[concept].types`, types of the UMLS Semantic
Network such as "T047". Any component with such a knowledge base is found.
"""

import weakref
from collections.abc import Sequence
from typing import Any, Optional

from spacy.language import Language
from spacy.tokens import Span

from .reading import Reading
from .vocabulary import FINDING, Vocabulary

KB_ENTS = "kb_ents"
SAYS_NOTHING = "?"


class KnowledgeBases:
    """The knowledge bases of the linkers in a pipeline, as they are when asked for.

    nlp (Optional[Language]): The pipeline; it is not kept alive by this object. What is
        pickled for a worker is the linkers, not the pipeline.
    """

    def __init__(self, nlp: Optional[Language] = None) -> None:
        self._nlp = weakref.ref(nlp) if nlp is not None else None
        self._linkers: list[Any] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_linkers, (self._found(),)

    def types(self, concept: str) -> tuple[str, ...]:
        """The semantic types of a concept; empty where no linker knows it.

        concept (str): Identifier of the concept: "C0032227".
        """
        for linker in self._found():
            entities = linker.kb.cui_to_entity
            if concept in entities:
                return tuple(getattr(entities[concept], "types", None) or ())
        return ()

    def _found(self) -> list[Any]:
        nlp = self._nlp() if self._nlp is not None else None
        if nlp is None:
            return self._linkers
        return [pipe for _, pipe in nlp.components if _has_types(pipe)]


def given_category(
    span: Span, reading: Reading, knowledge_bases: KnowledgeBases
) -> Optional[str]:
    """What the linked concept of a span, or else its label, says of its category.

    span (Span): An entity of any recognizer.
    reading (Reading): The marked words of its Doc.
    knowledge_bases (KnowledgeBases): Where the types of concepts are looked up.
    RETURNS (Optional[str]): A category of `labels.tsv`; None for an unknown label.
    """
    vocabulary = reading.vocabulary
    category = linked_category(span, vocabulary, knowledge_bases)
    if category is None:
        return labelled_category(span, vocabulary)
    start, end = reading.words.word_range(span.start, span.end)
    if category != FINDING and end > start and reading.category(end - 1) == FINDING:
        # Linkers go by likeness: "left pleural effusion" is not the left pleura.
        return SAYS_NOTHING
    return category


def linked_category(
    span: Span, vocabulary: Vocabulary, knowledge_bases: KnowledgeBases
) -> Optional[str]:
    """The category of the concept with the best score.

    RETURNS (Optional[str]): None without a concept, or where its types say nothing.
    """
    concepts = _concepts(span)
    if not concepts:
        return None
    # The first of equals: linkers sort them.
    best, _ = max(concepts, key=_score)
    types = knowledge_bases.types(best)
    known = vocabulary.semantic_types.items()
    category = next((category for name, category in known if name in types), None)
    return None if category == SAYS_NOTHING else category


def labelled_category(span: Span, vocabulary: Vocabulary) -> Optional[str]:
    """The category that a label stands for; a label may be a semantic type itself.

    RETURNS (Optional[str]): None for a label that no list knows.
    """
    label = span.label_.upper()
    if label in vocabulary.labels:
        return vocabulary.labels[label]
    return vocabulary.semantic_types.get(label)


def _concepts(span: Span) -> Sequence[tuple[str, float]]:
    """The concepts that a linker left for a span, with their scores."""
    if not Span.has_extension(KB_ENTS):
        return ()
    default, _, getter, _ = Span.get_extension(KB_ENTS)
    if getter is not None:
        return getter(span) or ()
    # `span._.kb_ents` would write a default of its own on the Doc.
    key: Any = ("._.", KB_ENTS, span.start_char, span.end_char)
    return span.doc.user_data.get(key, default) or ()


def _score(concept: tuple[str, float]) -> float:
    return concept[1]


def _of_linkers(linkers: list[Any]) -> KnowledgeBases:
    knowledge_bases = KnowledgeBases()
    knowledge_bases._linkers = linkers
    return knowledge_bases


def _has_types(pipe: Any) -> bool:
    return hasattr(getattr(pipe, "kb", None), "cui_to_entity")
