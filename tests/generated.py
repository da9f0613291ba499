"""Made-up reports from the word lists, and the same reports with planted errors.

A report is a list of `Said`, so that a test knows what is true of it: a planted error
is another list, and the same list can be written in another shape.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from hypothesis import strategies as st

from spacy_mcse.lexicons import read_table, split_terms

# Concepts of the lists that may be on either side, with places they are found at.
LUNG = ("upper lobe", "lower lobe", "base", "apex", "perihilar")
PLACES: dict[str, tuple[str, ...]] = {
    "pleural effusion": (),
    "pneumothorax": ("base", "apex"),
    "consolidation": LUNG,
    "atelectasis": LUNG,
    "opacity": LUNG,
    "pulmonary nodule": LUNG,
    "mass": LUNG,
    "scarring": LUNG,
    "granuloma": LUNG,
    "bulla": LUNG,
    "pleural thickening": ("base", "apex"),
    "bronchiectasis": LUNG,
}
MEASURED = ("pulmonary nodule", "mass", "granuloma", "bulla", "pneumothorax")
MIDLINE = (
    "cardiomegaly",
    "pulmonary edema",
    "vascular congestion",
    "hiatal hernia",
    "scoliosis",
    "osteopenia",
    "kyphosis",
    "pneumoperitoneum",
    "pneumomediastinum",
    "emphysema",
    "tortuous aorta",
)
# They deny no concept from above: what denies a finding changes the score.
NORMAL = (
    "The trachea is midline.",
    "The thyroid is normal.",
    "The soft tissues are unremarkable.",
)
DEVICES = (
    "Left chest tube in place.",
    "Right PICC with its tip in the SVC.",
    "Nasogastric tube in the stomach.",
    "Endotracheal tube 4 cm above the carina.",
)
SIDES = ("left", "right")
MILD, SEVERE = ("minimal", "mild", "small"), ("severe", "large", "extensive")
MILLIMETRES = (5, 12, 30)
SHAPES = ("telegraphic", "narrative", "structured")
# Terms that do not go behind a side or a degree: a sign, a structure with its state, a
# place of their own, a plural.
_OWN_KIND = ("sign", " of ", "pleural ", "space", "band", "field", "angle", "apical")


@dataclass(frozen=True)
class Said:
    """One thing that a report says of a finding.

    term (str): The finding, as it is called here.
    concept (str): What it is.
    assertion (str): "present", "absent" or "uncertain".
    millimetres (int): 0 where no size is given.
    """

    term: str
    concept: str
    side: str = ""
    place: str = ""
    severity: str = ""
    millimetres: int = 0
    assertion: str = "present"


def _names(table: str, concept: str) -> list[str]:
    rows = read_table(table, ("concept", "terms"))
    row = next(row for row in rows if row["concept"] == concept)
    return [concept, *split_terms(row["terms"])]


def _plain_names(concept: str) -> list[str]:
    """The concept itself and the names that take any description."""
    names = _names("findings", concept)
    return [concept, *(n for n in names[1:4] if not any(w in n for w in _OWN_KIND))]


TERMS = {concept: _plain_names(concept) for concept in (*PLACES, *MIDLINE)}
_FAMILIES = [
    set(split_terms(row["concepts"]))
    for row in read_table("families", ("family", "concepts"))
]
RELATED = {
    frozenset(pair)
    for family in _FAMILIES
    for pair in combinations(sorted(family & set(TERMS)), 2)
}


def related(one: str, other: str) -> bool:
    """Whether two concepts are the same or of one family."""
    return one == other or frozenset((one, other)) in RELATED


def phrase(said: Said) -> str:
    words = [said.severity, said.side, said.place, said.term]
    if said.millimetres:
        words.insert(0, f"{said.millimetres} mm")
    return " ".join(word for word in words if word)


def _narrative(said: Said) -> str:
    words = " ".join(word for word in (said.severity, said.term) if word)
    if said.millimetres:
        words = f"{said.millimetres} mm {words}"
    where = " ".join(word for word in (said.side, said.place) if word)
    if said.place == "perihilar":
        where += " region"
    elif said.side and not said.place:
        where += " side"
    behind = f" {'on' if where.endswith('side') else 'in'} the {where}" if where else ""
    lead = {
        "present": "There is ",
        "absent": "There is no evidence of ",
        "uncertain": "There may be ",
    }
    return f"{lead[said.assertion]}{words}{behind}."


def _telegraphic(said: Said) -> str:
    lead = {"present": "", "absent": "no ", "uncertain": "possible "}
    text = lead[said.assertion] + phrase(said)
    return text[0].upper() + text[1:] + "."


def sentence(said: Said, shape: str) -> str:
    return _narrative(said) if shape == "narrative" else _telegraphic(said)


def written(
    report: Sequence[Said], shape: str = "telegraphic", beside: Sequence[str] = ()
) -> str:
    """A report in one of `SHAPES`.

    beside (Sequence[str]): Other sentences, after the first.
    """
    parts = [sentence(said, shape) for said in report]
    parts[1:1] = beside
    if shape == "structured":
        lines = "\n".join(f"{i}. {part}" for i, part in enumerate(parts, 1))
        return f"FINDINGS:\n{lines}"
    return " ".join(parts)


# Planted errors: what of a finding can be changed, and to what.


def other_side(said: Said) -> Said:
    return replace(said, side="right" if said.side == "left" else "left")


def other_severity(said: Said) -> Said:
    return replace(said, severity=SEVERE[0] if said.severity in MILD else MILD[1])


def other_size(said: Said) -> Said:
    return replace(said, millimetres=60 if said.millimetres < 20 else 6)


def other_place(said: Said) -> Said:
    places = PLACES[said.concept]
    at = places.index(said.place)
    return replace(said, place=places[(at + 1) % len(places)])


CHANGES = {
    "side": other_side,
    "severity": other_severity,
    "millimetres": other_size,
    "place": other_place,
}


@st.composite
def statements(draw: st.DrawFn, concepts: Sequence[str] = tuple(TERMS)) -> Said:
    concept = draw(st.sampled_from(concepts))
    said = Said(draw(st.sampled_from(TERMS[concept])), concept)
    if concept in PLACES:
        said = replace(said, side=draw(st.sampled_from(("", *SIDES))))
    if said.side and PLACES[concept]:
        said = replace(said, place=draw(st.sampled_from(("", *PLACES[concept]))))
    if concept in MEASURED and draw(st.booleans()):
        return replace(said, millimetres=draw(st.sampled_from(MILLIMETRES)))
    return replace(said, severity=draw(st.sampled_from(("", *MILD, *SEVERE))))


def _key(said: Said) -> str:
    return said.concept


@st.composite
def reports(draw: st.DrawFn, max_size: int = 4) -> list[Said]:
    """Findings that are present, no two of them related, and a few others beside."""
    drawn = draw(st.lists(statements(), min_size=1, max_size=max_size, unique_by=_key))
    report: list[Said] = []
    for said in drawn:
        if not any(related(said.concept, other.concept) for other in report):
            report.append(said)
    return report


@st.composite
def with_doubts(draw: st.DrawFn, max_size: int = 4) -> list[Said]:
    """As `reports`; what follows the first may be absent or uncertain."""
    report = draw(reports(max_size))
    states = st.sampled_from(("present", "present", "absent", "uncertain"))
    return [
        report[0],
        *(replace(said, assertion=draw(states)) for said in report[1:]),
    ]


shapes = st.sampled_from(SHAPES)
others = st.lists(st.sampled_from(NORMAL + DEVICES), max_size=2, unique=True)
