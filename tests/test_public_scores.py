"""Faults of scores that users of other packages reported: cases PC-046 to PC-073.

Each is tested as a kind, with several reports; what is about one function alone stands
in test_score.py and test_corpus.py. All reports are written for these tests.
"""

import dataclasses
import math
import random
import string
from typing import Any

import numpy as np
import pytest
from conftest import make_blank
from generated import NORMAL, PLACES, TERMS, Said, phrase, written
from spacy.language import Language

import spacy_mcse
from spacy_mcse.data import read_facts
from spacy_mcse.results import MCSEScore
from spacy_mcse.score import score_facts
from spacy_mcse.settings import ScoreSettings
from spacy_mcse.signature import Signature

NUMBERS = ("mcse", "precision", "recall", "f1")


def some_reports(count: int, seed: int = 0) -> list[str]:
    """Reports of the word lists, some of them empty or normal."""
    rng = random.Random(seed)
    texts = ["", *NORMAL]
    while len(texts) < count:
        said = []
        for concept in rng.sample(sorted(TERMS), rng.randint(1, 4)):
            side = rng.choice(("", "left", "right")) if concept in PLACES else ""
            state = rng.choice(("present", "present", "absent", "uncertain"))
            term = rng.choice(TERMS[concept])
            said.append(Said(term, concept, side, assertion=state))
        texts.append(written(said))
    rng.shuffle(texts)
    return texts


def numbers(result: MCSEScore) -> tuple[float, ...]:
    return tuple(getattr(result, name) for name in NUMBERS)


@pytest.mark.parametrize(
    ("reference", "invented"),
    [
        ("Edema.", ("Pneumothorax.", "Fracture.")),
        ("Left pleural effusion.", ("Mass.", "Pneumoperitoneum.")),
        ("There is mild scoliosis.", ("There is a hiatal hernia.", "Free air.")),
    ],
)
def test_pc_046_findings_out_of_nothing(
    nlp: Language, reference: str, invented: tuple[str, ...]
) -> None:
    candidate = " ".join([reference, *invented])
    result = spacy_mcse.score(reference, candidate, nlp=nlp)
    assert result.recall == 1.0
    assert result.f1 < 0.8
    assert result.f1 < spacy_mcse.score(reference, reference, nlp=nlp).f1
    # All of one weight: a third of what the candidate says is right.
    settings = ScoreSettings(significance=False)
    facts = read_facts(nlp(reference)), read_facts(nlp(candidate))
    result = score_facts(*facts, settings)
    assert result.precision == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("reference", "same", "unrelated"),
    [
        ("Pulmonary edema.", "Lung oedema.", "Rib fracture."),
        ("Cardiomegaly.", "Enlarged heart.", "Pneumothorax."),
        ("Pleural effusion.", "Pleural fluid.", "Scoliosis."),
        ("Hiatal hernia.", "Hiatus hernia.", "Consolidation."),
    ],
)
def test_pc_047_one_against_one_is_no_constant(
    nlp: Language, reference: str, same: str, unrelated: str
) -> None:
    first = spacy_mcse.score(reference, same, nlp=nlp)
    second = spacy_mcse.score(reference, unrelated, nlp=nlp)
    assert first.f1 >= 0.95
    assert second.f1 <= 0.05
    assert first.mcse == pytest.approx(0.5)
    assert second.mcse in (0.0, pytest.approx(0.5))


def test_pc_049_the_arguments_stay_as_they_are(nlp: Language) -> None:
    references, candidates = some_reports(12, 1), some_reports(12, 2)
    before = list(references), list(candidates)
    first = spacy_mcse.score_corpus(references, candidates, nlp=nlp)
    assert (references, candidates) == before
    assert spacy_mcse.score_corpus(references, candidates, nlp=nlp) == first
    docs = [nlp(text) for text in references], [nlp(text) for text in candidates]
    facts = [repr(read_facts(doc)) for side in docs for doc in side]
    assert spacy_mcse.score_corpus(*docs, nlp=nlp) == first
    assert [repr(read_facts(doc)) for side in docs for doc in side] == facts


