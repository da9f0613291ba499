"""Contradictions: findings of one report that the other report denies."""

from collections import Counter
from collections.abc import Sequence

from .claims import Claim, Claims
from .data import Entity

# Words of change with which a denial speaks of something beyond what is known.
BEYOND = frozenset(("new", "additional", "worse", "recurrent"))


def take_denied(
    findings: Sequence[Claim], other: Claims
) -> tuple[list[Claim], list[tuple[Claim, Claim, float]]]:
    """Part the findings into those that stand and those that the other side denies.

    findings (Sequence[Claim]): Findings of one report.
    other (Claims): The other report.
    RETURNS (tuple): Standing findings, and (finding, denial, weight of the denial);
        the denials of one concept weigh as much as one finding in all, however many
        there are and however many findings they meet: to deny twice changes nothing.
    """
    # A report that says both ("no left effusion, small right effusion") is not
    # contradicted by one half of what it says.
    concepts = {claim.concept for claim in findings}
    concepts -= {claim.concept for claim in other.findings}
    denials: dict[str, list[Claim]] = {}
    for denial in other.denials:
        if denial.concept in concepts:
            denials.setdefault(denial.concept, []).append(denial)
    standing: list[Claim] = []
    denied: list[tuple[Claim, Claim]] = []
    for claim in findings:
        against = denials.get(claim.concept, ())
        met = next((denial for denial in against if rules_out(denial, claim)), None)
        if met is not None:
            denied.append((claim, met))
        else:
            standing.append(claim)
    uses = Counter(claim.concept for claim, _ in denied) if denied else {}
    return standing, [(c, d, c.weight / uses[c.concept]) for c, d in denied]


def denied_beside(own: Claims, other: Claims) -> list[tuple[Claim, Claim]]:
    """Findings that the other side states and denies at once, where this one does not.

    The finding keeps its credit; the denial beside it is one false statement. One
    for each concept.

    own (Claims): The report with the findings.
    other (Claims): The report that denies.
    RETURNS (list): (finding, denial).
    """
    concepts = {claim.concept for claim in own.findings}
    concepts &= {claim.concept for claim in other.findings}
    if not concepts:
        return []
    # What is normal is said in general and often has an exception that follows.
    concepts -= {c.concept for c in own.denials if isinstance(c.source, Entity)}
    found: dict[str, tuple[Claim, Claim]] = {}
    for denial in other.denials:
        concept = denial.concept
        if concept not in concepts or concept in found:
            continue
        if not isinstance(denial.source, Entity):
            continue
        if any(c.concept == concept and rules_out(denial, c) for c in other.findings):
            met = (c for c in own.findings if c.concept == concept)
            claim = next((c for c in met if rules_out(denial, c)), None)
            if claim is not None:
                found[concept] = claim, denial
    return list(found.values())


def rules_out(denial: Claim, claim: Claim) -> bool:
    """Whether both cannot be true: "no large effusion" leaves room for a small one.

    denial (Claim): A denial of the same concept.
    claim (Claim): A finding.
    RETURNS (bool): Whether the denial contradicts the finding.
    """
    is_normal = not isinstance(denial.source, Entity)
    if isinstance(denial.source, Entity) and isinstance(claim.source, Entity):
        # "No new opacity" leaves room for an old one, "no other" for this one.
        beyond = denial.source.values("change") & BEYOND
        if beyond and not beyond & claim.source.values("change"):
            return False
    for kind in ("side", "location", "quality"):
        # "No pulmonary opacity" denies every opacity.
        one = denial.values[kind] - denial.own.get(kind, frozenset())
        other = claim.values[kind]
        if one and not one & other and (other or is_normal):
            return False
    if denial.level is not None and (
        claim.level is None or claim.level[1] < denial.level[0]
    ):
        return False
    if denial.millimetres is not None:
        return claim.millimetres is not None and claim.millimetres >= denial.millimetres
    return True
