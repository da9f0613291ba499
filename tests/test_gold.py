"""The gold corpus of examples/gold parses, and its files agree with each other."""

import csv
import hashlib
import json
import runpy
from collections import Counter
from pathlib import Path

import pytest

GOLD = Path(__file__).parents[1] / "examples" / "gold"
ENTITIES = {"ANAT-DP", "OBS-DP", "OBS-DA", "OBS-U"}
RELATIONS = {"modify", "located_at", "suggestive_of"}
STYLES = {"telegraphic", "narrative", "structured", "dictated"}
LABELS = [
    "No Finding",
    "Enlarged Cardiomediastinum",
    "Cardiomegaly",
    "Lung Lesion",
    "Lung Opacity",
    "Edema",
    "Consolidation",
    "Pneumonia",
    "Atelectasis",
    "Pneumothorax",
    "Pleural Effusion",
    "Pleural Other",
    "Fracture",
    "Support Devices",
]


@pytest.fixture(scope="module")
def reports() -> dict[str, dict]:
    return json.loads((GOLD / "radgraph.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def labels() -> list[dict[str, str]]:
    with (GOLD / "labels.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_size_and_styles(reports: dict[str, dict]) -> None:
    assert len(reports) >= 120
    splits = Counter(r["data_split"] for r in reports.values())
    assert set(splits) == {"dev", "unseen"}
    assert min(splits.values()) >= 55
    styles = Counter(r["style"] for r in reports.values())
    assert set(styles) == STYLES
    assert max(styles.values()) - min(styles.values()) <= 5
    for style in STYLES:
        parts = Counter(
            r["data_split"] for r in reports.values() if r["style"] == style
        )
        assert min(parts["dev"], parts["unseen"]) >= 8, style


def test_split_rule(reports: dict[str, dict]) -> None:
    for report_id, report in reports.items():
        odd = int(hashlib.sha256(report_id.encode()).hexdigest()[-1], 16) % 2
        assert report["data_split"] == ("unseen" if odd else "dev")
        assert report["data_source"] == "spacy_mcse gold"


def test_nothing_of_a_report_is_lost(reports: dict[str, dict]) -> None:
    for report in reports.values():
        assert "".join(report["text"].split()) == "".join(report["report"].split())
        assert report["text"] == " ".join(report["text"].split())


def test_entities(reports: dict[str, dict]) -> None:
    for report_id, report in reports.items():
        tokens = report["text"].split()
        entities = report["entities"]
        assert list(entities) == [str(n + 1) for n in range(len(entities))]
        before = -1
        for number, entity in entities.items():
            where = f"{report_id} {number}"
            start, end = entity["start_ix"], entity["end_ix"]
            assert before < start <= end < len(tokens), where
            before = end
            assert entity["tokens"] == " ".join(tokens[start : end + 1]), where
            assert entity["label"] in ENTITIES, where
            pairs = [tuple(pair) for pair in entity["relations"]]
            assert len(set(pairs)) == len(pairs), where
            for relation, target in pairs:
                assert relation in RELATIONS, where
                assert target in entities, where
                assert target != number, where


def test_labels(reports: dict[str, dict], labels: list[dict[str, str]]) -> None:
    assert list(labels[0]) == ["id", *LABELS]
    assert [row["id"] for row in labels] == list(reports)
    for row in labels:
        assert {row[label] for label in LABELS} <= {"1.0", "0.0", "-1.0", ""}
        assert row["No Finding"] in {"1.0", ""}
        if row["No Finding"] == "1.0":
            found = {n for n in LABELS if row[n] in {"1.0", "-1.0"}}
            assert found <= {"No Finding", "Support Devices"}, row["id"]


def test_json_is_what_build_makes(reports: dict[str, dict]) -> None:
    assert runpy.run_path(str(GOLD / "build.py"))["build"]() == reports
