"""Clinical entities out of RadGraph's observations and relations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..data import ABSENT, PRESENT, UNCERTAIN
from . import radgraph
from .radgraph import LOCATED_AT, MODIFY, AnnotatedReport, Observation

_ASSERTIONS = {
    radgraph.PRESENT: PRESENT,
    radgraph.ABSENT: ABSENT,
    radgraph.UNCERTAIN: UNCERTAIN,
}
# What may stand between words of one phrase: "ill-defined", "right/left", and in
# front of its head "hazy, patchy".
_JOINS = frozenset(("", "-", "/"))
_JOINS_IN_FRONT = _JOINS | {","}


@dataclass(frozen=True)
class GoldEntity:
    """A clinical entity of an annotated report.

    start_char (int): Offset of the first character of the phrase in the report.
    end_char (int): Offset after the last character.
    head (tuple): Offsets of the observation that is described.
    assertion (str): "present", "absent" or "uncertain".
    places (tuple): Offsets of the structures that it is located at, with the words
        that describe them.
    """

    start_char: int
    end_char: int
    head: tuple[int, int]
    assertion: str
    places: tuple[tuple[int, int], ...] = ()


def gold_entities(report: AnnotatedReport) -> list[GoldEntity]:
    """The clinical entities of an annotated report, in text order.

    Each observation that does not modify another one is an entity. Its span is the
    whole phrase, as the refiner's: the observations that modify it where they stand
    next to it, and the structures that it is located at where they stand in front
    ("left pleural effusion", but not "effusion left base").

    report (AnnotatedReport): The report.
    RETURNS (list[GoldEntity]): One for each observation that is no description.
    """
    known = {entity.id: entity for entity in report.entities}
    describing = _sources(report.entities, known)
    found = []
    for head in _heads(report.entities, known, describing):
        words = _closure([head], describing, observations=True)
        places = [known[i] for i in head.targets(LOCATED_AT) if known[i].is_anatomy]
        places = _closure(places, describing, observations=False)
        start, end = _phrase(head, [*words, *places], report.text)
        found.append(
            GoldEntity(
                start_char=start,
                end_char=end,
                head=(head.start_char, head.end_char),
                assertion=_ASSERTIONS[head.label],
                places=tuple((p.start_char, p.end_char) for p in places),
            )
        )
    return sorted(found, key=lambda entity: (entity.start_char, entity.end_char))


def _sources(
    entities: Iterable[Observation], known: Mapping[str, Observation]
) -> dict[str, list[Observation]]:
    """For each entity those that modify it; a structure and an observation never do."""
    found: dict[str, list[Observation]] = {}
    for entity in entities:
        for target in entity.targets(MODIFY):
            if known[target].is_anatomy == entity.is_anatomy and target != entity.id:
                found.setdefault(target, []).append(entity)
    return found


def _heads(
    entities: Sequence[Observation],
    known: Mapping[str, Observation],
    describing: Mapping[str, Sequence[Observation]],
) -> list[Observation]:
    observations = [entity for entity in entities if not entity.is_anatomy]
    modifiers = {
        source.id
        for target, sources in describing.items()
        if not known[target].is_anatomy
        for source in sources
    }
    heads = [entity for entity in observations if entity.id not in modifiers]
    reached = {e.id for e in _closure(heads, describing, observations=True)}
    # Observations that modify each other in a circle: the first of them is the head.
    for entity in observations:
        if entity.id not in reached:
            heads.append(entity)
            reached |= {e.id for e in _closure([entity], describing, observations=True)}
    return heads


def _closure(
    entities: Iterable[Observation],
    describing: Mapping[str, Sequence[Observation]],
    *,
    observations: bool,
) -> list[Observation]:
    """Entities with all that modify them, and what modifies these."""
    found: dict[str, Observation] = {}
    todo = list(entities)
    while todo:
        entity = todo.pop()
        if entity.id in found or entity.is_anatomy == observations:
            continue
        found[entity.id] = entity
        todo.extend(describing.get(entity.id, ()))
    return list(found.values())


def _phrase(
    head: Observation, parts: Iterable[Observation], text: str
) -> tuple[int, int]:
    """The head with the parts that stand next to it, or next to such a part."""
    start, end = head.start_char, head.end_char
    rest = list(parts)
    joined = True
    while joined:
        joined = False
        for part in rest:
            in_front = text[part.end_char : start].strip()
            behind = text[end : part.start_char].strip()
            if part.end_char <= start and in_front in _JOINS_IN_FRONT:
                start = part.start_char
            elif part.start_char >= end and behind in _JOINS and not part.is_anatomy:
                end = part.end_char
            else:
                continue
            joined = True
    return start, end
