"""The scripts of the validation: by labels (4.2 of the paper) and of systems (5)."""

import json
import random
import sys
from importlib import import_module
from itertools import combinations

import numpy as np
import pytest
from script_runs import SCRIPTS, run, write

import spacy_mcse
from spacy_mcse.readers import CHEXPERT_LABELS

MODULES = (
    *("validation", "simple_systems", "bleu_scores", "system_files"),
    *("validate_labels", "validate_systems"),
)
COLUMNS = ("No Finding", "Edema", "Pneumonia", "Support Devices")
REPORTS = [
    "There is a small left effusion. The heart is enlarged.",
    "Mild edema. No pneumothorax is seen. Cardiomegaly.",
    "Heart and lungs are normal.",
    "Right lower lobe pneumonia. Small right effusion.",
]


@pytest.fixture(scope="module")
def parts():
    """All names of the scripts."""
    sys.path.insert(0, str(SCRIPTS))
    yield {key: value for n in MODULES for key, value in vars(import_module(n)).items()}
    sys.path.remove(str(SCRIPTS))
    for name in (*MODULES, "planted_errors"):
        sys.modules.pop(name, None)


@pytest.fixture
def start(parts, monkeypatch, nlp, tmp_path):
    """Run a script here and give what it wrote."""
    monkeypatch.setattr(spacy_mcse, "load", lambda *_: nlp)

    def start(name, *arguments):
        output = tmp_path / "out.json"
        given = [name, *map(str, arguments), "--output", str(output)]
        monkeypatch.setattr(sys, "argv", given)
        sys.modules[name].main()
        return json.loads(output.read_text("utf8"))

    return start


def labels(**values):
    return {name: values.get(name.replace(" ", "_")) for name in COLUMNS}


# Groups and pairs

EDEMA, PNEUMONIA = labels(Edema=1), labels(Pneumonia=1)
DENIED = labels(Edema=1, Pneumonia=0)
UNSURE = labels(Edema=-1, Pneumonia=1)
NORMAL = labels(No_Finding=1)
BOTH = labels(Edema=1, Pneumonia=1, Support_Devices=1)


def test_sequences_are_those_of_the_paper(parts):
    rows = [EDEMA, PNEUMONIA, DENIED, UNSURE, NORMAL, BOTH, labels(), EDEMA, labels()]
    groups = {g.name: g for g in parts["sequence_groups"](rows, 20, 0, 0)}
    assert list(groups) == ["Edema 1", "No Finding 1", "Pneumonia 1"]
    assert groups["Edema 1"].reports == 2
    # The same values of all labels, so that a denial more is another sequence.
    assert groups["Edema 1"].same == [(0, 7)]
    assert groups["Pneumonia 1"].same == groups["No Finding 1"].same == []
    # Another label with 1, and the label of the group neither 1 nor -1.
    assert {other for _, other in groups["Edema 1"].contrast} == {1, 4}
    assert {other for _, other in groups["Pneumonia 1"].contrast} == {0, 2, 4, 7}
    assert {one for one, _ in groups["Edema 1"].contrast} == {0, 7}


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1], True), ([1, 1], True), ([1, 1, 1], False), ([1, 0], False), ([-1], False)],
)
def test_one_or_two_present_labels_are_contrasted(parts, values, expected):
    assert parts["is_contrasted"](values) is expected


def test_findings_alone_make_groups(parts):
    devices = labels(Edema=1, Support_Devices=1)
    rows = [EDEMA, DENIED, PNEUMONIA, UNSURE, NORMAL, BOTH, devices, NORMAL]
    groups = {g.name: g for g in parts["finding_groups"](rows, 20, 0, 0)}
    assert list(groups) == ["Edema", "Pneumonia"]
    assert set(groups["Edema"].same) == {(0, 1), (0, 6), (1, 6)}
    assert {other for _, other in groups["Edema"].contrast} == {2, 3}
    assert {other for _, other in groups["Pneumonia"].contrast} == {0, 1, 6}


