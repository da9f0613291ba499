"""Score pairs of terms of the word lists: unrelated findings and synonyms.

    python scripts/measure_concepts.py
    python scripts/measure_concepts.py --pairs 1000 --show 20

Each term is a report of its own, "<term>.", read without tagger and parser. Unrelated
are pairs of different concepts of findings.tsv that share no family; synonyms are pairs
of terms of one row. Both are drawn with a seed, each concept as likely as any other.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
import spacy

import spacy_mcse
from spacy_mcse.data import ATTRIBUTES, ReportFacts, read_facts
from spacy_mcse.lexicons import read_table, split_terms
from spacy_mcse.pipelines import DEFAULT_PIPELINE
from spacy_mcse.score import score_facts
from spacy_mcse.vocabulary import load_vocabulary

PERCENTILES = (50, 90, 95, 99, 100)
SYNONYM = 0.95


class Scored(NamedTuple):
    """One pair of terms and its F1."""

    f1: float
    one: str
    other: str


def concepts() -> dict[str, list[str]]:
    """Concept to all its terms, itself first."""
    rows = read_table("findings", ("concept", "terms"))
    return {
        row["concept"]: [row["concept"], *split_terms(row["terms"])] for row in rows
    }


def read_terms(
    terms: Iterable[str], pipeline: str = DEFAULT_PIPELINE
) -> dict[str, ReportFacts]:
    """Each term as a report, with the vectors of a pipeline."""
    tokenizer = {"@tokenizers": "spacy-mcse.ReportTokenizer.v1"}
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": tokenizer}})
    nlp.add_pipe("mcse_entity_source")
    nlp.add_pipe("mcse_entity_refiner", config={"spans_in": "mcse_candidates"})
    nlp.add_pipe("mcse_embedder", source=spacy_mcse.load(pipeline))
    unique = sorted(set(terms))
    docs = nlp.pipe(f"{term[:1].upper()}{term[1:]}." for term in unique)
    return dict(zip(unique, map(read_facts, docs), strict=True))


def unrelated_pairs(names: Iterable[str], seed: int) -> Iterator[tuple[str, str]]:
    """Concepts without a family in common, at random and without end."""
    families = load_vocabulary().families
    none: frozenset[str] = frozenset()
    order, rng = sorted(names), random.Random(seed)
    while True:
        one, other = rng.sample(order, 2)
        if families.get(one, none).isdisjoint(families.get(other, none)):
            yield one, other


def synonym_pairs(
    terms: Mapping[str, list[str]], seed: int
) -> Iterator[tuple[str, str]]:
    """Two terms of one concept, at random and without end."""
    order = sorted(concept for concept, names in terms.items() if len(names) > 1)
    rng = random.Random(seed)
    while True:
        one, other = rng.sample(terms[rng.choice(order)], 2)
        yield one, other


def score_pairs(
    facts: Mapping[str, ReportFacts], pairs: Iterable[tuple[str, str]]
) -> list[Scored]:
    return [
        Scored(score_facts(facts[one], facts[other]).f1, one, other)
        for one, other in pairs
    ]


def cause(one: ReportFacts, other: ReportFacts) -> str:
    """Why two synonyms are not the same to the score."""
    if not one.entities or not other.entities:
        return "no finding"
    if len(one.entities) != 1 or len(other.entities) != 1:
        return "several findings"
    a, b = one.entities[0], other.entities[0]
    if a.concept != b.concept:
        return "concept"
    if a.assertion != b.assertion:
        return "assertion"
    differ = [kind for kind in ATTRIBUTES if a.values(kind) != b.values(kind)]
    return " and ".join(differ) or "else"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--pipeline", default=DEFAULT_PIPELINE)
    parser.add_argument("--pairs", type=int, default=10_000, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=0, help="pairs that are off")
    args = parser.parse_args()
    terms = concepts()
    every_term = (term for names in terms.values() for term in names)
    facts = read_terms(every_term, args.pipeline)
    count = range(args.pairs)
    pairs = (p for _, p in zip(count, unrelated_pairs(terms, args.seed), strict=False))
    unrelated = score_pairs(facts, pairs)
    pairs = (p for _, p in zip(count, synonym_pairs(terms, args.seed), strict=False))
    synonyms = score_pairs(facts, pairs)
    every = score_pairs(facts, (p for n in terms.values() for p in combinations(n, 2)))
    values = np.array([pair.f1 for pair in unrelated])
    causes = Counter(
        cause(facts[pair.one], facts[pair.other]) for pair in every if pair.f1 < SYNONYM
    )
    figures = {
        "concepts": len(terms),
        "terms": len(facts),
        "unrelated": {
            "pairs": len(unrelated),
            "percentiles": {
                str(p): round(float(np.percentile(values, p)), 3) for p in PERCENTILES
            },
            "mean": round(float(values.mean()), 4),
        },
        "synonyms": {
            "pairs": len(synonyms),
            "share": round(share_of_synonyms(synonyms), 4),
            "all_pairs": len(every),
            "share_of_all": round(share_of_synonyms(every), 4),
            "causes": dict(causes.most_common()),
        },
    }
    for pair in sorted(unrelated, reverse=True)[: args.show]:
        print(f"unrelated {pair.f1:.2f}\t{pair.one}\t{pair.other}")
    off = [pair for pair in synonyms if pair.f1 < SYNONYM]
    for pair in sorted(set(off))[: args.show]:
        why = cause(facts[pair.one], facts[pair.other])
        print(f"synonyms {pair.f1:.2f}\t{pair.one}\t{pair.other}\t{why}")
    print(json.dumps(figures))


def share_of_synonyms(pairs: list[Scored]) -> float:
    """The part of the pairs that score like one and the same."""
    return sum(pair.f1 >= SYNONYM for pair in pairs) / max(1, len(pairs))


if __name__ == "__main__":
    main()
