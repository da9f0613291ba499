"""What a report tells beside its findings: history, and what was only looked for."""

from .context import assess_phrase
from .data import ABSENT, UNCERTAIN
from .reading import Reading
from .scope import REACH, Between, meaning_of

HISTORY = "history"
HYPOTHETICAL = "hypothetical"
_POSSESSIVE = frozenset(("'s", "'"))
_AT_PRESENT = frozenset(("now", "today", "currently"))


def set_aside(reading: Reading, start: int, end: int) -> str:
    """Why a phrase is told, but not as a finding of this study.

    "history of asthma", "CT to exclude a mass"; what is denied was looked for.

    reading (Reading): The marked words.
    start (int): First word of the phrase.
    end (int): Word after the phrase.
    RETURNS (str): `HISTORY`, `HYPOTHETICAL` or '' for a finding like any other.
    """
    if reading.words.sentence_of[start] not in reading.told_apart:
        return ""
    assertion = assess_phrase(reading, start, end)
    if assertion.value == ABSENT:
        return ""
    if assertion.cue is not None:
        cue = reading.cue_starting.get(assertion.cue[0])
        if cue is not None and any(m.polarity == HYPOTHETICAL for m in cue.value):
            return HYPOTHETICAL
    return HISTORY if _is_history(reading, start) else ""


def _is_history(reading: Reading, start: int) -> bool:
    first, _ = reading.sentence(start)
    between = Between()
    for at in range(start - 1, max(first, start - REACH) - 1, -1):
        if at + 1 in reading.history_ending:
            return True
        cue = reading.cue_ending.get(at + 1)
        if (
            cue is not None
            and meaning_of(cue, "end")
            # "the patient's cough" begins no clause.
            and reading.words.lower[at + 1] not in _POSSESSIVE
        ):
            return False
        forward = meaning_of(cue, "forward") if cue is not None else None
        if forward is not None and forward.polarity == UNCERTAIN:
            return False  # "history of smoking, concerning for cancer"
        if reading.words.lower[at] in _AT_PRESENT:
            return False
        between.pass_word(reading, at, start)
        if between.clause_ended or between.denial_ended:
            return False
    return False
