"""Which section of a report a place in the text belongs to."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

# Text in front of the first heading, or a report without headings.
NO_SECTION = ""
# A heading that names a structure, "Lungs:": what follows is found in the images.
_STRUCTURE = "structure"
_FINDINGS = "findings"
_IMPRESSION = "impression"
_OF_THE_IMAGES = (NO_SECTION, _FINDINGS, _IMPRESSION)
_MIN_LETTERS_FOR_SLIP = 6
_BLANK_LINE = re.compile(r"\r?\n[ \t]*\r?\n")
_SENTENCE_END = re.compile(r"(?<=[^\W\d_]{2})[.?!]\s+(?=\S)")
_LINE_END = re.compile(r"\r?\n")
# Dictated without a colon: "HISTORY FALL.", "Indication cough." Not "history of ...".
_BARE_HEADING = re.compile(
    r"(?:^|(?<=\n)|(?<=[.!?]\s))[ \t]*(?P<words>(?:clinical[ \t]+)?"
    r"(?:history|indication)|technique)[ \t]+"
    r"(?!(?:of|is|are|was|were|has|for|with|and|or|in|to|as|no|none|not|given|unknown"
    r"|obtained|provided|available|consists|includes|suggests|notable|significant"
    r"|remarkable|limits|limited)\b)(?P<body>[^.!?:\r\n]{2,100})(?:[.!?](?=\s)|\r?\n)",
    re.IGNORECASE,
)


class Section(NamedTuple):
    """A section and the characters [start_char, end_char) of its body."""

    name: str
    start_char: int
    end_char: int


def find_sections(text: str, headings: Mapping[str, str]) -> list[Section]:
    """Cut a report at its headings.

    A heading is a known phrase with a colon at the start of the text, of a line or of
    a sentence, or alone on its line in capitals. One slip is forgiven in long headings
    ("IMPRESION:", "NDICATION:", "FIDNINGS:"). In texts whose line breaks were lost a
    heading in capitals also stands amid a line ("Cough FINDINGS: Clear"). The name of
    a structure ("Lungs:") ends a section that tells of no images, such as "Technique:",
    where the findings have no heading of their own further on.

    text (str): The report.
    headings (Mapping[str, str]): Heading in lower case to the section's name.
    RETURNS (list[Section]): In order, from the first to the last character.
    """
    known = _frozen(headings)
    marks = []
    for match in _HEADING.finditer(text):
        words = match.group("colon") or match.group("line")
        name = _section_name(" ".join(words.lower().split()), known)
        if name:
            marks.append((match.start(), match.end(), name))
    marks += _amid_lines(text, known)
    bare = _bare_headings(text, known)
    sections = []
    start, current = 0, NO_SECTION
    ordered = sorted(marks + bare)
    # The next of the headings that all reports share, from behind.
    following = [""] * len(ordered)
    for i in range(len(ordered) - 1, 0, -1):
        name = ordered[i][2]
        following[i - 1] = name if name in _OF_THE_IMAGES[1:] else following[i]
    for (mark_start, mark_end, name), ahead in zip(ordered, following, strict=True):
        if mark_start < start:
            continue  # found twice
        if name in (_STRUCTURE, NO_SECTION):
            if current in _OF_THE_IMAGES:
                continue
            if name == _STRUCTURE and ahead == _FINDINGS:
                continue  # "History: Lungs: COPD. Findings: ..."
            # The structure itself is part of what is said: "Heart: enlarged".
            name, mark_end = NO_SECTION, mark_start
        elif current == _IMPRESSION and text[start:mark_start].strip(" \t") == "":
            continue  # "Impression: Dx: pneumonia"
        if mark_start > start or current:
            sections.append(Section(current, start, mark_start))
        start, current = mark_end, name
    sections.append(Section(current, start, len(text)))
    return sections


def _bare_headings(
    text: str, headings: tuple[tuple[str, str], ...]
) -> list[tuple[int, int, str]]:
    """Headings without a colon and, since none ends them, the ends of their sentences:
    start, end and name of the section, '' where it ends."""
    marks = []
    for match in _BARE_HEADING.finditer(text):
        name = _section_name(" ".join(match["words"].lower().split()), headings)
        if name and text[match.end() :].strip():
            marks.append((match.start(), match.start("body"), name))
            marks.append((match.end(), match.end(), NO_SECTION))
    return marks


# At most five words: longer headings do not occur, and the search stays linear.
_HEADING = re.compile(
    r"(?:^|(?<=\n)|(?<=[.!?:;>*#]))[ \t]*(?:"
    r"(?P<colon>[A-Za-z][A-Za-z/&]*(?:[ \t][A-Za-z/&]+){0,4})[ \t]?:"
    r"|(?P<line>[A-Z][A-Z/&]*(?:[ \t][A-Z/&]+){0,4})[ \t]*(?=\r?\n)"
    r")"
)


# Amid a line only capitals tell a heading from "other findings: ...".
_CAPITALS = re.compile(r"(?<![A-Za-z/&])[A-Z][A-Z/&]*(?:[ \t]+[A-Z/&]+){0,4}[ \t]?:")
_CAPITALISED = re.compile(r"(?<=[a-z0-9)_] )[A-Z][a-z]{5,}[ \t]?:")
_IN_SMALL_LETTERS = re.compile(r"[a-z]{4}")


def _amid_lines(
    text: str, headings: tuple[tuple[str, str], ...]
) -> list[tuple[int, int, str]]:
    """Headings with no full stop in front: start, end and name of the section.

    Behind other words in capitals ("with COPD FINDINGS:") and in "Cough Findings:" only
    the name of a section itself is a heading: "PRIOR EXAM:" and "Study:" are none.
    """
    if _IN_SMALL_LETTERS.search(text) is None:
        return []
    names = {name for _, name in headings}
    marks = []
    for match in _CAPITALS.finditer(text):
        words = match[0][:-1].lower().split()
        name = _section_name(" ".join(words), headings)
        if name:
            marks.append((match.start(), match.end(), name))
        elif words[-1] in names:
            start = match.start() + match[0].lower().rindex(words[-1])
            marks.append((start, match.end(), words[-1]))
    for match in _CAPITALISED.finditer(text):
        word = match[0][:-1].strip().lower()
        if word in names:
            marks.append((match.start(), match.end(), word))
    return marks


def counted_ranges(
    text: str, sections: Sequence[Section], counted: Collection[str]
) -> list[tuple[int, int]]:
    """The parts of a report that count.

    Where no heading of a section that counts is in the report, a section that does not
    count ends at its first blank line, or else at its first line break; the last one,
    where it has neither, ends with its first sentence: "INDICATION: Cough." in front
    of an untitled report must not swallow it. Where only the findings have no heading
    it ends at its first blank line.

    text (str): The report.
    sections (Sequence[Section]): Its sections.
    counted (Collection[str]): Names of the sections that count.
    RETURNS (list[tuple[int, int]]): Ranges of characters, in order.
    """
    titled = any(section.name in counted for section in sections)
    has_findings = any(section.name == _FINDINGS for section in sections)
    ranges = []
    for section in sections:
        if section.name == NO_SECTION or section.name in counted:
            ranges.append((section.start_char, section.end_char))
        elif not titled or (_FINDINGS in counted and not has_findings):
            body = text[section.start_char : section.end_char]
            lead = len(body) - len(body.lstrip())
            end = _BLANK_LINE.search(body, lead)
            if end is None and not titled:
                end = _LINE_END.search(body, lead)
            if end is None and not titled and section is sections[-1]:
                end = _SENTENCE_END.search(body, lead)
            if end is not None:
                ranges.append((section.start_char + end.end(), section.end_char))
    return ranges


def _frozen(headings: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(headings.items())


@lru_cache(maxsize=4096)
def _section_name(heading: str, headings: tuple[tuple[str, str], ...]) -> str:
    known = dict(headings)
    if heading in known:
        return known[heading]
    if len(heading) < _MIN_LETTERS_FOR_SLIP:
        return ""
    for other, name in headings:
        if len(other) >= _MIN_LETTERS_FOR_SLIP and _one_slip(heading, other):
            return name
    return ""


def _one_slip(a: str, b: str) -> bool:
    """Whether one letter too many, too few or wrong, or two letters in wrong order."""
    if abs(len(a) - len(b)) > 1:
        return False
    short, long = sorted((a, b), key=len)
    at = next((i for i in range(len(short)) if short[i] != long[i]), len(short))
    if len(short) == len(long):
        swapped = short[at : at + 2] == long[at : at + 2][::-1]
        return short[at + 1 :] == long[at + 1 :] or (
            swapped and short[at + 2 :] == long[at + 2 :]
        )
    return short[at:] == long[at + 1 :]
