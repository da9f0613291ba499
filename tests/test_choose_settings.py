"""scripts/choose_settings.py on made-up rated reports."""

import json
import sys
from importlib import import_module

import numpy as np
import pytest
from script_runs import SCRIPTS, run, write

import spacy_mcse
from spacy_mcse.data import read_facts
from spacy_mcse.score import score_facts
from spacy_mcse.settings import SIGNIFICANCES, ScoreSettings


@pytest.fixture
def choosing(monkeypatch):
    """The modules of choose_settings.py."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    names = ("planted_errors", "settings_space", "score_bank", "choose_settings")
    yield {name: import_module(name) for name in names}
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture
def rated(tmp_path):
    reference = "There is a small left effusion. Severe cardiomegaly. No pneumothorax."
    good = "Small left effusion. Severe cardiomegaly."
    candidates = [
        [(good, 5), ("Normal heart. Clear lungs.", 1)],
        [("Large right effusion.", 2), (good, 5)],
        [("Mild cardiomegaly.", 3), ("Pneumothorax.", 1)],
        [("There is an effusion.", 3), (reference, 4)],
    ]
    rows = [
        {
            "reference": reference,
            "reference_findings": ["small left effusion", "severe cardiomegaly"],
            "candidates": {
                name: {
                    "text": text,
                    "ratings": [rating, rating],
                    "findings": [] if "Normal" in text else [text],
                }
                for name, (text, rating) in zip(("C1", "C2"), both, strict=True)
            },
        }
        for both in candidates
    ]
    write(tmp_path / "radpref.jsonl", rows)
    reports = [
        {"findings": f"{reference} {more}", "impression": "A 5 mm zebra nodule."}
        for more in ("", "Mild edema.", "Opacity in the left lower lobe.")
    ]
    write(tmp_path / "openi_reports.jsonl", reports)
    return tmp_path


def test_settings_are_chosen_the_same_again(rated, tmp_path):
    few = ("--points", "6", "--folds", "2", "--repeats", "2", "--each", "3")
    found = []
    for processes in ("1", "2"):
        path = tmp_path / "metrics" / f"{processes}.json"
        options = ("--processes", processes, "--write", str(path))
        done = run("choose_settings.py", *few, *options, MCSE_DATA=str(rated))
        assert done.returncode == 0, done.stderr
        assert "4 cases, " in done.stdout
        assert "| plainest in each fold | " in done.stdout
        assert "ScoreSettings(" in done.stdout
        assert "zebra" not in done.stdout + done.stderr
        found.append((done.stdout, path.read_text("utf8")))
    assert found[0] == found[1]
    settings = json.loads(found[0][1])["recommended"]
    assert ScoreSettings.from_dict(settings).to_dict() == settings


def test_errors_are_planted_where_they_are_read(choosing):
    planted = choosing["planted_errors"]
    texts = [
        "Small left effusion. No pneumothorax. 5 mm nodule in the left upper lobe. "
        "The effusion on the left is small.",
        "Left effusion and right effusion.",
        "Clear lungs.",
    ]
    nlp = spacy_mcse.load()
    facts = [read_facts(doc) for doc in nlp.pipe(texts)]
    made = planted.plant(texts, facts, each=9, seed=1)
    assert made == planted.plant(texts, facts, each=9, seed=1)
    assert len(planted.plant(texts, facts, each=1, seed=1)) < len(made)
    by_kind = {one.kind: one.text for one in made if one.report == 0}
    assert set(by_kind) == {*planted.CHANGES, *planted.FORM}
    assert "15 mm nodule" in by_kind["size changed"]
    assert "large left effusion" in by_kind["severity changed"].lower()
    assert "There is pneumothorax." in by_kind["denial turned round"]
    assert "lower lobe" in by_kind["location changed"]
    # The swap of both sides would say the same; where nothing is found, nothing goes.
    assert not any(one.report == 1 and "side" in one.kind for one in made)
    assert not any(one.report == 2 for one in made)
    changed = [read_facts(doc) for doc in nlp.pipe(one.text for one in made)]
    scores = [
        score_facts(facts[one.report], new, ScoreSettings()).f1
        for one, new in zip(made, changed, strict=True)
    ]
    assert set(planted.noticed(made, np.array(scores)).values()) == {1.0}
    assert planted.noticed(made, np.ones(len(made)))["finding denied"] == 0.0


def test_all_mentions_of_a_finding_are_changed(choosing):
    planted = choosing["planted_errors"]
    text = "Left effusion. Heart is large. The left-sided effusion is small."
    entities = read_facts(spacy_mcse.load()(text)).entities
    concept = entities[0].concept
    swap, leave = planted._swap(planted.SIDES), planted._leave_out(planted.SIDES)
    new = planted.changed(text, entities, concept, ("side",), swap)
    assert new == "right effusion. Heart is large. The right-sided effusion is small."
    new = planted.changed(text, entities, concept, ("side",), leave)
    assert new == " effusion. Heart is large. The  effusion is small."
    assert planted.changed(text, entities, concept, ("count",), swap) is None
    kept = planted.without(planted.sentences(text), entities, concept)
    assert kept == "Heart is large."


def test_agreement_is_as_scipy_has_it(choosing):
    stats = pytest.importorskip("scipy.stats")
    agreement = choosing["score_bank"].agreement
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 5, (4, 20)).astype("float64")
    ratings = rng.integers(1, 5, 20).astype("float64")
    for row, found in zip(scores, agreement(scores, ratings), strict=True):
        assert found[0] == pytest.approx(stats.kendalltau(row, ratings)[0])
        assert found[1] == pytest.approx(stats.pearsonr(row, ratings)[0])
    constant = agreement(np.ones((1, 4)), np.array([1.0, 2, 3, 3]))
    assert constant.tolist() == [[0.0, 0.0, 0.0]]
    both = agreement(np.array([[1.0, 2, 3, 3, 5, 1]]), np.array([1.0, 2, 1, 2, 3, 3]))
    assert both[0, 2] == 0.5
    assert np.isnan(agreement(np.ones((1, 2)), np.ones(2))[0, 2])


def test_points_are_settings_that_keep_the_order(choosing):
    space = choosing["settings_space"]
    drawn = space.draw(40, 0)
    assert drawn == space.draw(40, 0)
    for point in [*drawn, *space.neighbours(drawn[0])]:
        settings = space.settings_of(point)
        weights = [settings.weight(name) for name in SIGNIFICANCES]
        assert weights == sorted(weights, reverse=True)
        assert weights[-1] > 0
        assert settings.side_wrong < settings.side_missing < 1
    names = list(space.GRID)
    plain = {name: space.PLAIN.get(name, (1.0,))[0] for name in names}
    point = tuple(plain.values())
    assert space.numbers(point) == 0
    assert space.plainer(point) == []
    assert not space.settings_of(point).significance
    assert not space.is_valid(space.moved(point, minor=0.5))
    weighed = space.moved(point, minor=0.5, expected=0.5, family=0.2)
    assert space.numbers(weighed) == 2
    assert space.moved(point, family=0.2) in space.plainer(weighed)


def test_settings_that_miss_errors_are_passed_over(choosing):
    names = choosing["score_bank"]
    good, bad, worse = choosing["settings_space"].draw(3, 0)
    bank = names.Bank(names.Data([], np.ones(2), []), 1)
    settings = map(choosing["settings_space"].settings_of, (good, bad, worse))
    bank.noticed = dict(
        zip(settings, ({"a": 1.0}, {"a": 0.9}, {"a": 0.5}), strict=True)
    )
    bank.require_best([good, bad])
    assert bank.needed == {"a": 1.0}
    assert bank.first_allowed([iter([bad, worse, good]), iter([good])]) == [good, good]


def test_plainest_within_the_error_is_chosen(choosing, monkeypatch):
    names = choosing["choose_settings"]
    space = choosing["settings_space"]
    plain = tuple(space.PLAIN.get(name, (1.0,))[0] for name in space.GRID)
    top = space.moved(plain, family=0.2, uncertain=0.5)
    bank = choosing["score_bank"].Bank(
        choosing["score_bank"].Data([], np.ones(2), []), 1
    )
    bank.fill = bank.plant = lambda points: None
    bank.allowed = lambda point: True
    # Each number but that of `family` is worth nothing.
    family = list(space.GRID).index("family")
    bank.values = lambda points, cases: np.array(
        [float(point[family] == 0.2) for point in points]
    )
    cases = [np.arange(4)]
    found = names.plain_points(bank, cases, [top])
    assert found == [space.moved(plain, family=0.2)]