def test_pairs_and_groups_are_limited_and_drawn_with_a_seed(parts):
    rows = [EDEMA] * 30 + [PNEUMONIA] * 20 + [NORMAL] * 40
    for make in (parts["sequence_groups"], parts["finding_groups"]):
        groups = make(rows, 7, 1, 0)
        assert len(groups) == 1
        for pairs in (groups[0].same, groups[0].contrast):
            assert len(pairs) == len(set(pairs)) == 7
        assert groups == make(rows, 7, 1, 0) != make(rows, 7, 1, 1)
        assert all(one < other for one, other in groups[0].same)


def test_pairs_are_numbered_once(parts):
    found = [parts["pair_at"](number) for number in range(10)]
    assert sorted(found) == list(combinations(range(5), 2))
    drawn = parts["draw_same"](range(10**6), 5, random.Random(0))
    assert len(set(drawn)) == 5
    assert all(0 <= one < other < 10**6 for one, other in drawn)


def test_figures_of_known_scores(parts):
    same = [[0.9, 0.7], [0.6], [], [0.72]]
    contrast = [[0.1], [0.5, 0.9], [0.71], []]
    found = parts["separation"](same, contrast)
    assert found["same_mean"] == pytest.approx((0.8 + 0.6 + 0.72) / 3)
    assert found["contrast_mean"] == pytest.approx((0.1 + 0.7 + 0.71) / 3)
    assert (found["same_below_line"], found["contrast_above_line"]) == (1, 1)
    # 0.8 is above 0.1, 0.6 is not above 0.7.
    assert (found["groups_with_both"], found["in_order"]) == (2, 0.5)
    assert found["group_auc"] == pytest.approx((3 + 1 + 3) / 9)
    assert found["errors_at_best_line"] == 1
    empty = parts["separation"]([[]], [[]])
    assert empty["pair_auc"] is empty["same_mean"] is empty["in_order"] is None
    assert empty["errors_at_best_line"] == 0


# Statistics


def test_area_under_the_curve(parts):
    assert parts["auc"]([1, 0.5], [0.5, 0]) == (1 + 1 + 0.5 + 1) / 4
    assert parts["auc"]([0], [1]) == 0
    assert parts["auc"]([], [1]) is None


def test_resamples_draw_clusters_whole(parts):
    alone = parts["resamples"](5, 50, 0)
    assert alone.shape == (51, 5)
    assert (alone[0] == 1).all()
    assert (alone.sum(axis=1) == 5).all()
    together = parts["resamples"](5, 50, 0, ["a", "b", "a", "b", "c"])
    assert (together[:, 0] == together[:, 2]).all()
    assert (together[:, 1] == together[:, 3]).all()
    assert not (together[:, 0] == together[:, 1]).all()


def test_correlations_are_those_of_scipy(parts):
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, 6, 40) / 7, rng.integers(0, 9, 40) / 3
    weights = parts["resamples"](40, 3, 1)
    found = parts["correlations"](one, two, weights)
    for at, times in enumerate(weights.astype(int)):
        x, y = np.repeat(one, times), np.repeat(two, times)
        for kind, function in (
            ("pearson", stats.pearsonr),
            ("spearman", stats.spearmanr),
            ("kendall", stats.kendalltau),
        ):
            assert found[kind][at] == pytest.approx(function(x, y).statistic, abs=1e-5)
    equal = parts["correlations"]([1.0] * 40, two, weights)
    assert all(np.isnan(values).all() for values in equal.values())


def test_interval_leaves_out_what_has_no_value(parts):
    found = parts["interval"](np.array([0.5, np.nan, 0.0, 1.0]))
    assert found == pytest.approx({"value": 0.5, "low": 0.025, "high": 0.975})
    assert parts["interval"](np.array([np.nan, 1.0])) == {}


