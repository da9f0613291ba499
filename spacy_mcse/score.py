"""The calibrated score: precision, recall and F1 of the findings of two reports.

Findings are the entities that a report states as present or uncertain. They are
aligned one to one by credit, which is the calibrated similarity of the concepts times
a factor for each attribute. A denied finding of the other report earns no credit and
costs a place on both sides. The published metric stands beside it, see `mcse.py`.
"""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray
from spacy.about import __version__ as spacy_version

from .align import align
from .data import ABSENT, PRESENT, Embedding, Entity, NormalStatement, ReportFacts
from .errors import Errors
from .mcse import mcse_score

MATCH, PARTIAL, CONTRADICTED, MISSED, INVENTED = OUTCOMES = (
    "match",
    "partial",
    "contradicted",
    "missed",
    "invented",
)
NORMAL_FLAG, NO_CONTENT_FLAG = FLAGS = ("normal", "no_content")

# Steps of severity and of size in words share one scale: a "small" effusion is "mild".
_LEVEL_WORDS = (
    "trace minimal tiny subtle faint",
    "mild slight small minor little",
    "moderate medium",
    "severe large marked massive extensive big",
)
LEVELS = {word: i for i, words in enumerate(_LEVEL_WORDS) for word in words.split()}
SIDES = {"bilateral": ("left", "right"), "both": ("left", "right")}
# Kinds that are compared as sets of values; the others are ordered.
SET_KINDS = ("side", "location", "quality", "change", "count")
# What a repeated mention may lack without being a finding of its own.
IDENTITY_KINDS = ("side", "location", "quality", "count", "severity", "size")
_UNSTATED: dict[str, frozenset[str]] = {
    kind: frozenset() for kind in (*SET_KINDS, "severity", "size")
}
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*(mm|cm)?")


@dataclass(frozen=True)
class ScoreSettings:
    """Parameters of the calibrated score; factors are in [0, 1], 1 costs nothing.

    min_similarity (float): Calibrated similarity of concepts below this counts as 0.
    uncertain (float): Factor where one report is certain and the other is not.
    side_missing (float): Factor where only one report states a side; the same for
        the other attributes that end in `_missing`.
    side_wrong (float): Factor where the sides differ; the same for the other
        attributes that end in `_wrong`. Values that overlap cost less. For severity
        and size it is the factor of the largest difference.
    ignore_change (bool): Leave out what is said about change ("new", "stable").
    """

    min_similarity: float = 0.3
    uncertain: float = 0.8
    side_missing: float = 0.8
    side_wrong: float = 0.4
    location_missing: float = 0.9
    location_wrong: float = 0.6
    severity_missing: float = 0.9
    severity_wrong: float = 0.5
    size_missing: float = 0.95
    size_wrong: float = 0.6
    quality_missing: float = 0.95
    quality_wrong: float = 0.85
    change_missing: float = 0.98
    change_wrong: float = 0.95
    count_missing: float = 0.97
    count_wrong: float = 0.9
    ignore_change: bool = False

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if item.type is bool:
                valid, allowed = isinstance(value, bool), "true, false"
            else:
                valid = isinstance(value, (int, float)) and not isinstance(value, bool)
                valid, allowed = valid and 0 <= value <= 1, "numbers from 0 to 1"
            if valid and item.name.endswith("_wrong"):
                missing = item.name.replace("_wrong", "_missing")
                valid = value <= getattr(self, missing)
                allowed = f"numbers not above {missing}"
            if not valid:
                raise ValueError(
                    Errors.E407.format(name=item.name, got=repr(value), allowed=allowed)
                )

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> "ScoreSettings":
        """Build settings from a config block; names left out keep their defaults.

        RAISES (ValueError): E406 for unknown names, E407 for values out of range.
        """
        allowed = [item.name for item in fields(cls)]
        unknown = sorted(set(settings) - set(allowed))
        if unknown:
            raise ValueError(
                Errors.E406.format(names=", ".join(unknown), allowed=", ".join(allowed))
            )
        return cls(**settings)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def hash(self) -> str:
        """Short hash of all parameters."""
        return _hash(self.to_dict())


