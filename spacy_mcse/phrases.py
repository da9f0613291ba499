"""From the head of a finding to its whole phrase: which words describe it."""

from dataclasses import dataclass, field
from typing import Optional

from .inflection import singulars
from .levels import levels_start, read_levels
from .measures import in_measure, is_number, measure_start
from .reading import Reading
from .vocabulary import ANATOMY, DEVICE, FINDING, PROCEDURE

_ADJECTIVE_ENDINGS = ("al", "ar", "ic", "ous", "ary", "ory", "ive", "oid", "like")
_SHORTEST_ADJECTIVE = 5
# In words, on each side of a head: text without full stops must not cost more.
LONGEST_PHRASE = 16
_LIST_JOINS = frozenset(("and", "or", "to", "/", "and/or"))
_DESCRIBING_KINDS = frozenset(("side", "location", "severity", "quality", "count"))
# Places that say nothing without a noun: "[upper], middle and lower lobes".
_PARTIAL_PLACES = frozenset(("upper", "lower", "mid", "middle"))
# "slightly", "somewhat" and the like degree what follows, adjectives do not.
_DEGREE_WORDS = frozenset(("somewhat", "little", "bit", "slight"))
_NO_PLACES = frozenset((FINDING, DEVICE, PROCEDURE))
_MOST_COUNTED = 50


@dataclass
class Phrase:
    """The words of an entity.

    start (int): First word of the span.
    end (int): Word after the span.
    head_start (int): First word of the head, the finding itself.
    head_end (int): Word after the head.
    apart (list): Ranges of describing words that do not adjoin the head: "patchy" in
        "patchy areas of consolidation".
    predicate (Optional range): Where the head is a structure with what is said of
        it ("heart is enlarged"), the words of the adjective.
    skipped (tuple): A range between the describing words and the head that belongs to
        another phrase: "right [and left] effusions".
    assertion (str): What another component says of it; '' where our rules decide.
    """

    start: int
    end: int
    head_start: int
    head_end: int
    apart: list[tuple[int, int]] = field(default_factory=list)
    predicate: tuple[int, int] = (0, 0)
    skipped: tuple[int, int] = (0, 0)
    assertion: str = ""

    @property
    def is_predicate(self) -> bool:
        return self.predicate[1] > 0


def whole_phrase(reading: Reading, phrase: Phrase, floor: int, ceiling: int) -> Phrase:
    """Add the describing words around the head of a phrase.

    reading (Reading): The marked words.
    phrase (Phrase): The head; its fields are changed.
    floor (int): No word before this one may be used.
    ceiling (int): No word from this one on may be used.
    RETURNS (Phrase): The same object.
    """
    phrase.start = _extend_left(reading, phrase.start, floor)
    if not phrase.is_predicate:
        phrase.end = _extend_right(reading, phrase.end, ceiling)
    phrase.start = _skip_change(reading, phrase.start, phrase.head_start)
    phrase.apart = _across_of(reading, phrase.start, floor)
    return phrase


def coordinated(reading: Reading, phrase: Phrase, floor: int) -> Optional[Phrase]:
    """The other phrase with the same head: "[small right] and large left effusions".

    reading (Reading): The marked words.
    phrase (Phrase): The phrase next to the head, whole.
    floor (int): No word before this one may be used.
    RETURNS (Optional[Phrase]): None unless both name a side, each its own.
    """
    join = phrase.start - 1
    if join <= floor or reading.words.lower[join] not in _LIST_JOINS | {","}:
        return None
    sides = _sides(reading, phrase.start, phrase.head_start)
    start = _skip_change(reading, _extend_left(reading, join, floor), join)
    others = _sides(reading, start, join)
    if not sides or not others or sides & others:
        return None
    return Phrase(
        start,
        phrase.end,
        phrase.head_start,
        phrase.head_end,
        skipped=(join, phrase.head_start),
        assertion=phrase.assertion,
    )


def _sides(reading: Reading, start: int, end: int) -> set[str]:
    return {
        value
        for at in range(start, end)
        if (match := reading.modifier_of[at]) is not None
        for kind, value in match.value
        if kind == "side"
    }


def degree_start(reading: Reading, phrase: Phrase) -> int:
    """The first word of degree in front of a predicate: "[mildly] enlarged"."""
    words = reading.words
    start = at = phrase.predicate[0]
    while at > phrase.head_start:
        is_degree = words.lower[at - 1].endswith("ly")
        if is_degree or reading.kinds(at - 1) & {"severity"}:
            start = at - 1
        elif words.lower[at - 1] not in _LIST_JOINS or start == phrase.predicate[0]:
            break  # "mildly [to] moderately enlarged"
        at -= 1
    return start