def test_numbers_are_rounded(parts):
    record = {"b": [np.float64(0.123456), np.nan, -0.00001], 1: (True, np.int64(3))}
    assert parts["rounded"](record) == {"b": [0.1235, None, 0.0], "1": [True, 3]}


# Data


def test_reports_are_joined_with_labels(parts, tmp_path):
    table = tmp_path / "labels.csv"
    header = ",".join(["study_id", *CHEXPERT_LABELS])
    table.write_text(f"{header}\n1{',' * 14}\n3,1.0{',' * 13}\n4,1.0{',' * 13}\n")
    texts = {"s4": "Four.", "s2": "Two.", "s3": "Three.", "s1": " "}
    reports = [parts["Labelled"](name, text, {}, "?") for name, text in texts.items()]
    joined = parts["join"](iter(reports), str(table), 0, "--x")
    assert [one[:2] for one in joined] == [("s4", "Four."), ("s3", "Three.")]
    assert joined[0].indication == "?"
    assert parts["positives"](joined[0].labels) == {"No Finding"}
    assert parts["findings"](joined[0].labels) == set()
    assert len(parts["join"](reports, str(table), 1, "--x")) == 1
    with pytest.raises(ValueError, match="no id is that of a report"):
        parts["join"](reports[1:2], str(table), 0, "--x")
    with pytest.raises(ValueError, match="--x: the reports need"):
        parts["join"](reports, "", 0, "--x")


def test_files_are_found_in_a_folder(parts, tmp_path):
    name, other = parts["OPENI"], parts["GENERATED"]
    in_folder, folder = parts["in_folder"], str(tmp_path)
    with pytest.raises(FileNotFoundError, match=f"no {name} and no {other}"):
        in_folder("", folder, name)
    (tmp_path / name).touch()
    assert in_folder("given", folder, name) == "given"
    assert in_folder("", folder, name) == str(tmp_path / name)
    assert in_folder("", folder, other) == in_folder("", "", name) == ""
    with pytest.raises(FileNotFoundError, match="--data"):
        in_folder("", str(tmp_path / "none"), name)


def test_labels_of_openi_are_present_or_not_mentioned(parts):
    found = parts["openi_labels"]({"normal": 1, "Edema": 0, "Mass": 1})
    assert found == {"No Finding": 1, "Edema": None, "Mass": 1}


# Simple systems


def test_sentences_are_reordered_in_their_places(parts):
    text = (
        "LUNGS: Clear. No edema. No mass.\n\n"
        "The heart is large.  There is a wire\nin the atrium. 1. Old fracture\n"
        "BONES: normal"
    )
    found = [parts["reordered"](text, random.Random(seed)) for seed in range(20)]
    assert len(set(found)) > 1
    for new in found:
        new = new.replace("wire\nin", "wire in")
        lungs, empty, body, bones = new.split("\n")
        assert lungs.startswith("LUNGS: Clear. ")
        assert empty == ""
        for sentence in ("There is a wire in the atrium.", "1. Old fracture."):
            assert sentence in body
        assert bones == "BONES: normal"
    same = "no edema\nor effusion"
    assert parts["reordered"](same, random.Random(0)) == same


@pytest.mark.parametrize("n", [2, 3, 50])
def test_no_report_stands_for_itself(parts, n):
    found = parts["deranged"](n, 0)
    assert sorted(found) == list(range(n))
    assert all(at != other for at, other in enumerate(found))


def test_nearest_labels_count_findings_first(parts):
    near = parts["nearest_by_labels"]([EDEMA, DENIED, UNSURE, PNEUMONIA, NORMAL], 0)
    # NORMAL differs from each other row by one finding; in values from all alike.
    assert near[:4] == [1, 0, 3, 2]
    tied = [parts["nearest_by_labels"]([EDEMA] * 3, seed)[0] for seed in range(20)]
    assert set(tied) == {1, 2}


def test_nearest_words_are_the_rare_ones(parts):
    texts = [
        "cough and fever",
        "cough and dyspnea",
        "trauma, fever",
        "cough, dyspnea",
        "",
    ]
    near = parts["nearest_by_words"](texts, 0)
    assert near[1] == 3
    assert near[3] == 1
    assert all(at != other for at, other in enumerate(near))


