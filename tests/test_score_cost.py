"""What a score costs once both reports are read.

Measured beside other work: half a millisecond for a pair in the median; for 300
findings each 23 to 71 ms where all differ, 170 to 230 ms where all are of one concept.
The bounds leave room for a busy machine: processor time, the least of several runs,
and growth as a ratio.
"""

import random
import statistics
import time
from collections.abc import Callable, Sequence

import pytest
from generated import PLACES, SIDES, TERMS, Said, written
from spacy.language import Language

from spacy_mcse.data import ReportFacts, read_facts
from spacy_mcse.lexicons import read_table
from spacy_mcse.score import score_facts

Pair = tuple[ReportFacts, ReportFacts]
MANY = 300
# Quadratic growth from one size to four times of it is a factor of 16.
FEW, QUADRATIC = MANY // 4, 4**2


def seconds(pair: Pair, repeats: int = 7) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        score_facts(*pair)
        best = min(best, time.process_time() - start)
    return best


def different(rng: random.Random, count: int) -> list[str]:
    """Every finding another one: hardly any may be paired."""
    names = [row["concept"] for row in read_table("findings", ("concept",))]
    return [f"{rng.choice(SIDES)} {name}." for name in rng.sample(names, count)]


def alike(rng: random.Random, count: int) -> list[str]:
    """All of one concept: each may be paired with each."""
    sizes = rng.sample(range(1, 2000), count)
    return [f"{size} mm {rng.choice(SIDES)} nodule." for size in sizes]


def pair_of(
    nlp: Language, made: Callable[[random.Random, int], Sequence[str]], count: int
) -> Pair:
    one, other = (
        read_facts(nlp(" ".join(made(random.Random(seed), count)))) for seed in (1, 2)
    )
    assert min(len(one.entities), len(other.entities)) > 0.9 * count
    return one, other


@pytest.mark.parametrize("made", [different, alike])
def test_many_findings(nlp: Language, made: Callable[..., Sequence[str]]) -> None:
    few, many = seconds(pair_of(nlp, made, FEW)), seconds(pair_of(nlp, made, MANY))
    assert many < 0.5
    # Small pairs are measured too coarsely to be taken at their word.
    assert many < 2 * QUADRATIC * max(few, 0.002)


def test_the_median_report(nlp: Language) -> None:
    rng = random.Random(3)
    texts = []
    for _ in range(60):
        concepts = rng.sample(sorted(TERMS), rng.randint(3, 8))
        states = rng.choices(("present", "absent", "uncertain"), (5, 4, 1), k=8)
        said = [
            Said(concept, concept, rng.choice(SIDES) * (concept in PLACES), assertion=a)
            for concept, a in zip(concepts, states, strict=False)
        ]
        texts.append(written(said))
    facts = [read_facts(doc) for doc in nlp.pipe(texts)]
    pairs = zip(facts, rng.sample(facts, len(facts)), strict=True)
    assert statistics.median(seconds(pair) for pair in pairs) < 0.003