@pytest.mark.parametrize(
    ("finding", "denial", "described"),
    [
        ("Edema.", "No edema.", "Mild edema."),
        ("Pneumothorax.", "There is no pneumothorax.", "Small pneumothorax."),
        ("Effusion.", "Effusion is absent.", "Left effusion."),
        ("Consolidation.", "Lungs are clear.", "Patchy consolidation."),
        ("Cardiomegaly.", "Heart size is normal.", "Moderate cardiomegaly."),
    ],
)
def test_pc_050_negation_does_not_cancel(
    nlp: Language, finding: str, denial: str, described: str
) -> None:
    own, denied, partial = (
        spacy_mcse.score(finding, text, nlp=nlp).f1
        for text in (finding, denial, described)
    )
    assert own == 1.0
    assert denied == 0.0
    assert 0.5 < partial < 1.0
    assert spacy_mcse.score(denial, finding, nlp=nlp).f1 == 0.0


@pytest.mark.parametrize(
    ("reference", "same", "opposite"),
    [
        ("Mildly enlarged heart.", "Slight cardiomegaly.", "No cardiomegaly."),
        ("Pleural fluid on the left.", "Left effusion.", "No left effusion."),
        ("Collapse of the lower lobe.", "Lower lobe atelectasis.", "No atelectasis."),
        ("The aorta is tortuous.", "Tortuosity of the aorta.", "Normal aorta."),
        ("Lung oedema.", "There is pulmonary edema.", "No pulmonary edema."),
    ],
)
def test_pc_052_other_words(
    nlp: Language, reference: str, same: str, opposite: str
) -> None:
    first = spacy_mcse.score(reference, same, nlp=nlp).f1
    assert first >= 0.8
    assert first - spacy_mcse.score(reference, opposite, nlp=nlp).f1 >= 0.4


@pytest.mark.parametrize("seed", range(5))
def test_pc_053_letters_at_random(nlp: Language, seed: int) -> None:
    rng = random.Random(seed)
    letters = [
        "".join(rng.choices(string.ascii_lowercase, k=rng.randint(4, 8)))
        for _ in range(rng.randint(1, 6))
    ]
    reference = ("Large effusion.", "No edema. Rib fracture.")[seed % 2]
    for text in (" ".join(letters), " ".join(letters).capitalize() + "."):
        assert spacy_mcse.score(reference, text, nlp=nlp).f1 <= 0.1
        assert spacy_mcse.score(text, reference, nlp=nlp).f1 <= 0.1


def test_pc_053_the_words_of_the_case(nlp: Language) -> None:
    result = spacy_mcse.score("Large effusion.", "qwzx plorf grent", nlp=nlp)
    assert result.f1 <= 0.1


@pytest.mark.parametrize("empty", ["", " ", "\n\n", ".", "___", "\t"])
def test_pc_055_empty_texts(nlp: Language, empty: str) -> None:
    references = ["Edema.", empty, empty, "Edema."]
    candidates = [empty, "Edema.", empty, "Edema."]
    result = spacy_mcse.score_corpus(references, candidates, nlp=nlp)
    assert [score.f1 for score in result.scores] == [0, 0, 0, 1]
    assert [score.mcse for score in result.scores] == [0, 0, 0, 1]
    assert result.scores[2].flags == ("no_content",)
    assert result.summary.warnings == [
        "2 of 4 references have no clinical content: index 1, 2",
        "2 of 4 candidates have no clinical content: index 0, 2",
    ]
    assert all(math.isfinite(n) for score in result.scores for n in numbers(score))