def test_simple_systems_are_what_their_names_say(parts, nlp):
    reports = [
        parts["Labelled"](str(at), text, {"Edema": int(at == 1)}, asked)
        for at, (text, asked) in enumerate(
            zip(REPORTS, ["cough", "fall"] * 2, strict=True)
        )
    ]
    built = parts["simple_systems"](reports, nlp, 0)
    assert built["reference"] == REPORTS
    assert all(one != two for one, two in zip(built["shuffled"], REPORTS, strict=True))
    assert set(built["always normal"]) == {
        parts["simple_systems"].__globals__["NORMAL"]
    }
    assert built["nearest by indication"] == [REPORTS[at] for at in (2, 3, 0, 1)]
    assert built["nearest by labels"][0] in (REPORTS[2], REPORTS[3])
    for text, changed in zip(REPORTS, built["denial planted"], strict=True):
        assert (" no " in changed.lower().replace(text.lower(), "")) != (
            text == changed
        )
    assert built["denial planted"][2] == REPORTS[2]
    bare = [parts["Labelled"](one.id, one.text, {}) for one in reports]
    assert len(parts["simple_systems"](bare, nlp, 0)) == len(built) - 2
    with pytest.raises(ValueError, match="two reports"):
        parts["simple_systems"](bare[:1], nlp, 0)


# Scores of systems


def test_bleu_is_that_of_sacrebleu(parts):
    sacrebleu = pytest.importorskip("sacrebleu")
    references = [f"{text} Nothing else." for text in REPORTS]
    candidates = [*REPORTS[1:], "Heart and lungs are normal. Nothing else."]
    counts = parts["count_bleu"](references, candidates)
    for grams in (2, 4):
        metric = sacrebleu.BLEU(lowercase=True, max_ngram_order=grams)
        expected = metric.corpus_score(candidates, [references]).score / 100
        found = parts["corpus_bleu"](counts, np.ones((1, 4)), grams)
        assert found[0] == pytest.approx(expected)
    metric = sacrebleu.BLEU(lowercase=True, effective_order=True)
    expected = [
        metric.sentence_score(candidate, [reference]).score / 100
        for reference, candidate in zip(references, candidates, strict=True)
    ]
    assert parts["bleu"](counts, 4) == pytest.approx(expected)


def test_order_has_three_states(parts):
    rows = {
        "reference": [1.0, 1.0, 1.0],
        "reordered": [0.97, 1.0, 1.0],
        "denial planted": [0.5, 0.4, 0.6],
        "nearest by labels": [0.4, 0.3, 0.7],
        "shuffled": [0.5, 0.5, 0.8],
    }
    sampled = {name: {"f1": np.array(values)} for name, values in rows.items()}
    found = parts["order"](sampled)
    assert list(found) == ["f1"]
    assert {one["check"]: one["state"] for one in found["f1"]} == {
        "reference = reordered": "fails",
        "reference > denial planted": "holds",
        "denial planted > nearest by labels": "open",
        "nearest by labels > shuffled": "fails",
    }
    assert parts["order"]({"mine": {"f1": np.array([1.0, 1.0])}}) == {}


def test_equal_scores_are_counted(parts):
    assert parts["equal_pairs"]([0.5, 0.5, 0.5, 1.0]) == 0.5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("mine", "expected NAME=FILE"),
        ("=x.csv", "expected NAME=FILE"),
        ("gold=x.csv", "'gold' is taken"),
    ],
)
def test_wrong_systems_are_named(parts, given, message):
    with pytest.raises(ValueError, match=message):
        parts["read_systems"]([given], 0)


# The scripts


