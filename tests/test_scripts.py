"""The scripts that measure on public data, on made-up rows of the same shape."""

from importlib.util import find_spec

import numpy as np
import pytest
from script_runs import run, script, write

SENTENCES = [
    ("There is no EDEMA of the ankle today.", "edema", "Negated"),
    ("The patient has EDEMA of the ankle.", "edema", "Affirmed"),
    ("Denies any fever, chills, sweats or CHEST PAIN.", "chest pain", "Negated"),
    ("Not seen for a year, she now comes with COUGH.", "cough", "Affirmed"),
    ("The row whose concept stands nowhere.", "vertigo", "Affirmed"),
]
REPORT = (
    "She had no rash, fever or cough. The liver was normal. Tremor was negative. "
    "A zebra dismissed our idea of gout. There was no itching. Pain was severe."
)
# A finding, and the modifiers of each time that it is marked.
MARKED = [
    ("rash", ["no"]),
    ("fever", ["no", "no"]),
    ("cough", ["no", None]),
    ("liver", ["normal"]),
    ("Tremor", ["negative"]),
    ("gout", ["dismissed"]),
    ("itching", [None]),
    ("Pain", [None]),
]


@pytest.fixture
def sentences(tmp_path):
    rows = [
        {"sentence": text, "concept": concept, "negation": negation, "report_no": at}
        for at, (text, concept, negation) in enumerate(SENTENCES)
    ]
    write(tmp_path / "negex_sentences.jsonl", rows)
    return tmp_path


@pytest.fixture
def report():
    entities, relations = [], []

    def mark(kind, text):
        key = str(len(entities))
        start = REPORT.index(text)
        end = start + len(text)
        entities.append(
            {"id": key, "type": kind, "start": start, "end": end, "text": text}
        )
        return key

    for finding, modifiers in MARKED:
        for modifier in modifiers:
            dependent = mark("finding", finding)
            if modifier:
                governor = mark("modifier", modifier)
                relations.append(
                    {"type": "modifies", "governor": governor, "dependent": dependent}
                )
    mark("condition", "zebra")
    # A relation of the whole report, which is no entity.
    relations.append({"type": "has", "governor": "report", "dependent": "0"})
    return {"id": "1", "text": REPORT, "entities": entities, "relations": relations}


@pytest.mark.parametrize(
    "name",
    [
        "compare_negation.py",
        "compare_metrics.py",
        "case_reports.py",
        "choose_settings.py",
    ],
)
def test_missing_data_are_said(name, tmp_path):
    for arguments, environment in [
        ((), {}),
        (("--data", str(tmp_path)), {}),
        ((), {"MCSE_DATA": str(tmp_path)}),
    ]:
        done = run(name, *arguments, **environment)
        assert done.returncode == 1
        assert "--data or MCSE_DATA" in done.stderr
        assert "Traceback" not in done.stderr


def test_tools_are_compared_in_one_table(sentences):
    done = run("compare_negation.py", "--samples", "50", MCSE_DATA=str(sentences))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    rows = {
        cells[0].strip(): [cell.strip() for cell in cells[1:]]
        for cells in (
            line.strip("| ").split(" | ") for line in lines[2:] if "|" in line
        )
    }
    assert rows["spacy-mcse"][:2] == ["1.000", "1.000"]
    assert rows["spacy-mcse, blank pipeline"][:2] == ["1.000", "1.000"]
    # The cue of the list is too far off, the other not.
    assert rows["window of 3 words (paper)"][:2] == ["1.000", "0.500"]
    assert rows["window of 3 words (paper)"][3].startswith("-0.333 (")
    assert "5 sentences, 2 negated" in done.stdout
    for name in ("negspacy", "medspacy"):
        installed = find_spec(name) is not None
        assert installed == any(name in row.lower() for row in rows)
        assert installed != (f"{name} is not installed" in done.stderr.lower())
    assert "ankle" not in done.stdout + done.stderr
    again = run("compare_negation.py", "--data", str(sentences), "--show", "1")
    assert "window of 3 words (paper): missed: [chest pain]" in again.stdout