@dataclass(frozen=True)
class Signature:
    """Where a score comes from; scores of different signatures do not compare.

    version (str): Version of spacy_mcse.
    pipeline (str): Name and version of the pipeline.
    encoder (str): Name and fingerprint of the encoder.
    spacy (str): Version of spaCy.
    settings (str): Hash of the settings of refiner, calibration and score.
    """

    version: str
    pipeline: str
    encoder: str
    spacy: str
    settings: str

    def __str__(self) -> str:
        return (
            f"mcse:{self.version}|pipeline:{self.pipeline}|encoder:{self.encoder}"
            f"|spacy:{self.spacy}|settings:{self.settings}"
        )

    @classmethod
    def from_str(cls, text: str) -> "Signature":
        """Read what `str` wrote."""
        values = [part.partition(":")[2] for part in text.split("|")]
        return cls(*values)


@dataclass(frozen=True)
class Pair:
    """One line of the explanation of a score.

    reference (Optional[dict]): `text`, `start_char`, `end_char`, `mcse_text`,
        `concept` and `assertion` of the reference's part, or None.
    candidate (Optional[dict]): The same of the candidate's part, or None.
    similarity (float): Calibrated similarity of the concepts.
    credit (float): Similarity times the factors of the attributes.
    outcome (str): One of `OUTCOMES`.
    weight_reference (float): Weight in the denominator of recall.
    weight_candidate (float): Weight in the denominator of precision.
    share_recall (float): Part of the recall that comes from here.
    share_precision (float): Part of the precision that comes from here.
    """

    reference: Optional[dict[str, Any]]
    candidate: Optional[dict[str, Any]]
    similarity: float
    credit: float
    outcome: str
    weight_reference: float
    weight_candidate: float
    share_recall: float
    share_precision: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class MCSEScore:
    """How well a candidate report says what the reference says.

    mcse (float): The published metric.
    precision (float): Share of the candidate's findings that the reference has.
    recall (float): Share of the reference's findings that the candidate has.
    f1 (float): Harmonic mean of both.
    pairs (tuple[Pair, ...]): The parts of the score, in the reference's order.
    flags (tuple[str, ...]): "normal" where both reports state that all is normal
        (F1 is 1), "no_content" where neither has findings and one has nothing at all.
    signature (Signature): Where the score comes from.
    n_reference (int): Findings of the reference, repeated mentions counted once.
    n_candidate (int): Findings of the candidate, repeated mentions counted once.
    without_content (tuple[str, ...]): Sides that have neither entities nor normal
        statements, of "reference" and "candidate".
    """

    mcse: float
    precision: float
    recall: float
    f1: float
    pairs: tuple[Pair, ...]
    flags: tuple[str, ...]
    signature: Signature
    n_reference: int
    n_candidate: int
    without_content: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values for JSON; the signature as a str."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {
            **values,
            "pairs": [pair.to_dict() for pair in self.pairs],
            "flags": list(self.flags),
            "signature": str(self.signature),
            "without_content": list(self.without_content),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "MCSEScore":
        """Read what `to_dict` wrote; names that are not fields are left out."""
        known = {item.name: values[item.name] for item in fields(cls)}
        known["pairs"] = tuple(Pair(**pair) for pair in values["pairs"])
        known["flags"] = tuple(values["flags"])
        known["signature"] = Signature.from_str(values["signature"])
        known["without_content"] = tuple(values["without_content"])
        return cls(**known)


@dataclass(frozen=True)
class _Fact:
    """A finding or a denial, ready to be compared."""

    source: Union[Entity, NormalStatement]
    concept: str
    certain: bool
    values: Mapping[str, frozenset[str]]
    level: Optional[tuple[float, float]]
    millimetres: Optional[float]
    vector: int
    key: tuple[Any, ...]
    weight: float = 1.0