@pytest.fixture
def data(tmp_path, parts):
    """Made-up reports in the formats of the public data."""
    rows = [
        {
            "id": f"r{at}",
            "findings": REPORTS[at % 4] if at < 4 else f"{REPORTS[at % 4]} Zebra {at}.",
            "impression": "",
            "indication": "cough" if at % 2 else "",
            "gold": {"Edema": int(at % 4 == 1), "Effusion": int(at % 4 in (0, 3))},
        }
        for at in range(8)
    ]
    write(tmp_path / "openi_reports.jsonl", rows)
    scores = [dict.fromkeys(parts["PUBLISHED"], 0.1 * at) for at in range(8)]
    generated = [
        {
            "id": row["id"],
            "reference_findings": row["findings"],
            "generated_findings": REPORTS[at % 2],
            "context": "Indication: cough Comparison: None.",
            "model": "MoERad",
            "published_scores": scores[at],
        }
        for at, row in enumerate(rows)
    ]
    write(tmp_path / "openi_generated_moerad.jsonl", generated)
    pairs = [
        {"id": at, "reference": text, "candidate": text}
        for at, text in enumerate(REPORTS)
    ]
    write(tmp_path / "pairs.jsonl", pairs)
    folder = tmp_path / "files" / "p10"
    folder.mkdir(parents=True)
    table = [",".join(["study_id", *CHEXPERT_LABELS])]
    for at, text in enumerate(REPORTS):
        body = text.replace(" ", "\n ", 3)
        (folder / f"s{at}.txt").write_text(f" INDICATION: Fall.\n\n FINDINGS: {body}\n")
        values = ["1.0" if n == at % 2 else "" for n in range(len(CHEXPERT_LABELS))]
        table.append(",".join([str(at), *values]))
    (tmp_path / "chexpert.csv").write_text("\n".join(table))
    return tmp_path


def test_labels_are_validated(start, data, monkeypatch, capsys):
    figure = data / "figures" / "labels.png"
    arguments = (
        *("--data", data, "--limit", 30, "--pairs", 2, "--figure", figure),
        *("--mimic", data / "files", "--mimic-labels", data / "chexpert.csv"),
    )
    found = start("validate_labels", *arguments)
    assert set(found["data"]) == {"gold", "mimic", "openi"}
    sequences = found["data"]["mimic"]["sequences"]
    assert (sequences["same_groups"], sequences["contrast_groups"]) == (2, 2)
    assert found["data"]["gold"]["reports"] == 30
    openi = found["data"]["openi"]
    assert openi["sequences"]["same_groups"] == openi["findings"]["same_groups"] == 2
    assert openi["findings"]["f1"]["in_order"] == 1
    assert found["paper"]["contrast_above_line"] == 6
    assert found["signature"].startswith("mcse:")
    printed = capsys.readouterr()
    for secret in ("Zebra", "enlarged", '"r0"'):
        assert secret not in json.dumps(found) + printed.out + printed.err
    assert "openi, findings: 2 groups" in printed.out
    if figure.exists():
        assert figure.read_bytes().startswith(b"\x89PNG")
    else:
        assert 'pip install "spacy-mcse[eval]"' in printed.err
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert start("validate_labels", *arguments) == found
    assert 'pip install "spacy-mcse[eval]"' in capsys.readouterr().err


def test_one_report_has_no_groups_and_no_figure(start, parts, tmp_path, capsys):
    gold = json.loads((parts["GOLD"] / "radgraph.json").read_text("utf8"))
    name = next(name for name, one in gold.items() if one["data_split"] == "dev")
    path = tmp_path / "one report's.json"
    path.write_text(json.dumps({name: gold[name]}), "utf8")
    figure = tmp_path / "labels.png"
    figure.write_bytes(b"of other data")
    found = start("validate_labels", "--gold", path, "--figure", figure)
    assert found["data"]["gold"]["sequences"]["groups"] == []
    assert not figure.exists()
    assert "No figure" in capsys.readouterr().err


