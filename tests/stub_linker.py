"""A linker like scispaCy's, with a knowledge base of a few concepts."""

from dataclasses import dataclass, field
from types import SimpleNamespace

from spacy.language import Language
from spacy.tokens import Doc, Span

# Concepts by text, best first; texts of the field that no list has are made up.
CONCEPTS = {
    "gubbins catheter": [("C1", 0.99), ("C5", 0.80)],
    "quillwort sign": [("C2", 0.95)],
    "left gubbins lobe": [("C3", 0.9)],
    "gubbins imaging": [("C4", 0.9)],
    "zorvatide": [("C5", 0.9)],
    "tuesday habit": [("C6", 0.9)],
    "quillwort": [("C7", 0.7), ("C2", 0.9)],
    "twin gubbins": [("C1", 0.9), ("C2", 0.9)],
    "left pleural effusion": [("C3", 0.85)],
    "gubbins density": [("C8", 0.9)],
    "unheard of": [("C404", 0.9)],
    "gubbins tumor": [("C9", 0.9)],
}


@dataclass
class Entity:
    concept_id: str
    types: list[str] = field(default_factory=list)


TYPES = {
    "C1": ["T074"],
    "C2": ["T184"],
    "C3": ["T023"],
    "C4": ["T060"],
    "C5": ["T109", "T121"],
    "C6": ["T079"],
    "C7": ["T023"],
    "C8": ["T080"],
    "C9": ["T023", "T191"],
}


class Linker:
    def __init__(self) -> None:
        Span.set_extension("kb_ents", default=[], force=True)
        self.kb = SimpleNamespace(
            cui_to_entity={cui: Entity(cui, types) for cui, types in TYPES.items()}
        )

    def __call__(self, doc: Doc) -> Doc:
        for span in doc.ents:
            span._.kb_ents = CONCEPTS.get(span.text.lower(), [])
        return doc


@Language.factory("stub_linker")
def make_linker(nlp: Language, name: str) -> Linker:
    return Linker()


def add_linker(nlp: Language, label: str = "ENTITY") -> None:
    """Add a recognizer of `CONCEPTS`, whose spans have one label, and the linker."""
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": label, "pattern": text} for text in CONCEPTS])
    nlp.add_pipe("stub_linker")