@dataclass(frozen=True)
class _Side:
    findings: tuple[_Fact, ...]
    denials: tuple[_Fact, ...]
    embedding: Embedding
    key: tuple[Any, ...]


@dataclass(frozen=True)
class _Row:
    """One pair before the sides are known as reference and candidate."""

    facts: tuple[Optional[_Fact], Optional[_Fact]]
    weights: tuple[float, float]
    similarity: float = 0.0
    credit: float = 0.0
    contradicted: bool = False


def score_facts(
    reference: ReportFacts,
    candidate: ReportFacts,
    settings: Optional[ScoreSettings] = None,
) -> MCSEScore:
    """Score one pair of reports.

    reference (ReportFacts): The report that is right.
    candidate (ReportFacts): The report to judge.
    settings (Optional[ScoreSettings]): Parameters of the calibrated score. If None,
        those stored with the vectors.
    RETURNS (MCSEScore): The scores with their explanation; never NaN.
    RAISES (ValueError): E404 where the reports come from different pipelines.
    """
    _check_comparable(reference, candidate, own_settings=settings is None)
    if settings is None:
        settings = _stored_settings(reference.embedding)
    sides = _side(reference, settings), _side(candidate, settings)
    without_content = tuple(
        name
        for name, facts in (("reference", reference), ("candidate", candidate))
        if not facts.entities and not facts.normal
    )
    flags: tuple[str, ...] = ()
    if sides[0].findings or sides[1].findings:
        # Always computed in one order of the two sides, so that swapped reports have
        # the same sums to the last digit.
        swapped = sides[1].key < sides[0].key
        rows = _compare(*(sides[::-1] if swapped else sides), settings)
        if swapped:
            rows = [
                replace(row, facts=row.facts[::-1], weights=row.weights[::-1])
                for row in rows
            ]
    elif without_content:
        rows, flags = [], (NO_CONTENT_FLAG,)
    else:
        whole = sides[0].denials[0], sides[1].denials[0]
        rows = [_Row(whole, (1.0, 1.0), similarity=1.0, credit=1.0)]
        flags = (NORMAL_FLAG,)
    recall, precision = _mean_credit(rows, 0), _mean_credit(rows, 1)
    total = precision + recall
    return MCSEScore(
        mcse=_published(reference, candidate),
        precision=precision,
        recall=recall,
        f1=min(1.0, 2 * precision * recall / total) if total else 0.0,
        pairs=_pairs(rows),
        flags=flags,
        signature=facts_signature(reference, settings),
        n_reference=len(sides[0].findings),
        n_candidate=len(sides[1].findings),
        without_content=without_content,
    )


def facts_signature(
    facts: ReportFacts, settings: Optional[ScoreSettings] = None
) -> Signature:
    """The signature of scores of a report that was processed in this way."""
    embedding = facts.embedding
    if settings is None:
        settings = _stored_settings(embedding)
    return _signature(
        embedding.pipeline,
        f"{embedding.encoder}@{embedding.fingerprint[:12]}",
        facts.refiner,
        tuple(embedding.calibration),
        settings,
    )


def _stored_settings(embedding: Embedding) -> ScoreSettings:
    return (
        ScoreSettings.from_dict(embedding.scoring) if embedding.scoring else _DEFAULTS
    )


_DEFAULTS = ScoreSettings()


@lru_cache(maxsize=64)
def _signature(
    pipeline: str,
    encoder: str,
    refiner: str,
    calibration: tuple[float, ...],
    settings: ScoreSettings,
) -> Signature:
    parts = {"refiner": refiner, "calibration": calibration, "score": settings.hash}
    return Signature(
        version=package_version(),
        pipeline=pipeline.replace("|", "/"),
        encoder=encoder.replace("|", "/"),
        spacy=spacy_version,
        settings=_hash(parts),
    )


@lru_cache(maxsize=1)
def package_version() -> str:
    """The version of the installed package, "0.0.0" for a bare source tree."""
    try:
        return version("spacy-mcse")
    except PackageNotFoundError:
        return "0.0.0"