def test_systems_are_validated(start, data, monkeypatch, capsys):
    pytest.importorskip("sacrebleu")
    figure = data / "systems.png"
    arguments = (
        *("--data", data, "--limit", 8, "--samples", 20, "--figure", figure),
        *("--system", f"mine={data / 'pairs.jsonl'}"),
    )
    found = start("validate_systems", *arguments)
    assert set(found["data"]) == {"gold", "openi", "generated", "mine"}
    assert "nearest by indication" not in found["data"]["gold"]["systems"]
    generated = found["data"]["generated"]["systems"]
    assert set(generated) == {
        *("MoERad", "nearest by indication"),
        *found["data"]["gold"]["systems"],
    }
    assert generated["MoERad"]["texts"] == 2
    one = {"value": 1.0, "low": 1.0, "high": 1.0}
    mine = found["data"]["mine"]["systems"]["mine"]
    assert mine["f1"] == mine["bleu"] == mine["bleu_mean"] == one
    states = {c["check"]: c["state"] for c in found["data"]["openi"]["order"]["f1"]}
    assert states["reference = reordered"] == "holds"
    published = found["published"]
    assert (published["n"], published["texts"]) == (8, 2)
    assert set(published["correlation"]["f1"]) == set(published["mean"])
    known = published["correlation"]["published radcliq_v0"]["radcliq_v1"]
    assert known["kendall"]["value"] == 1
    assert found["paper"]["R2Gen"] == {"bleu": 0.212, "mcse": 0.71}
    printed = capsys.readouterr()
    assert "| generated | MoERad | 8 |" in printed.out
    for secret in ("Zebra", "enlarged", '"r0"'):
        assert secret not in json.dumps(found) + printed.out + printed.err
    # Without the extra: everything but BLEU and the figure.
    for name in ("sacrebleu", "sacrebleu.metrics", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    bare = start("validate_systems", *arguments)
    assert bare["bleu"] is None
    assert set(found["data"]["mine"]["systems"]["mine"]) - set(
        bare["data"]["mine"]["systems"]["mine"]
    ) == {"bleu", "bleu_2", "bleu_mean"}
    assert bare["data"]["mine"]["systems"]["mine"]["f1"] == one
    errors = capsys.readouterr().err
    assert "sacrebleu" in errors
    assert "matplotlib" in errors


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        ("validate_labels", ("--gold", ""), "--gold, --mimic or --openi"),
        ("validate_labels", ("--gold", "none.json"), "none.json"),
        ("validate_labels", ("--gold-labels", ""), "--gold-labels"),
        ("validate_labels", ("--mimic", "{data}"), "--mimic-labels"),
        ("validate_labels", ("--data", "none"), "--data"),
        ("validate_systems", ("--limit", "1"), "two reports"),
        ("validate_systems", ("--generated", "none.jsonl"), "--generated"),
        ("validate_systems", ("--system", "mine=none.csv"), "none.csv"),
        ("validate_systems", ("--system", "a={data}/bad.jsonl"), "line 2"),
        ("validate_systems", ("--generated", "{data}/bad.jsonl"), "line 1"),
    ],
)
def test_bad_input_is_named(start, data, capsys, script, arguments, message):
    row = {"id": 1, "reference": "Secret.", "candidate": "Secret."}
    write(data / "bad.jsonl", [row, {**row, "candidate": None}])
    given = [one.replace("{data}", str(data)) for one in arguments]
    with pytest.raises(SystemExit) as stopped:
        start(script, *given)
    assert stopped.value.code == 2
    printed = capsys.readouterr()
    assert message.replace("{data}", str(data)) in printed.err
    assert "Secret" not in printed.out + printed.err


def test_a_script_runs_alone(tmp_path):
    output = tmp_path / "new" / "labels.json"
    arguments = ("--limit", "4", "--pairs", "1", "--output", str(output))
    done = run("validate_labels.py", *arguments, PYTHONSAFEPATH="1")
    assert done.returncode == 0, done.stderr
    assert json.loads(output.read_text("utf8"))["data"]["gold"]["reports"] == 4