@pytest.mark.parametrize("at", [0, 1, 2])
def test_pc_056_no_row_shifts(nlp: Language, at: int) -> None:
    references = ["Edema.", "No effusion.", "Fracture."]
    candidates = list(references)
    candidates[at] = ""
    result = spacy_mcse.score_corpus(references, candidates, nlp=nlp)
    assert [s.f1 for s in result.scores] == [float(i != at) for i in range(3)]


def test_pc_058_one_pair_alone(nlp: Language) -> None:
    references, candidates = some_reports(100, 3), some_reports(100, 4)
    batch = spacy_mcse.score_corpus(references, candidates, nlp=nlp)
    for at in (0, 7, 42, 99):
        one = spacy_mcse.score_corpus([references[at]], [candidates[at]], nlp=nlp)
        assert numbers(one.scores[0]) == numbers(batch.scores[at])
        for name, mean in one.summary.mean.items():
            assert math.isfinite(mean)
            assert one.summary.interval[name] == (mean, mean)


def test_pc_059_every_score_is_in_range(nlp: Language) -> None:
    rng = random.Random(5)
    texts = some_reports(60, 6)
    pairs = [(rng.choice(texts), rng.choice(texts)) for _ in range(200)]
    result = spacy_mcse.score_corpus(*zip(*pairs, strict=True), nlp=nlp)
    assert all(0.0 <= n <= 1.0 for score in result.scores for n in numbers(score))


@pytest.mark.parametrize(
    ("references", "candidates", "name"),
    [
        ([["Edema."]], ["Edema."], "list"),
        ([["Edema.", "Oedema."], ["Mass."]], ["Edema.", "Mass."], "list"),
        (["Edema."], [("Edema.",)], "tuple"),
        ("Edema.", ["Edema."], "str"),
        (["Edema."], "Edema.", "str"),
        ({"a": "Edema."}, ["Edema."], "dict"),
    ],
)
def test_pc_061_inputs_of_another_shape(
    nlp: Language, references: Any, candidates: Any, name: str
) -> None:
    with pytest.raises(TypeError, match=rf"E40[13].*{name}"):
        spacy_mcse.score_corpus(references, candidates, nlp=nlp)


@pytest.mark.parametrize(("n", "m"), [(3, 2), (0, 1), (1, 100)])
def test_pc_062_lists_of_different_lengths(nlp: Language, n: int, m: int) -> None:
    with pytest.raises(ValueError, match=rf"{n} references, {m} candidates"):
        spacy_mcse.score_corpus(["Edema."] * n, ["Edema."] * m, nlp=nlp)


def test_pc_064_results_are_named_and_described(nlp: Language) -> None:
    result = spacy_mcse.score_corpus(["Edema."], ["Mild edema."], nlp=nlp)
    for value in (result, result.summary, result.scores[0], result.scores[0].pairs[0]):
        assert not isinstance(value, tuple)
        described = type(value).__doc__ or ""
        for item in dataclasses.fields(value):
            assert f"{item.name} (" in described, item.name
        assert {item.name for item in dataclasses.fields(value)} == set(value.to_dict())


def test_pc_065_the_mean_of_the_list_is_the_aggregate(nlp: Language) -> None:
    references, candidates = some_reports(100, 7), some_reports(100, 8)
    result = spacy_mcse.score_corpus(references, candidates, nlp=nlp)
    assert len(result.scores) == result.summary.n == 100
    for name in NUMBERS:
        mean = np.mean([getattr(score, name) for score in result.scores])
        assert result.summary.mean[name] == pytest.approx(mean, abs=1e-12)


def test_pc_067_scores_can_be_repeated_from_what_is_stored(nlp: Language) -> None:
    references, candidates = some_reports(20, 9), some_reports(20, 10)
    first = spacy_mcse.score_corpus(references, candidates, nlp=nlp)
    stored = first.to_dict()
    signature = Signature.from_str(stored["summary"]["signature"])
    assert signature.version == spacy_mcse.__version__
    assert all(dataclasses.astuple(signature))
    again = spacy_mcse.load()
    second = spacy_mcse.score_corpus(references, candidates, nlp=again)
    assert second.to_dict() == stored
    assert [MCSEScore.from_dict(score) for score in stored["scores"]] == first.scores


