"""Measures in a report, in millimetres."""

from typing import Optional

from .reading import Reading

MM_PER_UNIT = {
    **dict.fromkeys(
        ["mm", "millimeter", "millimetre", "millimeters", "millimetres"], 1.0
    ),
    **dict.fromkeys(
        ["cm", "centimeter", "centimetre", "centimeters", "centimetres"], 10.0
    ),
}
TIMES = frozenset(("x", "by", "×"))
_MAX_MEASURES = 3


def read_size(reading: Reading, at: int, end: int) -> Optional[tuple[int, list[float]]]:
    """Read a measure that begins at a word: "12 x 9 mm", "1.2 cm".

    reading (Reading): The marked words.
    at (int): The word where it must begin.
    end (int): No word from this one on is read.
    RETURNS (Optional[tuple]): The word after it and the measures in millimetres.
    """
    words = reading.words
    measures: list[tuple[float, float]] = []  # a number and its unit, 0 for none yet
    while at < end and words.is_number[at] and len(measures) < _MAX_MEASURES:
        number = _number(words.lower[at])
        at += 1
        unit = MM_PER_UNIT.get(words.lower[at], 0.0) if at < end else 0.0
        measures.append((number, unit))
        at += unit > 0
        if not (at + 1 < end and words.lower[at] in TIMES and words.is_number[at + 1]):
            break
        at += 1
    # "12 x 9 mm": the last unit is that of the numbers in front of it too.
    last = measures[-1][1] if measures else 0.0
    if not last:
        return None
    return at, [round(number * (unit or last), 3) for number, unit in measures]


def _number(text: str) -> float:
    return float(text.replace(",", "."))