def _hash(values: Mapping[str, Any]) -> str:
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode("utf8")).hexdigest()[:10]


def _check_comparable(
    reference: ReportFacts, candidate: ReportFacts, own_settings: bool
) -> None:
    first, second = reference.embedding, candidate.embedding
    checks: list[tuple[str, Any, Any]] = [
        ("the encoder", _encoder(first), _encoder(second)),
        ("the calibration", tuple(first.calibration), tuple(second.calibration)),
        ("the hash of the refiner", reference.refiner, candidate.refiner),
    ]
    if own_settings:
        checks.append(("the scoring", first.scoring, second.scoring))
    if len(first.concepts) and len(second.concepts):
        widths = first.concepts.shape[1], second.concepts.shape[1]
        checks.append(("the length of the vectors", *widths))
    for what, one, other in checks:
        if one != other:
            raise ValueError(
                Errors.E404.format(what=what, reference=one, candidate=other)
            )


def _encoder(embedding: Embedding) -> str:
    return f"{embedding.encoder}@{embedding.fingerprint}"


def _published(reference: ReportFacts, candidate: ReportFacts) -> float:
    return mcse_score(
        [entity.mcse_text for entity in reference.entities],
        [entity.mcse_text for entity in candidate.entities],
        [entity.negated for entity in reference.entities],
        [entity.negated for entity in candidate.entities],
        reference.embedding.texts,
        candidate.embedding.texts,
    )


# Facts of one report


def _side(facts: ReportFacts, settings: ScoreSettings) -> _Side:
    entities = [_entity_fact(e, i, settings) for i, e in enumerate(facts.entities)]
    findings = _merge([f for f in entities if not _is_absent(f)])
    denials = [fact for fact in entities if _is_absent(fact)]
    for statement in facts.normal:
        denials += _normal_facts(statement)
    # One order whatever the order of the sentences; entities before statements.
    findings.sort(key=_fact_key)
    denials.sort(key=_fact_key)
    return _Side(
        findings=tuple(findings),
        denials=tuple(denials),
        embedding=facts.embedding,
        key=(tuple(f.key for f in findings), tuple(d.key for d in denials)),
    )


def _fact_key(fact: _Fact) -> tuple[Any, ...]:
    return fact.key


def _is_absent(fact: _Fact) -> bool:
    return not isinstance(fact.source, Entity) or fact.source.assertion == ABSENT


def _entity_fact(entity: Entity, index: int, settings: ScoreSettings) -> _Fact:
    values = _UNSTATED | {kind: entity.values(kind) for kind in entity.attributes}
    if settings.ignore_change:
        values["change"] = frozenset()
    values["side"] = frozenset(
        side for value in values["side"] for side in SIDES.get(value, (value,))
    )
    measures = frozenset(value for value in values["size"] if _millimetres(value))
    values["severity"] |= values["size"] - measures
    values["size"] = measures
    levels = [level for value in values["severity"] for level in _levels(value)]
    concept = entity.concept or entity.mcse_text
    stated = tuple(
        (kind, *sorted(found)) for kind, found in sorted(values.items()) if found
    )
    return _Fact(
        source=entity,
        concept=concept,
        certain=entity.assertion == PRESENT,
        values=values,
        level=(min(levels), sum(levels) / len(levels)) if levels else None,
        millimetres=max(map(_millimetres, measures), default=None),
        vector=index,
        key=(0, concept, entity.assertion, stated, entity.mcse_text),
    )