def test_pc_068_vectors_of_two_encoders_are_not_compared(
    nlp: Language, blank_nlp: Language
) -> None:
    one, other = nlp("Edema. Left effusion."), blank_nlp("Edema. Left effusion.")
    for pair in ((one, other), (other, one)):
        with pytest.raises(ValueError, match=r"E404.*encoder"):
            spacy_mcse.score(*pair)
    for doc, pipeline in ((one, nlp), (other, make_blank())):
        encoder = pipeline.get_pipe("mcse_embedder").encoder
        signature = spacy_mcse.score(doc, doc).signature
        name, fingerprint = signature.encoder.split("@")
        assert name == encoder.name
        assert encoder.fingerprint.startswith(fingerprint)
    changed = make_blank(fix_spelling=False)("Edema.")
    with pytest.raises(ValueError, match=r"E404.*refiner"):
        spacy_mcse.score(changed, blank_nlp("Edema."))


@pytest.mark.parametrize(
    ("reference", "often"),
    [
        ("No effusion. Edema.", "No effusion. "),
        ("No effusion. Edema.", "Edema. "),
        ("Lungs are clear. Scoliosis.", "Lungs are clear. "),
        ("Left effusion. Mass.", "Small left effusion. "),
        ("Left effusion. Mass.", "Possible mass. "),
    ],
)
def test_pc_070_to_say_it_again_earns_nothing(
    nlp: Language, reference: str, often: str
) -> None:
    once = spacy_mcse.score(reference, often, nlp=nlp)
    result = spacy_mcse.score(reference, often * 30, nlp=nlp)
    assert result.f1 <= once.f1 + 1e-12
    assert result.mcse <= once.mcse + 1e-12


@pytest.mark.parametrize(
    ("reference", "candidates"),
    [
        (
            "Rib fracture and small left effusion.",
            (
                "Small left effusion. There is a rib fracture.",
                "Rib fracture and small right effusion.",
                "Rib fracture.",
                "No acute finding.",
                "Pneumoperitoneum.",
            ),
        ),
        (
            "Left upper lobe mass. Right pneumothorax.",
            (
                "Pneumothorax on the right and mass in the left upper lobe.",
                "Left upper lobe mass. Left pneumothorax.",
                "Left upper lobe mass.",
                "",
                "Hiatal hernia.",
            ),
        ),
        (
            "There is cardiomegaly. Patchy left basilar consolidation is present.",
            (
                "Enlarged heart with patchy consolidation at the left base.",
                "Cardiomegaly. Patchy right basilar consolidation.",
                "Cardiomegaly.",
                "Normal chest.",
                "Heart size is normal. No consolidation. There is a mass.",
            ),
        ),
    ],
)
def test_pc_071_errors_in_their_order(
    nlp: Language, reference: str, candidates: tuple[str, ...]
) -> None:
    """Exact, wrong side, one missing, both missing, both missing and one invented."""
    scores = [spacy_mcse.score(reference, c, nlp=nlp).f1 for c in candidates]
    assert scores[0] == 1.0
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[1]
    assert scores[2] > scores[3] >= scores[4] == min(scores)


def test_pc_073_a_vector_against_itself(nlp: Language) -> None:
    for concept, terms in TERMS.items():
        doc = nlp(written([Said(term, concept, side="") for term in terms]))
        own = doc.similarity(doc)
        assert 0.0 <= own <= 1.0
        for name in ("mcse", "f1", "precision", "recall"):
            assert getattr(doc._.mcse(doc), name) == 1.0
    assert phrase(Said("mass", "mass", "left", millimetres=5)) == "5 mm left mass"
