"""The results of scoring one pair of reports."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Optional

from .signature import Signature

MATCH, PARTIAL, CONTRADICTED, MISSED, INVENTED = OUTCOMES = (
    "match",
    "partial",
    "contradicted",
    "missed",
    "invented",
)
NORMAL_FLAG, NO_CONTENT_FLAG = FLAGS = ("normal", "no_content")


@dataclass(frozen=True)
class Pair:
    """One line of the explanation of a score.

    Where neither report has a finding, one line of outcome `match` stands for that.

    reference (Optional[dict]): `text`, `start_char`, `end_char`, `mcse_text`,
        `concept`, `assertion` and `attributes` (values by kind, as compared) of the
        reference's part, or None.
    candidate (Optional[dict]): The same of the candidate's part, or None.
    similarity (float): Calibrated similarity of the concepts.
    credit (float): Similarity times the factors of the attributes.
    outcome (str): One of `OUTCOMES`.
    weight_reference (float): Weight in the denominator of recall.
    weight_candidate (float): Weight in the denominator of precision.
    share_recall (float): Part of the recall that comes from here.
    share_precision (float): Part of the precision that comes from here.
    """

    # What holds dicts stays out of the hash; equality is that of all fields.
    reference: Optional[dict[str, Any]] = field(hash=False)
    candidate: Optional[dict[str, Any]] = field(hash=False)
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
    n_reference (int): Findings and devices of the reference, repeated mentions once.
    n_candidate (int): Findings and devices of the candidate, repeated mentions once.
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
