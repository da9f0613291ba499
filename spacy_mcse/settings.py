"""The settings of the calibrated score."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from .data import SIGNIFICANCES, Embedding
from .errors import Errors

HIGHEST_WEIGHT = 10


@dataclass(frozen=True)
class ScoreSettings:
    """Parameters of the calibrated score.

    Factors and similarities are in [0, 1], where 1 costs nothing; weights are above 0,
    up to 10, and only their ratios matter.

    min_similarity (float): Calibrated similarity of concepts below this counts as 0.
    family (float): Similarity of two concepts of one family of the word lists:
        "consolidation" and "pneumonia".
    related (float): Factor on the similarity of any other two concepts of the word
        lists: "pleural thickening" is near "pleural effusion" and yet another finding.
    uncertain (float): Factor where one report is certain and the other is not.
    side_missing (float): Factor where only one report states a side; the same for
        the other attributes that end in `_missing`.
    side_wrong (float): Factor where the sides differ; the same for the other
        attributes that end in `_wrong`. Values that overlap cost less. For severity
        and size it is the factor of the largest difference.
    significance (bool): Weigh findings by the clinical significance of their concept;
        else all weigh 1.
    urgent (float): Weight of a finding that needs action at once; the same for
        `actionable` (also what no list knows), `minor` and `expected` ones.
    devices (float): Factor on the weight of devices; 0 leaves them out, as the paper
        does.
    ignore_change (bool): Leave out what is said about change ("new", "stable").
    """

    min_similarity: float = 0.3
    family: float = 0.6
    related: float = 0.0
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
    significance: bool = True
    urgent: float = 1.5
    actionable: float = 1.0
    minor: float = 0.5
    expected: float = 0.3
    devices: float = 0.5
    ignore_change: bool = False

    def __post_init__(self) -> None:
        for name, value in list(vars(self).items()):
            if isinstance(getattr(ScoreSettings, name), bool):
                valid, allowed = isinstance(value, bool), "true, false"
            else:
                valid = isinstance(value, (int, float)) and not isinstance(value, bool)
                if name in SIGNIFICANCES:
                    # A weight of 0 would make equal reports score 0.
                    valid = valid and 0 < value <= HIGHEST_WEIGHT
                    allowed = f"numbers above 0, up to {HIGHEST_WEIGHT}"
                else:
                    valid = valid and 0 <= value <= 1
                    allowed = "numbers from 0 to 1"
            if valid and name.endswith("_wrong"):
                missing = name.replace("_wrong", "_missing")
                valid = value <= getattr(self, missing)
                allowed = f"numbers not above {missing}"
            if not valid:
                raise ValueError(
                    Errors.E407.format(name=name, got=repr(value), allowed=allowed)
                )
            if not isinstance(value, bool):
                # 1 and 1.0 are one setting and must have one hash.
                object.__setattr__(self, name, float(value))

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> "ScoreSettings":
        """Build settings from a config block; names left out keep their defaults.

        RAISES (ValueError): E406 for unknown names, E407 for values out of range.
        """
        allowed = cls.__dataclass_fields__
        unknown = sorted(set(settings).difference(allowed))
        if unknown:
            raise ValueError(
                Errors.E406.format(names=", ".join(unknown), allowed=", ".join(allowed))
            )
        return cls(**settings)

    def weight(self, significance: str) -> float:
        """Weight of a finding by its significance; unknown ones are actionable.

        significance (str): A class of significance.tsv, or ''.
        RETURNS (float): In [0, HIGHEST_WEIGHT].
        """
        if not self.significance:
            return 1.0
        known = significance in SIGNIFICANCES
        return float(getattr(self, significance if known else "actionable"))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def hash(self) -> str:
        """Short hash of all parameters."""
        return short_hash(self.to_dict())


DEFAULTS = ScoreSettings()


def stored_settings(embedding: Embedding) -> ScoreSettings:
    """The settings stored with the vectors of a report, else the defaults."""
    if not embedding.scoring:
        return DEFAULTS
    try:
        return _settings(**embedding.scoring)
    except TypeError:
        # What cannot be hashed is no value of a setting: let the check say so.
        return ScoreSettings.from_dict(embedding.scoring)


# Checked once for all reports of a pipeline. Typed: 1 and 1.0 differ in their hash.
@lru_cache(maxsize=64, typed=True)
def _settings(**values: Any) -> ScoreSettings:
    return ScoreSettings.from_dict(values)


def short_hash(values: Mapping[str, Any]) -> str:
    """Ten hexadecimal digits for values that can be written as JSON."""
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode("utf8")).hexdigest()[:10]