def _normal_facts(statement: NormalStatement) -> list[_Fact]:
    words = set(statement.mcse_text.split())
    # "The left lung is clear" says nothing about the right one.
    values = _UNSTATED | {"side": frozenset(words & {"left", "right"})}
    # A statement that denies nothing is still a statement that something is normal.
    return [
        _Fact(
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


def _levels(value: str) -> list[int]:
    words = re.findall(r"[a-z]+", value.lower())
    return [
        LEVELS[w.removesuffix("ly")] for w in words if w.removesuffix("ly") in LEVELS
    ]


def _millimetres(value: str) -> float:
    """The largest measure in a value; 0 where there is none."""
    found = _NUMBER.findall(value.lower())
    unit = next((unit for _, unit in reversed(found) if unit), "mm")
    factor = {"mm": 1.0, "cm": 10.0}
    return max((float(n) * factor[own or unit] for n, own in found), default=0.0)


def _merge(facts: Sequence[_Fact]) -> list[_Fact]:
    """Drop mentions of a finding that another mention says at least as fully.

    Change does not tell findings apart: "effusion, unchanged" repeats "effusion".
    Of mentions that are equal but for change, the one that says most about it stays.
    """
    best: dict[tuple[Any, ...], _Fact] = {}
    for fact in facts:
        same = (fact.concept, fact.certain, *(fact.values[k] for k in IDENTITY_KINDS))
        if same not in best or _change_rank(fact) > _change_rank(best[same]):
            best[same] = fact
    concepts: dict[str, list[_Fact]] = {}
    for fact in best.values():
        concepts.setdefault(fact.concept, []).append(fact)
    return [
        fact
        for mentions in concepts.values()
        for fact in mentions
        if not any(other is not fact and _covers(other, fact) for other in mentions)
    ]


def _change_rank(fact: _Fact) -> tuple[int, list[str]]:
    return len(fact.values["change"]), sorted(fact.values["change"])


def _covers(fact: _Fact, other: _Fact) -> bool:
    return fact.certain >= other.certain and all(
        other.values[kind] <= fact.values[kind] for kind in IDENTITY_KINDS
    )


# Facts of two reports


def _compare(first: _Side, second: _Side, settings: ScoreSettings) -> list[_Row]:
    ones, others = _split_sides(first, second), _split_sides(second, first)
    rows: list[_Row] = []
    ones, denied = _take_denied(ones, second)
    rows += [
        _Row((fact, denial), (fact.weight, share), similarity=1.0, contradicted=True)
        for fact, denial, share in denied
    ]
    others, denied = _take_denied(others, first)
    rows += [
        _Row((denial, fact), (share, fact.weight), similarity=1.0, contradicted=True)
        for fact, denial, share in denied
    ]
    rows += [
        _Row((fact, denial), (0.0, 1.0), similarity=1.0, contradicted=True)
        for fact, denial in _denied_beside(first, second)
    ]
    rows += [
        _Row((denial, fact), (1.0, 0.0), similarity=1.0, contradicted=True)
        for fact, denial in _denied_beside(second, first)
    ]
    similarity = _similarity(ones, others, first, second, settings)
    credit = np.zeros(similarity.shape)
    weight = np.zeros(similarity.shape)
    for i, j in zip(*np.nonzero(similarity), strict=True):
        factor = _attribute_factor(ones[i], others[j], settings)
        credit[i, j] = similarity[i, j] * factor
        weight[i, j] = ones[i].weight + others[j].weight
    aligned = align(credit * weight)
    rows += [
        _Row(
            (ones[i], others[j]),
            (ones[i].weight, others[j].weight),
            similarity=float(similarity[i, j]),
            credit=float(credit[i, j]),
        )
        for i, j in aligned
    ]
    rest = set(range(len(ones))) - {i for i, _ in aligned}
    rows += [_Row((ones[i], None), (ones[i].weight, 0.0)) for i in sorted(rest)]
    rest = set(range(len(others))) - {j for _, j in aligned}
    rows += [_Row((None, others[j]), (0.0, others[j].weight)) for j in sorted(rest)]
    return rows


def _split_sides(own: _Side, other: _Side) -> list[_Fact]:
    """Findings, the bilateral ones as two halves where the other report tells the
    sides apart ("bilateral effusions" against "left effusion and right effusion").
    """
    sides: dict[str, list[frozenset[str]]] = {}
    for fact in other.findings:
        sides.setdefault(fact.concept, []).append(fact.values["side"])
    found: list[_Fact] = []
    for fact in own.findings:
        stated = sides.get(fact.concept, [])
        both = sorted(fact.values["side"])
        if both == ["left", "right"] and stated and all(len(s) == 1 for s in stated):
            for side in both:
                values = {**fact.values, "side": frozenset((side,))}
                found.append(replace(fact, values=values, weight=fact.weight / 2))
        else:
            found.append(fact)
    return found


def _take_denied(
    findings: Sequence[_Fact], other: _Side
) -> tuple[list[_Fact], list[tuple[_Fact, _Fact, float]]]:
    """Part the findings into those that stand and those that the other side denies.

    RETURNS (tuple): Standing findings, and (finding, denial, weight of the denial);
        the denials of one concept weigh 1 in all, however many there are and however
        many findings they meet: to deny twice changes nothing.
    """
    own = {fact.concept for fact in other.findings}
    denials: dict[str, list[_Fact]] = {}
    for denial in other.denials:
        # A report that says both ("no left effusion, small right effusion") is not
        # contradicted by one half of what it says.
        if denial.concept not in own:
            denials.setdefault(denial.concept, []).append(denial)
    standing: list[_Fact] = []
    denied: list[tuple[_Fact, _Fact]] = []
    for fact in findings:
        met = [d for d in denials.get(fact.concept, ()) if _rules_out(d, fact)]
        if met:
            denied.append((fact, met[0]))
        else:
            standing.append(fact)
    uses = Counter(fact.concept for fact, _ in denied)
    return standing, [(f, d, 1.0 / uses[f.concept]) for f, d in denied]


def _denied_beside(own: _Side, other: _Side) -> list[tuple[_Fact, _Fact]]:
    """Findings that the other side states and denies at once, where this one does not.

    The finding keeps its credit; the denial beside it is one false statement. One
    for each concept.

    RETURNS (list): (finding, denial).
    """
    stated = {fact.concept for fact in own.denials if isinstance(fact.source, Entity)}
    found: dict[str, tuple[_Fact, _Fact]] = {}
    for denial in other.denials:
        concept = denial.concept
        if concept in stated or concept in found:
            continue
        # What is normal is said in general and often has an exception that follows.
        if not isinstance(denial.source, Entity):
            continue
        if any(f.concept == concept and _rules_out(denial, f) for f in other.findings):
            met = (f for f in own.findings if f.concept == concept)
            fact = next((f for f in met if _rules_out(denial, f)), None)
            if fact is not None:
                found[concept] = fact, denial
    return list(found.values())


def _rules_out(denial: _Fact, fact: _Fact) -> bool:
    """Whether both cannot be true: "no large effusion" leaves room for a small one."""
    for kind in ("side", "location", "quality"):
        one, other = denial.values[kind], fact.values[kind]
        if one and other and not one & other:
            return False
    if denial.level is not None and (
        fact.level is None or fact.level[1] < denial.level[0]
    ):
        return False
    if denial.millimetres is not None:
        return fact.millimetres is not None and fact.millimetres >= denial.millimetres
    return True


def _similarity(
    ones: Sequence[_Fact],
    others: Sequence[_Fact],
    first: _Side,
    second: _Side,
    settings: ScoreSettings,
) -> NDArray[np.float64]:
    """Calibrated similarity of concepts: 0 for unrelated ones, 1 for synonyms."""
    if not ones or not others:
        return np.zeros((len(ones), len(others)))
    rows = first.embedding.concepts[[f.vector for f in ones]].astype(np.float64)
    columns = second.embedding.concepts[[f.vector for f in others]].astype(np.float64)
    floor, ceiling = first.embedding.calibration
    cosine: NDArray[np.float64] = np.nan_to_num(
        rows @ columns.T, nan=0.0, posinf=0.0, neginf=0.0
    )
    similarity = np.clip((cosine - floor) / max(ceiling - floor, 1e-6), 0.0, 1.0)
    similarity[similarity < settings.min_similarity] = 0.0
    for i, fact in enumerate(ones):
        for j, other in enumerate(others):
            if fact.concept == other.concept:
                similarity[i, j] = 1.0
    return similarity


def _attribute_factor(a: _Fact, b: _Fact, settings: ScoreSettings) -> float:
    """What is left of the credit after all differences of attributes; symmetric."""
    factor = 1.0 if a.certain == b.certain else settings.uncertain
    for kind in SET_KINDS:
        factor *= _set_factor(kind, a.values[kind], b.values[kind], settings)
    return factor * _level_factor(a, b, settings) * _size_factor(a, b, settings)


def _set_factor(
    kind: str, a: frozenset[str], b: frozenset[str], settings: ScoreSettings
) -> float:
    if a == b:
        return 1.0
    if not a or not b:
        return float(getattr(settings, f"{kind}_missing"))
    wrong = float(getattr(settings, f"{kind}_wrong"))
    return wrong + (1.0 - wrong) * len(a & b) / len(a | b)


def _level_factor(a: _Fact, b: _Fact, settings: ScoreSettings) -> float:
    if a.level is not None and b.level is not None:
        steps = abs(a.level[1] - b.level[1]) / (len(_LEVEL_WORDS) - 1)
        return 1.0 - (1.0 - settings.severity_wrong) * steps
    if a.level is not None or b.level is not None:
        return settings.severity_missing
    # Words for a severity that have no step on the scale.
    return _set_factor("severity", a.values["severity"], b.values["severity"], settings)


def _size_factor(a: _Fact, b: _Fact, settings: ScoreSettings) -> float:
    if a.millimetres is None and b.millimetres is None:
        return 1.0
    if a.millimetres is None or b.millimetres is None:
        return settings.size_missing
    larger = max(a.millimetres, b.millimetres)
    # Half or double is as wrong as a size can be.
    difference = min(1.0, 2 * abs(a.millimetres - b.millimetres) / larger)
    return 1.0 - (1.0 - settings.size_wrong) * difference


# Results


def _mean_credit(rows: Sequence[_Row], side: int) -> float:
    weight = math.fsum(row.weights[side] for row in rows)
    if not weight:
        return 0.0
    return min(1.0, math.fsum(row.weights[side] * row.credit for row in rows) / weight)


def _pairs(rows: Sequence[_Row]) -> tuple[Pair, ...]:
    totals = [math.fsum(row.weights[side] for row in rows) or 1.0 for side in (0, 1)]
    pairs = [
        Pair(
            reference=_plain(row.facts[0]),
            candidate=_plain(row.facts[1]),
            similarity=row.similarity,
            credit=row.credit,
            outcome=_outcome(row),
            weight_reference=row.weights[0],
            weight_candidate=row.weights[1],
            share_recall=row.weights[0] * row.credit / totals[0],
            share_precision=row.weights[1] * row.credit / totals[1],
        )
        for row in rows
    ]
    return tuple(sorted(pairs, key=_position))


def _outcome(row: _Row) -> str:
    if row.contradicted:
        return CONTRADICTED
    if row.facts[1] is None:
        return MISSED
    if row.facts[0] is None:
        return INVENTED
    return MATCH if row.credit >= 1.0 else PARTIAL


def _plain(fact: Optional[_Fact]) -> Optional[dict[str, Any]]:
    if fact is None:
        return None
    source = fact.source
    return {
        "text": source.text,
        "start_char": source.start_char,
        "end_char": source.end_char,
        "mcse_text": source.mcse_text,
        "concept": source.concept,
        # What is normal denies its findings.
        "assertion": source.assertion if isinstance(source, Entity) else ABSENT,
    }


def _position(pair: Pair) -> tuple[int, int, int]:
    """Reference order first, then what only the candidate has."""
    first, second = (
        -1 if side is None else int(side["start_char"])
        for side in (pair.reference, pair.candidate)
    )
    return int(pair.reference is None), first, second