def is_describing_word(reading: Reading, at: int) -> bool:
    """Whether a word describes what follows it."""
    words = reading.words
    if not words.is_word[at] or reading.in_cue[at]:
        return False
    if reading.modifier_of[at] is not None or reading.category(at) == ANATOMY:
        return True
    if at > 0 and (reading.is_likened(at) or reading.is_likened(at + 1)):
        return True
    lower = words.lower[at]
    if in_measure(reading, at) or levels_start(reading, at, 0) < at:
        return True
    if is_number(lower):
        return counts_following(reading, at)
    if reading.term_of[at] is not None or _is_function_word(reading, at):
        return False
    if lower in reading.vocabulary.not_clinical:
        return False
    # Not by its tag: taggers differ, and one tagger differs between two line breaks.
    return len(lower) >= _SHORTEST_ADJECTIVE and lower.endswith(_ADJECTIVE_ENDINGS)


def counts_following(reading: Reading, at: int) -> bool:
    """Whether a number in digits counts findings: "[2] small nodules"."""
    words = reading.words
    if not words.lower[at].isdecimal() or not 1 < int(words.lower[at]) < _MOST_COUNTED:
        return False
    if in_measure(reading, at) or (at > 0 and not words.is_word[at - 1]):
        return False
    last = min(len(words), at + LONGEST_PHRASE)
    after = at + 1
    if after < last and words.lower[after].isdecimal():
        after += 1  # "2-3 nodules"
    while after < last and (
        reading.modifier_of[after] is not None or reading.category(after) == ANATOMY
    ):
        after += 1
    term = reading.term_of[after] if after < last else None
    if term is None or term.value.category != FINDING:
        return False
    return is_plural(words.lower[term.end - 1])


def is_plural(word: str) -> bool:
    """Whether a noun has the ending of several: "nodules"; "atelectasis" has not."""
    return word.endswith("s") and bool(singulars(word))


def is_degree_of_change(reading: Reading, at: int) -> bool:
    """Whether a word of severity says how much has changed: "[slightly] improved".

    "mildly increased markings" are markings to a mild degree: there the word of change
    belongs to the finding.
    """
    words = reading.words
    degree = reading.modifier_of[at]
    if degree is None or reading.kinds(at) != {"severity"}:
        return False
    word = words.lower[degree.end - 1]
    is_adverb = word.endswith("ly") or word in _DEGREE_WORDS
    after = degree.end
    first, last = reading.sentence(at)
    if is_adverb and at > first and "change" in reading.kinds(at - 1):
        # "increased slightly in size", not "remains mildly elevated"
        return (
            after >= last
            or not words.is_word[after]
            or reading.is_class(after, "preposition")
        )
    while after < last and (
        reading.is_class(after, "adverb") or words.lower[after] == "interval"
    ):
        after += 1
    if after >= last or "change" not in reading.kinds(after):
        return False
    change, term = reading.modifier_of[after], reading.term_of[after]
    assert change is not None
    if term is not None and term.value.category == FINDING and term.end > change.end:
        return False
    return is_adverb or any(
        reading.is_class(noun, "change_noun")
        for noun in range(change.start, change.end)
    )


def _is_function_word(reading: Reading, at: int) -> bool:
    return any(
        reading.is_class(at, name)
        for name in ("determiner", "preposition", "conjunction", "copula", "adverb")
    )


def _extend_left(reading: Reading, start: int, floor: int) -> int:
    words = reading.words
    floor = max(floor, start - LONGEST_PHRASE)
    at = start
    while at > floor:
        before = at - 1
        if is_describing_word(reading, before):
            at = _match_start(reading, before, floor)
            continue
        # "upper and lower lobe", "mild to moderate", "patchy, nodular opacity"
        joins = words.lower[before] in _LIST_JOINS or words.lower[before] == ","
        if not (joins and at < start and before > floor):
            break
        if not _joins_modifiers(reading, before, at):
            break
        at = _match_start(reading, before - 1, floor)
    return at


def _joins_modifiers(reading: Reading, join: int, after: int) -> bool:
    """Whether a comma or conjunction stands between two describing words."""
    left = join - 1
    if not is_describing_word(reading, left):
        return False
    words = reading.words
    left_kinds, right_kinds = reading.kinds(left), reading.kinds(after)
    if words.lower[join] == ",":
        if words.lower[left] in _PARTIAL_PLACES and "location" in right_kinds:
            return True
        adjectives = _DESCRIBING_KINDS - {"location"}
        return bool(left_kinds & adjectives) and reading.category(left) == ""
    if left_kinds and right_kinds:
        return bool(left_kinds & right_kinds) or left_kinds <= {"change"}
    return False


