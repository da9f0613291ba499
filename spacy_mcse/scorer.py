"""The scorer of clinical entities: what `spacy evaluate` reports for the refiner.

spaCy's own scorers compare spans and labels; this one also compares what is said of
them. Entities of the pipeline and of the reference are paired one to one, and
assertions and attributes are compared on the pairs, so that an entity that was missed
counts once, as missed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Optional

from spacy.scorer import PRFScore
from spacy.tokens import Doc
from spacy.training import Example

from .data import ASSERTIONS, ATTRIBUTES, CLINICAL_KEY, read_entities

Scores = dict[str, Any]
SCORER = "spacy-mcse.clinical_entity_scorer.v1"
DEFAULT_SCORE_WEIGHTS: dict[str, Optional[float]] = {
    "clinical_ents_f": 0.5,
    "clinical_ents_p": 0.0,
    "clinical_ents_r": 0.0,
    # Scores of pairs alone would choose the pipeline with few and easy pairs.
    "clinical_ents_asserted_f": 0.5,
    "clinical_assertion_macro_f": 0.0,
    "clinical_attributes_f": 0.0,
}
# `spacy evaluate` prints scores of span groups only, under these names.
_PRINTED = f"spans_{CLINICAL_KEY}"


@dataclass(frozen=True)
class Annotated:
    """An entity as far as it is compared.

    start (int): Letters of the text in front of it; white space does not count.
    end (int): Letters of the text up to its end.
    label (str): Its label.
    assertion (Optional[str]): One of `ASSERTIONS`, None where nothing is said of it.
    values (Mapping): Kind of attribute to its values.
    """

    start: int
    end: int
    label: str
    assertion: Optional[str] = None
    values: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def span(self) -> tuple[int, int]:
        return self.start, self.end

    def likeness(self, other: "Annotated") -> float:
        """Common part of two spans: 1 for the same, 0 for apart."""
        common = min(self.end, other.end) - max(self.start, other.start)
        if common <= 0:
            return float(self.span == other.span)
        return common / (max(self.end, other.end) - min(self.start, other.start))


def make_clinical_entity_scorer() -> Callable[..., Scores]:
    """Build `spacy-mcse.clinical_entity_scorer.v1`."""
    return clinical_entity_score


def clinical_entity_score(examples: Iterable[Example], **kwargs: Any) -> Scores:
    """Score the clinical entities of Examples.

    A reference without the span group of clinical entities has no annotation and is
    left out; one with an empty group has no entities. Records may be missing (spans
    drawn by hand): then only the spans are scored.

    examples (Iterable[Example]): Docs of the pipeline beside references.
    RETURNS (dict): As `entity_scores`.
    RAISES (ValueError): E202 for records that do not fit the spans of their group.
    """
    return entity_scores(
        (annotated(example.predicted), annotated(example.reference))
        for example in examples
        if CLINICAL_KEY in example.reference.spans
    )


def entity_scores(
    reports: Iterable[tuple[Sequence[Annotated], Sequence[Annotated]]],
) -> Scores:
    """Compare found entities with those of references.

    Spans: `clinical_ents_p`, `_r` and `_f` count equal spans of any label,
    `clinical_ents_overlap_p`... overlapping ones, one to one; `clinical_ents_per_type`
    is by label, equal spans of this label. `clinical_ents_asserted_p`... count those of
    the overlapping ones that have the assertion of the reference, with what was missed
    and what was found too much, and `clinical_ents_asserted_per_type` does so for each
    assertion. None without any entity.

    On the overlapping pairs alone: `clinical_assertion_micro_f`, `_macro_f` (mean of
    the assertions that the references have), `_absent_p`... and `_per_type`, and
    `clinical_attributes_p`, `_r`, `_f` and `_per_type`. An assertion or a kind of
    attribute that no pair has in the reference is None.

    `spans_clinical_entities_p`... are those of `clinical_ents`, with rows of all kinds
    in `_per_type`: what `spacy evaluate --spans-key clinical_entities` prints.

    reports (Iterable): For each report the entities found, and those of the reference.
    RETURNS (dict): The scores.
    """
    exact, overlapping = PRFScore(), PRFScore()
    asserted = {name: PRFScore() for name in ASSERTIONS}
    labels: dict[str, PRFScore] = {}
    assertions = {name: PRFScore() for name in ASSERTIONS}
    attributes = {kind: PRFScore() for kind in ATTRIBUTES}
    for found, gold in reports:
        exact.score_set({e.span for e in found}, {e.span for e in gold})
        for label in {e.label for e in (*found, *gold)}:
            labels.setdefault(label, PRFScore()).score_set(
                {e.span for e in found if e.label == label},
                {e.span for e in gold if e.label == label},
            )
        pairs = match_entities(found, gold)
        n = len(pairs)
        overlapping += PRFScore(tp=n, fp=len(found) - n, fn=len(gold) - n)
        if not gold or any(e.assertion is not None for e in gold):
            for name, score in asserted.items():
                score += _with_assertion(name, found, gold, pairs)
        for mine, theirs in pairs:
            _compare(mine, theirs, assertions, attributes)
    return _as_dict(exact, overlapping, labels, asserted, assertions, attributes)


def match_entities(
    found: Sequence[Annotated], gold: Sequence[Annotated]
) -> list[tuple[Annotated, Annotated]]:
    """Pair entities whose spans overlap, one to one, the most alike first.

    found (Sequence[Annotated]): The entities of the pipeline.
    gold (Sequence[Annotated]): Those of the reference.
    RETURNS (list): Pairs of both.
    """
    candidates = sorted(
        (-likeness, i, j)
        for i, mine in enumerate(found)
        for j, theirs in enumerate(gold)
        if (likeness := mine.likeness(theirs)) > 0
    )
    used: set[int] = set()
    taken: set[int] = set()
    pairs = []
    for _, i, j in candidates:
        if i not in used and j not in taken:
            used.add(i)
            taken.add(j)
            pairs.append((found[i], gold[j]))
    return pairs


def annotated(doc: Doc) -> list[Annotated]:
    """The clinical entities of a Doc as they are compared; empty without the group.

    RAISES (ValueError): E202 for records that do not fit the spans.
    """
    group = doc.spans.get(CLINICAL_KEY)
    if not group:
        return []
    # White space may differ where the reference was made of words.
    letters = [0, *accumulate(not character.isspace() for character in doc.text)]
    if "records" not in group.attrs:
        return [
            Annotated(letters[s.start_char], letters[s.end_char], s.label_)
            for s in group
        ]
    return [
        Annotated(
            start=letters[entity.start_char],
            end=letters[entity.end_char],
            label=entity.label,
            assertion=entity.assertion,
            values={kind: entity.values(kind) for kind in entity.attributes},
        )
        for entity in read_entities(doc)
    ]


def _compare(
    mine: Annotated,
    theirs: Annotated,
    assertions: Mapping[str, PRFScore],
    attributes: Mapping[str, PRFScore],
) -> None:
    """Count what is said alike and differently of the two entities of a pair."""
    if mine.assertion is not None and theirs.assertion is not None:
        for name, score in assertions.items():
            score.score_set({mine.assertion} & {name}, {theirs.assertion} & {name})
    for kind, score in attributes.items():
        score.score_set(
            set(mine.values.get(kind, ())), set(theirs.values.get(kind, ()))
        )


def _with_assertion(
    name: str,
    found: Sequence[Annotated],
    gold: Sequence[Annotated],
    pairs: Sequence[tuple[Annotated, Annotated]],
) -> PRFScore:
    """How well the entities of one assertion are found, with the assertion."""
    right = sum(mine.assertion == theirs.assertion == name for mine, theirs in pairs)
    return PRFScore(
        tp=right,
        fp=sum(e.assertion == name for e in found) - right,
        fn=sum(e.assertion == name for e in gold) - right,
    )


def _as_dict(
    exact: PRFScore,
    overlapping: PRFScore,
    labels: Mapping[str, PRFScore],
    asserted: Mapping[str, PRFScore],
    assertions: Mapping[str, PRFScore],
    attributes: Mapping[str, PRFScore],
) -> Scores:
    stated = _where_annotated(assertions)
    described = _where_annotated(attributes)
    scores: Scores = {
        **_prf("clinical_ents", exact),
        "clinical_ents_per_type": _per_type(labels),
        **_prf("clinical_ents_overlap", overlapping),
        **_prf("clinical_ents_asserted", _sum(asserted)),
        "clinical_ents_asserted_per_type": _per_type(_where_annotated(asserted)),
        # Wrong assertions that no reference has count here, too.
        "clinical_assertion_micro_f": _prf("all", _sum(assertions))["all_f"],
        "clinical_assertion_macro_f": (
            sum(score.fscore for score in stated.values()) / len(stated)
            if stated
            else None
        ),
    }
    for name in assertions:
        scores.update(_prf(f"clinical_assertion_{name}", stated.get(name)))
    scores["clinical_assertion_per_type"] = _per_type(stated)
    scores.update(_prf("clinical_attributes", _sum(described)))
    scores["clinical_attributes_per_type"] = _per_type(described)
    rows = {
        "any overlap": overlapping,
        "and assertion": _sum(asserted),
        **{label: labels[label] for label in sorted(labels)},
        **stated,
        **described,
    }
    scores.update(_prf(_PRINTED, exact))
    scores[f"{_PRINTED}_per_type"] = _per_type(
        {name: score for name, score in rows.items() if len(score)}
    )
    return scores


def _where_annotated(scores: Mapping[str, PRFScore]) -> dict[str, PRFScore]:
    """Without what the references say nothing of."""
    return {name: score for name, score in scores.items() if score.tp + score.fn}


def _prf(name: str, score: Optional[PRFScore]) -> Scores:
    """Precision, recall and F, None where nothing was compared."""
    some = score if score is not None and len(score) else None
    return {
        f"{name}_p": some.precision if some is not None else None,
        f"{name}_r": some.recall if some is not None else None,
        f"{name}_f": some.fscore if some is not None else None,
    }


def _per_type(scores: Mapping[str, PRFScore]) -> Optional[dict[str, dict[str, float]]]:
    return {name: score.to_dict() for name, score in scores.items()} or None


def _sum(scores: Mapping[str, PRFScore]) -> PRFScore:
    return sum(scores.values(), PRFScore())