def test_negspacy_is_asked_for_the_given_concept():
    pytest.importorskip("negspacy")
    names = script("compare_negation.py")
    cases = [
        names["Case"](text.lower(), names["locate"](concept, text), negation, "1")
        for text, concept, negation in SENTENCES
    ]
    found = names["negspacy_tool"]("en_clinical")(cases)
    assert found[:2] == [True, False]
    assert found[4] is False


def test_concepts_are_located():
    locate = script("compare_negation.py")["locate"]
    assert locate("edema", "Edema: no EDEMA") == (10, 15)
    assert locate("Chest pain", "no chest\n  pain") == (3, 15)
    assert locate("(a+)", "of (A+)") == (3, 7)
    assert locate("a+", "of aa") is None


@pytest.mark.parametrize(
    ("before", "negated"),
    [
        ("no ", True),
        ("No new large ", True),
        ("no new large left ", False),
        ("not, 2 - ", True),
        ("is denied: ", False),
        ("no change. ", False),
        ("knows of ", False),
        ("no-", False),
        ("", False),
    ],
)
def test_window_rule(before, negated):
    in_window = script("compare_negation.py")["in_window"]
    assert in_window(f"{before}edema no", len(before)) is negated


def test_f1_is_counted_by_report():
    names = script("compare_negation.py")
    cases = [
        names["Case"]("", None, negated, report)
        for negated, report in [(True, "a"), (True, "b"), (False, "a"), (False, "c")]
    ]
    counts = names["count"]([True, False, True, False], cases)
    assert counts.tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert names["f1"](counts.sum(axis=0)) == 0.5
    assert names["f1"](np.zeros((2, 3), dtype=int)).tolist() == [0, 0]


def test_findings_are_read_once_with_all_modifiers(report):
    found = script("case_reports.py")["findings"](report)
    said = [
        (REPORT[one.start : one.end], [REPORT[a:b] for a, b in one.modifiers])
        for one in found
    ]
    assert said == [
        (name, [word for word in dict.fromkeys(words) if word])
        for name, words in sorted(MARKED, key=lambda row: REPORT.index(row[0]))
    ]


@pytest.mark.parametrize(
    ("modifier", "word"),
    [
        ("No", "no"),
        ("did not show", "not"),
        ("absence of any", "absence"),
        ("negative or normal", ""),
        ("no abnormalities", ""),
        ("intact", ""),
        ("12/min", ""),
        ("notable", ""),
    ],
)
def test_modifiers_that_negate(modifier, word):
    assert script("case_reports.py")["negating_word"](modifier) == word