def _match_start(reading: Reading, at: int, floor: int) -> int:
    """The first word of the modifier or structure that covers a word."""
    start = min(measure_start(reading, at, floor), levels_start(reading, at, floor))
    modifier, term = reading.modifier_of[at], reading.term_of[at]
    if modifier is not None:
        start = min(start, modifier.start)
    if term is not None and term.value.category == ANATOMY:
        start = min(start, term.start)
    return max(start, floor)


def _extend_right(reading: Reading, end: int, ceiling: int) -> int:
    """Over "of the right hilum", not over "in the right lung"."""
    words = reading.words
    at = end
    if at >= ceiling or words.lower[at] != "of":
        return end
    at = skip_articles(reading, at + 1, ceiling)
    stop = place_end(reading, at, ceiling)
    return stop if stop > at else end


def skip_articles(reading: Reading, start: int, stop: int) -> int:
    """The word after "the", "some" and the like; "both" says something and stays."""
    at = start
    while (
        at < stop
        and reading.is_class(at, "determiner")
        and reading.modifier_of[at] is None
    ):
        at += 1
    return at


def place_end(reading: Reading, start: int, ceiling: int) -> int:
    """The word after a place: "right hilum", "left upper and lower lobe"."""
    words = reading.words
    ceiling = min(ceiling, start + LONGEST_PHRASE)
    at = start
    while at < ceiling:
        kinds = reading.kinds(at)
        if reading.category(at) in _NO_PLACES or reading.in_cue[at]:
            break
        levels = read_levels(reading, at, ceiling)
        if levels is not None:
            at = levels[0]
            continue
        if reading.category(at) == ANATOMY or kinds & {"side", "location"}:
            term, modifier = reading.term_of[at], reading.modifier_of[at]
            at = max(m.end for m in (term, modifier) if m is not None)
        elif reading.is_class(at, "place_noun") and (
            at > start or (at + 1 < ceiling and words.lower[at + 1] == "of")
        ):
            at += 1  # "lateral [aspect] of", "[region] of"
        elif not _leads_to_place(reading, at, ceiling):
            break
        elif reading.modifier_of[at] is not None or (
            at > start
            and (words.lower[at] in _LIST_JOINS or _lacks_noun(reading, at))
            and not _continues_with_finding(reading, at + 1, ceiling)
        ):
            at += 1
        else:
            break
    return at


def _lacks_noun(reading: Reading, at: int) -> bool:
    """Whether a comma stands in a list that shares its noun: "upper[,] middle lobe"."""
    lower = reading.words.lower
    return lower[at] == "," and lower[at - 1] in _PARTIAL_PLACES


def _continues_with_finding(reading: Reading, at: int, ceiling: int) -> bool:
    """Whether describing words lead to another finding: "and left effusion"."""
    while at < ceiling and is_describing_word(reading, at):
        at += 1
    return at < ceiling and reading.category(at) not in ("", ANATOMY)


def _leads_to_place(reading: Reading, at: int, ceiling: int) -> bool:
    return at + 1 < ceiling and (
        reading.category(at + 1) == ANATOMY
        or bool(reading.kinds(at + 1) & {"side", "location"})
    )


def _skip_change(reading: Reading, start: int, head: int) -> int:
    """Leave words of change or time in front out: "recurrent or new"."""
    at = start
    while at < head:
        kinds = reading.kinds(at)
        if kinds and (kinds <= {"change"} or is_degree_of_change(reading, at)):
            match = reading.modifier_of[at]
            at = match.end if match is not None else at + 1
        elif at > start and reading.words.lower[at] in _LIST_JOINS | {","}:
            at += 1
        else:
            break
    return min(at, head)


def _across_of(reading: Reading, start: int, floor: int) -> list[tuple[int, int]]:
    """Describing words in front of "areas of", "small amount of" and the like."""
    words = reading.words
    found: list[tuple[int, int]] = []
    at = start
    while at - 2 >= floor:
        of = at - 1
        while of > floor and reading.is_class(of, "determiner"):
            of -= 1
        if words.lower[of] != "of" or not reading.is_class(of - 1, "light_noun"):
            break
        noun = of - 1
        if reading.category(noun) not in ("", ANATOMY) and not _is_light(reading, noun):
            break
        at = _extend_left(reading, noun, floor)
        first = _skip_change(reading, at, noun)
        if first < noun and not reading.is_class(noun, "change_noun"):
            found.insert(0, (first, noun))
    return found


def _is_light(reading: Reading, at: int) -> bool:
    term = reading.term_of[at]
    return term is None or term.value.kind == "generic"
