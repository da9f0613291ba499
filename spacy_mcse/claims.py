"""What a report claims: its findings and its denials, ready to be compared.

Entities that are present or uncertain become findings, each said once; absent
entities and what normal statements rule out become denials.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Optional, Union

from .data import (
    ABSENT,
    PRESENT,
    Embedding,
    Entity,
    NormalStatement,
    ReportFacts,
    largest_measure,
)
from .settings import ScoreSettings
from .vocabulary import DEVICE

# Steps of severity and of size in words share one scale: a "small" effusion is "mild".
_LEVEL_WORDS = (
    "trace minimal tiny subtle faint",
    "mild slight small minor little",
    "moderate medium",
    "severe large marked massive extensive big",
)
LEVELS = {word: i for i, words in enumerate(_LEVEL_WORDS) for word in words.split()}
HIGHEST_LEVEL = max(LEVELS.values())
BOTH_SIDES = {"bilateral": ("left", "right"), "both": ("left", "right")}
# Words of change that say the same of a finding.
SAME_CHANGE = {"unchanged": ("stable",), "persistent": ("stable",)}
_SAME: Mapping[str, Mapping[str, Sequence[str]]] = {
    "side": BOTH_SIDES,
    "change": SAME_CHANGE,
}
# Kinds that are compared as sets of values; the others are ordered.
SET_KINDS = ("side", "location", "quality", "change", "count")
# What a repeated mention may lack without being a finding of its own.
IDENTITY_KINDS = ("side", "location", "quality", "count", "severity", "size")
# Mentions of one concept that are compared each with each.
_FEW = 10
_NOTHING: frozenset[str] = frozenset()
_NO_VALUES: Mapping[str, frozenset[str]] = {}
_UNSTATED = dict.fromkeys((*SET_KINDS, "severity", "size"), _NOTHING)


class Claim(NamedTuple):
    """A finding or a denial.

    source (Union[Entity, NormalStatement]): Where the report says so.
    concept (str): Key shared by synonyms.
    certain (bool): Whether it is said without doubt.
    values (Mapping): Values of each kind of attribute; sizes in words are severity.
    level (Optional[tuple]): Lowest and mean step of severity.
    millimetres (Optional[float]): Largest measure.
    vector (int): Row of the concept's vector; -1 for normal statements and devices.
    key (tuple): Sorts claims in one order, whatever the order of the sentences.
    weight (float): Weight of the finding, or of the part of it that this is.
    families (frozenset[str]): Names of the groups of near concepts it belongs to.
    own (Mapping): Values of each kind that only name the concept.
    """

    source: Union[Entity, NormalStatement]
    concept: str
    certain: bool
    values: Mapping[str, frozenset[str]]
    level: Optional[tuple[float, float]]
    millimetres: Optional[float]
    vector: int
    key: tuple[Any, ...]
    weight: float = 1.0
    families: frozenset[str] = frozenset()
    own: Mapping[str, frozenset[str]] = _NO_VALUES

    def beside(self, kind: str, other: "Claim") -> frozenset[str]:
        """The values to compare with those of another claim.

        What only names the concept counts where the other claim says something of
        the kind: "thoracic compression fracture" is no "compression fracture of L2".
        """
        values = self.values[kind]
        if self.own and not other.values[kind]:
            return values - self.own.get(kind, _NOTHING)
        return values


class Claims(NamedTuple):
    """All claims of one report.

    findings (list[Claim]): What is present or uncertain, without repeated mentions;
        devices too, where the settings count them.
    denials (list[Claim]): What is absent, entities before normal statements.
    embedding (Embedding): The vectors of the findings.
    """

    findings: list[Claim]
    denials: list[Claim]
    embedding: Embedding

    @property
    def has_findings(self) -> bool:
        """Whether there is a finding beside the devices."""
        return any(not _is_device(claim.source) for claim in self.findings)

    @property
    def normal_claim(self) -> Optional[Claim]:
        """What says that there is no finding: a normal statement, else a denial."""
        said = [claim for claim in self.denials if not _is_device(claim.source)]
        return max(said, key=_sort_key) if said else None

    @property
    def key(self) -> tuple[Any, ...]:
        """Sorts reports by what they claim."""
        return [c.key for c in self.findings], [c.key for c in self.denials]


def report_claims(facts: ReportFacts, settings: ScoreSettings) -> Claims:
    """The claims of one report.

    facts (ReportFacts): The report.
    settings (ScoreSettings): Says whether change is left out.
    RETURNS (Claims): Findings and denials, each sorted by their key.
    """
    mentions: list[Claim] = []
    denials: list[Claim] = []
    # A refiner that keeps devices gives them as entities.
    said = [*enumerate(facts.entities), *((-1, device) for device in facts.devices)]
    for index, entity in said:
        claim = _entity_claim(entity, index, settings)
        if _is_device(entity):
            if not settings.devices:
                continue
            claim = claim._replace(weight=claim.weight * settings.devices)
        (denials if entity.assertion == ABSENT else mentions).append(claim)
    for statement in facts.normal:
        denials += _normal_claims(statement)
    return Claims(
        findings=sorted(_merge(mentions), key=_sort_key),
        denials=sorted(denials, key=_sort_key),
        embedding=facts.embedding,
    )


def _is_device(source: Union[Entity, NormalStatement]) -> bool:
    return isinstance(source, Entity) and source.label == DEVICE


def _sort_key(claim: Claim) -> tuple[Any, ...]:
    return claim.key


def _entity_claim(entity: Entity, index: int, settings: ScoreSettings) -> Claim:
    concept = entity.concept or entity.mcse_text
    values: Mapping[str, frozenset[str]] = _UNSTATED
    own: Mapping[str, frozenset[str]] = _NO_VALUES
    stated: tuple[Any, ...] = ()
    level = millimetres = None
    # Most entities have no attributes: these should cost next to nothing.
    if entity.attributes:
        values = _values(entity, settings)
        stated = tuple(
            sorted((kind, *sorted(found)) for kind, found in values.items() if found)
        )
        if entity.own:
            # As `values`: both names of a side are both sides.
            own = _normal_values(entity.own)
        if values["severity"]:
            level = _level(values["severity"])
        if values["size"]:
            millimetres = entity.millimetres
    return Claim(
        source=entity,
        concept=concept,
        certain=entity.assertion == PRESENT,
        values=values,
        level=level,
        millimetres=millimetres,
        vector=index,
        key=(0, concept, entity.assertion, stated, entity.mcse_text),
        weight=settings.weight(entity.significance),
        families=frozenset(entity.families),
        own=own,
    )


def _normal_claims(statement: NormalStatement) -> list[Claim]:
    # "The left lung is clear" says nothing about the right one.
    values = _UNSTATED | {
        kind: frozenset(str(item["value"]) for item in items)
        for kind, items in statement.attributes.items()
    }
    # A statement that denies nothing is still a statement that something is normal.
    return [
        Claim(
            source=statement,
            concept=concept,
            certain=True,
            values=values,
            level=None,
            millimetres=None,
            vector=-1,
            key=(1, concept, ABSENT, statement.denies, statement.mcse_text),
        )
        for concept in statement.denies or ("",)
    ]


def _values(entity: Entity, settings: ScoreSettings) -> dict[str, frozenset[str]]:
    values = _UNSTATED | _normal_values(
        {kind: entity.values(kind) for kind in entity.attributes}
    )
    if settings.ignore_change:
        values["change"] = _NOTHING
    if values["size"]:
        sizes = [item["value"] for item in entity.attributes["size"]]
        measures = frozenset(str(size) for size in sizes if largest_measure(size))
        values["severity"] |= values["size"] - measures
        values["size"] = measures
    return values


def _normal_values(
    values: Mapping[str, Iterable[str]],
) -> dict[str, frozenset[str]]:
    """The values with one name for all that say the same."""
    normal = {kind: frozenset(found) for kind, found in values.items()}
    for kind, names in _SAME.items():
        if normal.get(kind):
            normal[kind] = frozenset(
                name for value in normal[kind] for name in names.get(value, (value,))
            )
    return normal


def _level(severity: frozenset[str]) -> Optional[tuple[float, float]]:
    """Lowest and mean step of words; None where none is on the scale."""
    levels = [step for value in severity for step in _steps(value)]
    return (min(levels), sum(levels) / len(levels)) if levels else None


@lru_cache(maxsize=1024)
def _steps(value: str) -> tuple[int, ...]:
    words = [word.removesuffix("ly") for word in re.findall(r"[a-z]+", value.lower())]
    return tuple(LEVELS[word] for word in words if word in LEVELS)


def _merge(mentions: Sequence[Claim]) -> list[Claim]:
    """Drop mentions of a finding that another mention says at least as fully.

    Change does not tell findings apart: "effusion, unchanged" repeats "effusion".
    Of mentions that are equal but for change, the one that says most about it stays.
    """
    best: dict[tuple[Any, ...], Claim] = {}
    for claim in mentions:
        stated = [claim.values[kind] for kind in IDENTITY_KINDS]
        same = (claim.concept, claim.certain, *stated)
        if same not in best or _change_rank(claim) > _change_rank(best[same]):
            best[same] = claim
    concepts: dict[str, list[Claim]] = {}
    for claim in best.values():
        concepts.setdefault(claim.concept, []).append(claim)
    return [
        claim
        for others in concepts.values()
        for claim, rivals in zip(others, _rivals(others), strict=True)
        if not any(other is not claim and _covers(other, claim) for other in rivals)
    ]


def _rivals(claims: list[Claim]) -> list[list[Claim]]:
    """For each claim those that may cover it: all that have its rarest value."""
    if len(claims) < _FEW:
        return [claims] * len(claims)
    having: dict[tuple[str, str], list[Claim]] = {}
    for claim in claims:
        for value in _identity(claim):
            having.setdefault(value, []).append(claim)
    return [
        min((having[value] for value in _identity(claim)), key=len, default=claims)
        for claim in claims
    ]


def _identity(claim: Claim) -> Iterator[tuple[str, str]]:
    return ((kind, value) for kind in IDENTITY_KINDS for value in claim.values[kind])


def _change_rank(claim: Claim) -> tuple[int, list[str]]:
    return len(claim.values["change"]), sorted(claim.values["change"])


def _covers(claim: Claim, other: Claim) -> bool:
    return claim.certain >= other.certain and all(
        other.values[kind] <= claim.values[kind] for kind in IDENTITY_KINDS
    )


def in_halves(own: Claims, other: Claims) -> list[Claim]:
    """Findings, the bilateral ones as two halves where the other report tells the
    sides apart ("bilateral effusions" against "left effusion and right effusion").
    """
    sides: dict[str, list[frozenset[str]]] = {}
    for claim in other.findings:
        sides.setdefault(claim.concept, []).append(claim.values["side"])
    found: list[Claim] = []
    for claim in own.findings:
        stated = sides.get(claim.concept, ())
        both = claim.values["side"] == {"left", "right"}
        if both and stated and all(len(side) == 1 for side in stated):
            for side in ("left", "right"):
                values = {**claim.values, "side": frozenset((side,))}
                found.append(claim._replace(values=values, weight=claim.weight / 2))
        else:
            found.append(claim)
    return found