def test_case_reports_are_counted_and_errors_sorted(report, tmp_path):
    write(tmp_path / "case_report_entities.jsonl", [report])
    done = run("case_reports.py", "--data", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "| a negating modifier | 5 | 4 absent | 80.0 |" in done.stdout
    assert "| a modifier of state | 1 | 1 not absent | 100.0 |" in done.stdout
    assert "| no modifier | 2 | 1 not absent | 50.0 |" in done.stdout
    assert "| no | 3 | 3 |" in done.stdout
    assert "| missed | cue unknown | 1 | dismissed 1 |" in done.stdout
    assert "| cue in front, next to it | 1 | no 1 |" in done.stdout
    assert "zebra" not in done.stdout
    assert "gout" not in done.stdout
    done = run("case_reports.py", "--data", str(tmp_path), "--show", "1")
    assert "\nmissed, cue unknown: [gout]" in done.stdout
    assert "\nwrongly absent, cue in front, next to it: [itching]" in done.stdout


# Ratings of two candidates by three radiologists, and their findings.
RATED = [
    (["Small effusion."], ["Small effusion."], [5, 5, 4], ["Rib fracture."], [1, 2, 1]),
    (["Lung nodule."], [], [2, 1, 2], ["Left lung nodule."], [4, 4, 3]),
    ([], [], [5, 5, 5], ["Edema."], [2, 2, 3]),
    (["Edema."], ["Edema."], [4, 5, 5], ["Mild edema."], [4, 5, 5]),
]


@pytest.fixture
def rated(tmp_path):
    rows = []
    for number, (reference, first, good, second, bad) in enumerate(RATED):
        candidates = {
            key: {
                "text": f"Zebra seen. {' '.join(findings) or 'Lungs are clear.'}",
                "findings": findings,
                "ratings": ratings,
                "n_false": [5 - rating for rating in ratings],
                "n_attribute": [0, 0, 0],
                "n_missing": [0, 0, 1],
            }
            for key, findings, ratings in (("C1", first, good), ("C2", second, bad))
        }
        text = " ".join(reference) or "The lungs are clear."
        row = {"id": str(number), "reference": text, "reference_findings": reference}
        rows.append({**row, "candidates": candidates})
    write(tmp_path / "radpref.jsonl", rows)
    return tmp_path


def test_metrics_are_compared_in_one_table(rated):
    done = run("compare_metrics.py", "--samples", "40", MCSE_DATA=str(rated))
    assert done.returncode == 0, done.stderr
    header, _, *lines = (line for line in done.stdout.splitlines() if "|" in line)
    assert header.count("|") == 8
    rows = {
        cells[0].strip(): [cell.strip() for cell in cells[1:]]
        for cells in (line.strip().strip("|").split("|") for line in lines)
    }
    assert "`f1`, en_mcse_cxr_sm" in rows
    assert rows["`f1`, en_mcse_cxr_sm"][5].startswith("1.000 (")
    assert rows["one radiologist with the other two"][3:] == ["", "", ""]
    assert rows["radiologists' errors, 1/(1 + n)"][2].startswith("1.000 (")
    assert len(rows["word overlap (F1)"]) == 6
    for name, library in [("BLEU", "sacrebleu"), ("ROUGE-L", "rouge_score")]:
        installed = find_spec(library) is not None
        assert installed == (name in rows)
        assert installed != (f"{name} needs" in done.stderr)
    assert "4 cases, 8 candidates" in done.stdout
    for word in ("zebra", "effusion", "nodule"):
        assert word not in (done.stdout + done.stderr).lower()
    again = ("compare_metrics.py", "--samples", "40", "--data", str(rated))
    assert run(*again).stdout == done.stdout
    lists = run(*again, "--read", "lists").stdout
    assert lists.splitlines()[0].count("|") == 5


def test_agreement_is_that_of_scipy_on_drawn_cases():
    stats = pytest.importorskip("scipy.stats")
    agreement = script("compare_metrics.py")["agreement"]
    rng = np.random.default_rng(0)
    scores, truth = rng.integers(0, 5, size=(2, 12)).astype(float)
    weights = np.array([[1, 1, 1, 1, 1, 1], [3, 0, 1, 0, 2, 0]])
    found = agreement(scores, truth, weights)
    for row, counts in enumerate(weights):
        cases = np.repeat(np.arange(6), counts)
        at = np.stack([2 * cases, 2 * cases + 1], axis=1).ravel()
        tau = stats.kendalltau(scores[at], truth[at])[0]
        assert found["tau"][row] == pytest.approx(tau, abs=1e-12)
        r = stats.pearsonr(scores[at], truth[at])[0]
        assert found["r"][row] == pytest.approx(r, abs=1e-12)
        better, rated = (np.sign(x[at][::2] - x[at][1::2]) for x in (scores, truth))
        right = (better == rated)[rated != 0].mean()
        assert found["pairs"][row] == pytest.approx(right)


def test_scores_that_are_all_equal_have_no_agreement():
    names = script("compare_metrics.py")
    found = names["agreement"](np.full(4, 0.1), np.arange(4.0), np.ones((3, 2)))
    assert np.isnan(found["tau"]).all()
    assert np.isnan(found["r"]).all()
    assert found["pairs"].tolist() == [0, 0, 0]
    assert names["interval"](found["tau"]) == "none"


def test_word_overlap_counts_words_as_often_as_they_are_there():
    overlap = script("compare_metrics.py")["word_overlap"]
    assert overlap("No edema, no effusion.", "no Edema") == pytest.approx(4 / 6)
    assert overlap("", ".") == 1
    assert overlap("", "edema") == 0
