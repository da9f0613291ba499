import csv
import json
import logging
import re
import subprocess
import sys

import pytest
import spacy
from spacy.cli._util import app as spacy_app
from spacy.language import Language
from spacy.tokens import DocBin
from stub_pipeline import make_pipeline
from typer.testing import CliRunner

from spacy_mcse import corpus, pipelines
from spacy_mcse.cli import app, files
from spacy_mcse.cli.engine import drop_failed
from spacy_mcse.cli.rows import read_rows
from spacy_mcse.corpus import score, score_corpus
from spacy_mcse.data import read_entities, read_facts
from spacy_mcse.results import MCSEScore
from spacy_mcse.signature import facts_signature

# A word that must not turn up anywhere but in the output files.
MARKER = "zyxomarker"
REPORTS = [
    ("a", "mild edema . left effusion .", "no edema . left effusion ."),
    ("b", "possible fracture .", "fracture ."),
    ("c", "normal .", "normal ."),
    ("d", "", "mass ."),
    ("e", "right effusion .", "left effusion ."),
]


@pytest.fixture
def nlp(monkeypatch):
    nlp = make_pipeline()
    monkeypatch.setattr(pipelines, "load", lambda name: nlp)
    return nlp


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def write_csv(path, rows=REPORTS, header=("id", "reference", "candidate"), **options):
    with path.open("w", encoding="utf8", newline="") as file:
        csv.writer(file, **options).writerows([header, *rows])
    return path


def write_jsonl(path, records):
    path.write_text("".join(json.dumps(r) + "\n" for r in records), "utf8")
    return path


def as_records(rows=REPORTS):
    names = ("id", "reference", "candidate")
    return [dict(zip(names, row, strict=True)) for row in rows]


def read_jsonl(path):
    return [json.loads(line) for line in path.read_text("utf8").splitlines()]


def errors(result):
    return result.output + (result.stderr or "")


# Score


def test_score_writes_scores_and_summary(nlp, tmp_path):
    pairs = write_csv(tmp_path / "pairs.csv")
    result = invoke(
        "score", pairs, "--output", tmp_path / "o.jsonl", "--summary", tmp_path / "s"
    )
    assert result.exit_code == 0, result.output
    records = read_jsonl(tmp_path / "o.jsonl")
    assert [record["id"] for record in records] == list("abcde")
    expected = score_corpus(*([r[i] for r in REPORTS] for i in (1, 2)), nlp=nlp)
    assert [MCSEScore.from_dict(record) for record in records] == expected.scores
    summary = json.loads((tmp_path / "s").read_text("utf8"))
    assert summary["mean"] == expected.summary.mean
    assert summary["signature"] == records[0]["signature"]
    assert (summary["rows"], summary["n"], summary["failed"]) == (5, 5, [])
    assert summary["warnings"] == ["1 of 5 references have no clinical content: line 5"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "o.jsonl",
        "pairs.csv",
        "s",
    ]
    assert "f1" in result.output


def test_score_names_its_output_after_the_input(nlp, tmp_path):
    pairs = write_csv(tmp_path / "pairs.csv")
    assert invoke("score", pairs).exit_code == 0
    assert len(read_jsonl(tmp_path / "pairs.scores.jsonl")) == 5


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_score_as_table(nlp, tmp_path, ending):
    pairs = write_csv(tmp_path / "pairs.csv", [*REPORTS, ("f", "edema .")])
    output = tmp_path / f"o{ending}"
    assert invoke("score", pairs, "--output", output).exit_code == 1
    delimiter = {".csv": ",", ".tsv": "\t"}[ending]
    with output.open(encoding="utf8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=delimiter))
    assert [row["id"] for row in rows] == list("abcdef")
    assert float(rows[0]["f1"]) == score(*REPORTS[0][1:], nlp=nlp).f1
    assert rows[2]["flags"] == "normal"
    assert rows[5]["f1"] == ""
    assert "E825" in rows[5]["error"]


@pytest.mark.parametrize(
    "write",
    [
        lambda path: write_csv(path / "p.csv", lineterminator="\r\n"),
        lambda path: write_csv(path / "p.tsv", delimiter="\t"),
        lambda path: write_csv(path / "p.csv", quoting=csv.QUOTE_ALL),
        lambda path: write_jsonl(path / "p.jsonl", as_records()),
    ],
)
def test_formats_give_the_same_scores(nlp, tmp_path, write):
    output = tmp_path / "o.jsonl"
    assert invoke("score", write(tmp_path), "--output", output).exit_code == 0
    f1 = [record["f1"] for record in read_jsonl(output)]
    assert f1 == [score(*row[1:], nlp=nlp).f1 for row in REPORTS]


def test_byte_order_mark_and_windows_lines(nlp, tmp_path):
    text = "id,reference,candidate\r\na,edema .,edema .\r\n\r\nb,mass .,mass .\r\n"
    (tmp_path / "p.csv").write_bytes(b"\xef\xbb\xbf" + text.encode("utf8"))
    output = tmp_path / "o.jsonl"
    assert invoke("score", tmp_path / "p.csv", "--output", output).exit_code == 0
    records = read_jsonl(output)
    assert [(r["id"], r["line"], r["f1"]) for r in records] == [
        ("a", 2, 1.0),
        ("b", 4, 1.0),
    ]
    line = json.dumps({"id": 7, "reference": "edema .", "candidate": "edema ."})
    (tmp_path / "p.jsonl").write_bytes(b"\xef\xbb\xbf" + line.encode() + b"\r\n\r\n")
    assert (
        invoke("score", tmp_path / "p.jsonl", "--output", output, "--force").exit_code
        == 0
    )
    assert read_jsonl(output)[0]["id"] == 7


def test_quoted_line_breaks_keep_line_numbers(nlp, tmp_path):
    rows = [
        ("a", "edema .\nmass .", "edema ."),
        ("b", "mass"),
        ("c", "mass .", "mass ."),
    ]
    pairs = write_csv(tmp_path / "p.csv", rows)
    output = tmp_path / "o.jsonl"
    result = invoke("score", pairs, "--output", output)
    assert result.exit_code == 1
    assert [record["line"] for record in read_jsonl(output)] == [2, 4, 5]
    assert "line 4: expected 3 fields, found 2" in errors(result)


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        # No quotes at all by the definition of TSV.
        (['a\t"Edema" .\tedema .', "b\tmass .\tmass ."], ['"Edema" .', "mass ."]),
        (['a\t"edema .\tedema .', "b\tmass .\tmass ."], ['"edema .', "mass ."]),
        # Not swallowed although the quotes of two rows make a pair.
        (['a\t"edema .\tx', 'b\tmass "\ty', "c\tz\tz"], ['"edema .', 'mass "', "z"]),
        # Quotes as spreadsheets and pandas write them.
        (['a\t"edema\t."\tx', 'b\t"a ""b"" c"\tx'], ["edema\t.", 'a "b" c']),
        (['a\t"edema\n."\tx', "b\tmass"], ["edema\n.", None]),
    ],
)
def test_quotes_in_tsv(tmp_path, lines, values):
    path = tmp_path / "p.tsv"
    path.write_text("\n".join(["id\treference\tcandidate", *lines]), "utf8")
    rows = read_rows(path, {name: name for name in ("id", "reference", "candidate")})
    assert [row.values.get("reference") for row in rows] == values
    assert [row.id for row in rows] == list("abc"[: len(values)])


def test_a_quoted_header_of_tsv_is_one_of_quoted_rows(nlp, tmp_path):
    path = tmp_path / "p.tsv"
    path.write_text('"id"\t"reference"\t"candidate"\na\t"b" c\td\n', "utf8")
    result = invoke("score", path)
    assert (result.exit_code, "E801" in errors(result)) == (2, True)
    assert "line 2" in errors(result)


def test_help_tells_of_quotes_in_tsv():
    for command in ("score", "extract"):
        assert "plain characters" in " ".join(invoke(command, "--help").output.split())


def test_a_line_separator_inside_a_report_is_no_line(nlp, tmp_path):
    record = {"id": "a", "reference": "edema\u2028 .", "candidate": "edema ."}
    line = json.dumps(record, ensure_ascii=False)
    (tmp_path / "p.jsonl").write_text(line, "utf8")
    assert invoke("score", tmp_path / "p.jsonl").exit_code == 0


def test_column_names(nlp, tmp_path):
    pairs = write_csv(tmp_path / "p.csv", header=("study", "truth", "model"))
    names = ("--id", "study", "--reference", "truth", "--candidate", "model")
    assert invoke("score", pairs, *names).exit_code == 0


def test_bad_rows_keep_their_place(nlp, tmp_path):
    good = json.dumps({"id": "g", "reference": "edema .", "candidate": "edema ."})
    lines = [
        good,
        "{not json",
        "[1, 2]",
        '{"id": "m", "reference": "edema ."}',
        '{"id": "n", "reference": "edema .", "candidate": null}',
        '{"id": "o", "reference": NaN, "candidate": "edema ."}',
        '{"id": "t", "reference": "edema .", "candidate": 5}',
        '{"id": ["u"], "reference": "edema .", "candidate": "edema ."}',
        '{"reference": "edema .", "candidate": "edema ."}',
        '{"id": "s", "reference": "\\ud800", "candidate": "edema ."}',
        '{"id": "l", "reference": "edema .", "candidate": "%s"}' % ("x" * 200),
        '{"id": "x", "reference": "explode", "candidate": "edema ."}',
        good,
    ]
    nlp.max_length = 150
    (tmp_path / "p.jsonl").write_text("\n".join(lines), "utf8")
    # Latin-1 on a line of its own.
    with (tmp_path / "p.jsonl").open("ab") as file:
        file.write(b'\n{"id": "\xe9"}\n' + good.encode())
    output, summary = tmp_path / "o.jsonl", tmp_path / "s.json"
    result = invoke(
        "score", tmp_path / "p.jsonl", "--output", output, "--summary", summary
    )
    assert result.exit_code == 1, result.output
    records = read_jsonl(output)
    assert [record["line"] for record in records] == list(range(1, 16))
    codes = [record.get("error", "[fine]")[1:5] for record in records]
    assert codes == [
        *("fine", "E821", "E822", "E823", "E823", "E823", "E824", "E824", "E823"),
        *("E828", "E826", "E827", "fine", "E828", "fine"),
    ]
    assert [r["f1"] for r in records if "f1" in r] == [1.0, 1.0, 1.0]
    assert all(f"line {r['line']}: " in r["error"] for r in records if "error" in r)
    failed = json.loads(summary.read_text("utf8"))["failed"]
    assert failed == [record for record in records if "error" in record]
    for record in failed:
        assert record["error"] in errors(result)


def test_a_component_that_fails_costs_only_its_row(nlp, tmp_path):
    rows = [(str(i), "edema .", "edema .") for i in range(6)]
    rows[2] = ("2", "edema .", "explode")
    pairs = write_csv(tmp_path / "p.csv", rows)
    result = invoke("score", pairs, "--output", tmp_path / "o.jsonl")
    assert result.exit_code == 1
    f1 = [record.get("f1") for record in read_jsonl(tmp_path / "o.jsonl")]
    assert f1 == [1.0, 1.0, None, 1.0, 1.0, 1.0]


def test_duplicate_ids_are_kept_and_reported(nlp, tmp_path):
    pairs = write_csv(tmp_path / "p.csv", [REPORTS[0], REPORTS[0]])
    result = invoke("score", pairs, "--output", tmp_path / "o.jsonl")
    assert result.exit_code == 0
    assert len(read_jsonl(tmp_path / "o.jsonl")) == 2
    assert "1 rows have the id of an earlier row" in errors(result)


def test_report_text_stays_out_of_messages_and_logs(nlp, tmp_path, caplog):
    # PC-094
    caplog.set_level(logging.DEBUG)
    rows = [
        ("a", f"edema {MARKER} .", f"{MARKER} explode"),
        ("b", f"{MARKER}"),
        ("c", f"edema {MARKER} .", "x" * 500),
    ]
    nlp.max_length = 400
    pairs = write_csv(tmp_path / "p.csv", rows)
    result = invoke("score", pairs, "--output", tmp_path / "o.jsonl")
    assert result.exit_code == 1
    assert "RuntimeError" in caplog.text
    broken = tmp_path / "q.csv"
    broken.write_text(f'id,reference,candidate\na,"{MARKER}" b,c\n', "utf8")
    other = invoke("score", broken)
    assert other.exit_code == 2
    for text in (errors(result), errors(other), caplog.text):
        assert MARKER not in text


class OwnPipe:
    """A component of a user's that goes its own way: no error handler, and a quote."""

    def __call__(self, doc):
        if "explode" in doc.text:
            raise ValueError(f"bad doc: {doc.text}")
        return doc

    def pipe(self, stream, *, batch_size=128):
        yield from map(self, stream)


@Language.factory("mcse_stub_own_pipe")
def make_own_pipe(nlp, name):
    return OwnPipe()


@pytest.mark.parametrize("n_process", ["1", "2"])
@pytest.mark.parametrize("command", ["score", "extract"])
def test_an_error_past_all_handlers_tells_no_report(
    nlp, tmp_path, monkeypatch, caplog, command, n_process
):
    caplog.set_level(logging.DEBUG)
    nlp.add_pipe("mcse_stub_own_pipe", first=True)
    rows = [("a", "edema .", "edema ."), ("b", f"{MARKER} explode", "mass .")]
    names = (
        ("--reference", "reference") if command == "score" else ("--text", "reference")
    )
    path = write_csv(tmp_path / "p.csv", rows)
    arguments = (command, path, *names, "--output", tmp_path / "o.jsonl")
    options = ("--n-process", n_process, "--batch-size", "2")
    result = invoke(*arguments, *options)
    assert result.exit_code == 3, result.output
    assert "ValueError in test_cli.py:" in errors(result)
    assert "MCSE_DEBUG" in errors(result)
    assert isinstance(result.exception, SystemExit)
    assert MARKER not in errors(result) + caplog.text
    assert not (tmp_path / "o.jsonl").exists()
    monkeypatch.setenv("MCSE_DEBUG", "1")
    result = invoke(*arguments, *options, "--force")
    assert result.exit_code == 3
    assert "Traceback" in errors(result)


def test_a_batch_that_failed_in_a_worker_is_logged(caplog):
    drop_failed(None, None, None, ValueError(MARKER))  # as spaCy calls it
    assert caplog.messages == ["A worker process failed on a batch: ValueError"]


# Wrong usage: exit code 2 and nothing written


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.csv", "", r"no column 'id', 'reference', 'candidate'"),
        ("p.csv", "id,reference,candidate\n", "E808"),
        ("p.csv", "id,reference\na,b\n", "no column 'candidate'"),
        ("p.csv", "id,reference,candidate,id\na,b,c,d\n", "several columns 'id'"),
        ("p.csv", 'id,reference,candidate\na,"b,c\nd,e,f\n', "E801"),
        ("p.csv", b"id,reference,candidate\na,b,\xff\n", "line 2 is not valid UTF-8"),
        ("p.jsonl", "", "E808"),
        ("p.jsonl", '{"id": 1, "reference": "a"}\n', "no column 'candidate'"),
        ("p.jsonl", '[\n"a"\n]\n', "no line holds a JSON object"),
        ("p.xlsx", "a", "E802"),
        ("p", "a", "E802"),
    ],
)
def test_unreadable_input(nlp, tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf8"))
    result = invoke("score", path, "--output", tmp_path / "o.jsonl")
    assert result.exit_code == 2
    assert message in errors(result)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--output", "o.txt"], "E802"),
        (["--output", "missing/o.jsonl"], "no such folder"),
        (["--output", "p.csv", "--force"], "E810"),
        (["--output", "o.csv", "--summary", "o.csv"], "two outputs"),
        (["--output", "folder.csv"], "it is a folder"),
        (
            ["--output", "o.csv", "--summary", "o.csv.partial.jsonl"],
            "E809.*o.csv.partial.jsonl.*keeps its state",
        ),
        (["--engine", "ray"], "E812"),
        (["--engine", "cluster"], "E811"),
        (["--batch-size", "0"], "batch-size"),
        (["--n-process", "0"], "E409"),
        (["--unknown"], "unknown"),
    ],
)
def test_wrong_options(nlp, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "p.csv")
    (tmp_path / "folder.csv").mkdir()
    result = invoke("score", "p.csv", *options)
    assert result.exit_code == 2
    assert re.search(re.escape(message).replace(r"\.\*", ".*"), errors(result))
    assert {path.name for path in tmp_path.iterdir()} == {"p.csv", "folder.csv"}


def test_missing_input_and_pipeline(tmp_path):
    result = invoke("score", tmp_path / "none.csv")
    assert result.exit_code == 2
    assert "E801" in errors(result)
    pairs = write_csv(tmp_path / "p.csv")
    result = invoke("score", pairs, "--pipeline", "en_unheard_of")
    assert result.exit_code == 2
    assert "E101" in errors(result)


def test_a_pipeline_without_our_components(nlp, tmp_path):
    nlp.remove_pipe("mcse_embedder")
    result = invoke("score", write_csv(tmp_path / "p.csv"))
    assert result.exit_code == 2
    assert "E103" in errors(result)


@pytest.mark.parametrize(
    ("encoder", "code"),
    [
        ({"@misc": "spacy-mcse.PipelineVectors.v1"}, "E304"),
        # E307 without torch.
        ({"@misc": "spacy-mcse.Transformer.v1", "name": "no/such-model"}, "E30"),
    ],
)
def test_an_encoder_that_cannot_work_is_no_failed_row(
    tmp_path, monkeypatch, encoder, code
):
    nlp = spacy.blank("en")
    nlp.add_pipe("mcse_entity_source")
    nlp.add_pipe("mcse_entity_refiner")
    nlp.add_pipe("mcse_embedder", config={"encoder": encoder})
    monkeypatch.setattr(pipelines, "load", lambda name: nlp)
    pairs = write_csv(tmp_path / "p.csv")
    extract = ("extract", pairs, "--text", "reference", "--output")
    for arguments in (("score", pairs), (*extract, tmp_path / "o.spacy")):
        result = invoke(*arguments)
        assert result.exit_code == 2, result.output
        assert code in errors(result)
        assert list(tmp_path.iterdir()) == [pairs]
    # Entities alone need no vectors.
    assert invoke(*extract, tmp_path / "o.jsonl").exit_code == 0


def test_existing_output_is_kept(nlp, tmp_path):
    pairs = write_csv(tmp_path / "p.csv")
    for name in ("o.jsonl", "s.json"):
        (tmp_path / name).write_text("mine", "utf8")
        options = ("--output", tmp_path / "o.jsonl", "--summary", tmp_path / "s.json")
        result = invoke("score", pairs, *options)
        assert result.exit_code == 2
        assert "E804" in errors(result)
        assert (tmp_path / name).read_text("utf8") == "mine"
    assert invoke("score", pairs, *options, "--force").exit_code == 0
    assert len(read_jsonl(tmp_path / "o.jsonl")) == 5


def test_parquet_without_its_extra(nlp, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    pairs = write_csv(tmp_path / "p.csv")
    result = invoke("score", pairs, "--output", tmp_path / "o.parquet")
    assert result.exit_code == 2
    assert 'pip install "spacy-mcse[eval]"' in errors(result)
    (tmp_path / "q.parquet").write_bytes(b"PAR1")
    result = invoke("score", tmp_path / "q.parquet")
    assert 'pip install "spacy-mcse[eval]"' in errors(result)


def test_parquet(nlp, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    records = [*as_records(), {"id": "f", "reference": None, "candidate": "mass ."}]
    parquet.write_table(pyarrow.Table.from_pylist(records), tmp_path / "p.parquet")
    output = tmp_path / "o.parquet"
    result = invoke("score", tmp_path / "p.parquet", "--output", output)
    assert result.exit_code == 1, result.output
    rows = parquet.read_table(output).to_pylist()
    assert [row["id"] for row in rows] == list("abcdef")
    assert rows[0]["f1"] == score(*REPORTS[0][1:], nlp=nlp).f1
    assert "E823" in rows[5]["error"]
    (tmp_path / "broken.parquet").write_bytes(b"no parquet")
    assert invoke("score", tmp_path / "broken.parquet").exit_code == 2


# Resume


@pytest.fixture
def killed(nlp, tmp_path, monkeypatch):
    """A run that was killed after some batches, and the output of a whole one."""
    rows = [(str(i), *REPORTS[i % 5][1:]) for i in range(20)]
    rows[3] = ("3", "edema .")
    pairs = write_csv(tmp_path / "p.csv", rows)
    whole, summary = tmp_path / "whole.jsonl", tmp_path / "whole.json"
    options = ("--batch-size", "4")
    invoke("score", pairs, "--output", whole, "--summary", summary, *options)
    calls = []

    def interrupted(*arguments, original=corpus.score_facts):
        calls.append(arguments)
        if len(calls) > 10:
            raise KeyboardInterrupt
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(corpus, "score_facts", interrupted)
        result = invoke("score", pairs, "--output", tmp_path / "o.jsonl", *options)
    assert result.exit_code == 130
    assert "--resume" in errors(result)
    assert not (tmp_path / "o.jsonl").exists()
    # The header and two batches of four.
    assert len(read_jsonl(tmp_path / "o.jsonl.partial.jsonl")) == 9
    return tmp_path


def resume(folder, *options):
    outputs = ("--output", folder / "o.jsonl", "--summary", folder / "o.json")
    return invoke("score", folder / "p.csv", *outputs, *options)


def assert_whole(folder):
    for ending in ("jsonl", "json"):
        whole = (folder / f"whole.{ending}").read_bytes()
        assert (folder / f"o.{ending}").read_bytes() == whole
    assert not list(folder.glob("*partial*"))
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("batch_size", ["1", "4", "100"])
def test_a_resumed_run_equals_a_whole_one(killed, monkeypatch, batch_size):
    seen = []
    original = corpus.score_facts
    monkeypatch.setattr(
        corpus, "score_facts", lambda *facts: seen.append(1) or original(*facts)
    )
    assert resume(killed, "--resume", "--batch-size", batch_size).exit_code == 1
    assert_whole(killed)
    assert len(seen) == 12


def test_a_line_cut_short_is_done_again(killed):
    path = killed / "o.jsonl.partial.jsonl"
    path.write_bytes(path.read_bytes()[:-7])
    assert resume(killed, "--resume").exit_code == 1
    assert_whole(killed)


@pytest.mark.parametrize("kept", [0, 10])
def test_a_header_cut_short_starts_over(killed, kept):
    path = killed / "o.jsonl.partial.jsonl"
    path.write_bytes(path.read_bytes()[:kept])
    assert resume(killed, "--resume").exit_code == 1
    assert_whole(killed)


def test_a_stopped_run_is_not_lost_by_accident(killed):
    before = (killed / "o.jsonl.partial.jsonl").read_bytes()
    result = resume(killed)
    assert result.exit_code == 2
    assert "--resume" in errors(result)
    assert (killed / "o.jsonl.partial.jsonl").read_bytes() == before
    assert resume(killed, "--force").exit_code == 1
    assert_whole(killed)


def test_resume_refuses_other_input_and_settings(killed, nlp):
    before = (killed / "o.jsonl.partial.jsonl").read_bytes()
    pairs = (killed / "p.csv").read_bytes()
    (killed / "p.csv").write_bytes(pairs + b"20,edema .,edema .\n")
    result = resume(killed, "--resume")
    assert (result.exit_code, "another input" in errors(result)) == (2, True)
    (killed / "p.csv").write_bytes(pairs)
    (killed / "o.jsonl.partial.jsonl").write_bytes(
        before.replace(b'"signature": "mcse:', b'"signature": "other:', 1)
    )
    result = resume(killed, "--resume")
    assert (result.exit_code, "another signature" in errors(result)) == (2, True)
    (killed / "o.jsonl.partial.jsonl").write_bytes(b"not ours\n")
    assert resume(killed, "--resume").exit_code == 2
    assert not (killed / "o.jsonl").exists()


def dropped(*names):
    def change(record):
        return {key: value for key, value in record.items() if key not in names}

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda record: None,
        lambda record: [record],
        lambda record: 7,
        lambda record: {},
        lambda record: {**record, "line": record["line"] + 1},
        lambda record: {**record, "id": "other"},
        dropped("f1"),
        dropped("signature"),
        lambda record: {**record, "signature": None},
        lambda record: {**record, "pairs": [{}]},
        lambda record: {**record, "pairs": None},
    ],
)
@pytest.mark.parametrize("place", [1, 2])
def test_resume_refuses_records_that_are_none(killed, change, place):
    path = killed / "o.jsonl.partial.jsonl"
    lines = path.read_text("utf8").splitlines(keepends=True)
    lines[place] = json.dumps(change(json.loads(lines[place]))) + "\n"
    path.write_text("".join(lines), "utf8")
    before = path.read_bytes()
    result = resume(killed, "--resume")
    assert (result.exit_code, "E806" in errors(result)) == (2, True), errors(result)
    assert path.read_bytes() == before
    assert not (killed / "o.jsonl").exists()


@pytest.mark.parametrize("first", ["null", "[]", "7", '"a"', "[" * 100_000])
def test_resume_refuses_a_first_line_that_is_no_header(killed, first):
    (killed / "o.jsonl.partial.jsonl").write_text(f"{first}\n", "utf8")
    result = resume(killed, "--resume")
    assert (result.exit_code, "E806" in errors(result)) == (2, True)


def test_resume_refuses_more_records_than_rows(killed):
    path = killed / "o.jsonl.partial.jsonl"
    lines = path.read_text("utf8").splitlines(keepends=True)
    path.write_text("".join([*lines, *lines[1:] * 3]), "utf8")
    result = resume(killed, "--resume")
    assert (result.exit_code, "another set of rows" in errors(result)) == (2, True)
    assert not (killed / "o.jsonl").exists()


def test_the_input_is_not_taken_for_the_state_of_a_run(nlp, tmp_path):
    pairs = write_jsonl(tmp_path / "o.jsonl.partial.jsonl", as_records())
    before = pairs.read_bytes()
    for option in ("--force", "--resume"):
        result = invoke("score", pairs, "--output", tmp_path / "o.jsonl", option)
        assert (result.exit_code, "E810" in errors(result)) == (2, True)
        assert pairs.read_bytes() == before


def test_resume_without_a_stopped_run_is_a_run(nlp, tmp_path):
    pairs = write_csv(tmp_path / "p.csv")
    assert invoke("score", pairs, "--resume").exit_code == 0


def test_a_disk_that_is_full_leaves_no_output(nlp, tmp_path, monkeypatch):
    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    result = invoke("score", write_csv(tmp_path / "p.csv"))
    assert result.exit_code == 2
    assert "No space left" in errors(result)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"p.csv", "p.scores.jsonl.partial.jsonl"}


# Extract


def test_extract_entities(nlp, tmp_path):
    rows = [("a", "mild edema . no mass ."), ("b",), ("c", "normal ."), ("d", "")]
    texts = write_csv(tmp_path / "t.csv", rows, header=("id", "text"))
    result = invoke("extract", texts, "--output", tmp_path / "o.jsonl")
    assert result.exit_code == 1
    first, bad, normal, empty = read_jsonl(tmp_path / "o.jsonl")
    assert [entity["mcse_text"] for entity in first["clinical_entities"]] == [
        "mild edema",
        "no mass",
    ]
    assert [entity["negated"] for entity in first["clinical_entities"]] == [False, True]
    assert bad == {"id": "b", "line": 3, "error": bad["error"]}
    assert len(normal["normal_statements"]) == 1
    assert empty["clinical_entities"] == []


def test_extract_docs(nlp, tmp_path):
    rows = [("a", "mild edema ."), ("b",), ("c", "explode"), ("d", "mass .")]
    texts = write_csv(tmp_path / "t.csv", rows, header=("id", "text"))
    output = tmp_path / "o.spacy"
    result = invoke("extract", texts, "--output", output, "--batch-size", 2)
    assert result.exit_code == 1, result.output
    docs = list(DocBin().from_disk(output).get_docs(nlp.vocab))
    notes = [doc.spans["mcse_row"].attrs for doc in docs]
    assert [note["id"] for note in notes] == list("abcd")
    assert ["error" in note for note in notes] == [False, True, True, False]
    assert [entity.concept for entity in read_entities(docs[3])] == ["mass"]
    assert corpus.doc_score(docs[0], docs[3]).f1 == 0.0


@pytest.mark.parametrize("ending", ["jsonl", "spacy"])
def test_a_resumed_extraction_equals_a_whole_one(nlp, tmp_path, monkeypatch, ending):
    rows = [(str(i), REPORTS[i % 5][1]) for i in range(12)]
    texts = write_csv(tmp_path / "t.csv", rows, header=("id", "text"))
    whole, output = tmp_path / f"whole.{ending}", tmp_path / f"o.{ending}"
    assert invoke("extract", texts, "--output", whole).exit_code == 0
    make_doc = nlp.make_doc
    calls = []

    def interrupted(text):
        calls.append(text)
        if len(calls) > 8:
            raise KeyboardInterrupt
        return make_doc(text)

    arguments = ("extract", texts, "--output", output, "--batch-size", "2")
    with monkeypatch.context() as patch:
        patch.setattr(nlp, "make_doc", interrupted)
        assert invoke(*arguments).exit_code == 130
    assert invoke(*arguments, "--resume").exit_code == 0
    assert output.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    ("ending", "change"),
    [
        ("jsonl", dropped("clinical_entities")),
        ("spacy", dropped("doc")),
        ("spacy", lambda record: {**record, "doc": "AAAA"}),
        ("spacy", lambda record: {**record, "doc": 7}),
        ("spacy", lambda record: {**record, "doc": record["doc"][:80]}),
    ],
)
def test_a_damaged_extraction_is_not_resumed(nlp, tmp_path, ending, change):
    texts = write_csv(tmp_path / "t.csv", [("a", "edema .")], header=("id", "text"))
    output = tmp_path / f"o.{ending}"
    state = tmp_path / f"o.{ending}.partial.jsonl"
    arguments = ("extract", texts, "--output", output)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files.os, "replace", None)  # stops it behind the last row
        assert invoke(*arguments).exit_code == 3
    header, record = read_jsonl(state)
    write_jsonl(state, [header, change(record)])
    result = invoke(*arguments, "--resume")
    assert (result.exit_code, "E806" in errors(result)) == (2, True)


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**400])
def test_ids_of_any_size(nlp, tmp_path, number):
    records = [{"id": number, "text": "edema ."}, {"id": number}]
    texts = write_jsonl(tmp_path / "t.jsonl", records)
    output = tmp_path / "o.spacy"
    result = invoke("extract", texts, "--output", output)
    assert result.exit_code == 1, result.output
    docs = list(DocBin().from_disk(output).get_docs(nlp.vocab))
    ids = [doc.spans["mcse_row"].attrs["id"] for doc in docs]
    assert ids == [number if number < 2**63 and number > 0 else str(number)] * 2
    assert invoke("extract", texts, "--output", tmp_path / "o.jsonl").exit_code == 1
    assert read_jsonl(tmp_path / "o.jsonl")[0]["id"] == number
    assert {path.name for path in tmp_path.iterdir()} == {
        *("t.jsonl", "o.spacy", "o.jsonl")
    }


def test_ids_of_any_size_in_parquet(nlp, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    records = [{**record, "id": 10**30 * i} for i, record in enumerate(as_records())]
    pairs = write_jsonl(tmp_path / "p.jsonl", records)
    output = tmp_path / "o.parquet"
    assert invoke("score", pairs, "--output", output).exit_code == 0
    ids = parquet.read_table(output)["id"].to_pylist()
    assert ids == [str(record["id"]) for record in records]


def test_docs_with_other_vectors_are_not_resumed(nlp, tmp_path):
    texts = write_csv(tmp_path / "t.csv", [("a", "edema .")], header=("id", "text"))
    output, state = tmp_path / "o.spacy", tmp_path / "o.spacy.partial.jsonl"
    arguments = ("extract", texts, "--output", output)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files.os, "replace", None)  # stops it behind the last row
        assert invoke(*arguments).exit_code == 3
    before = state.read_bytes()
    header = json.loads(before.split(b"\n")[0])
    assert header["signature"] == str(facts_signature(read_facts(nlp(""))))
    state.write_bytes(before.replace(b"encoder:stub", b"encoder:other"))
    result = invoke(*arguments, "--resume")
    assert (result.exit_code, "another signature" in errors(result)) == (2, True)
    state.write_bytes(before)
    assert invoke(*arguments, "--resume").exit_code == 0


def test_extract_needs_no_embedder(nlp, tmp_path):
    nlp.remove_pipe("mcse_embedder")
    texts = write_csv(tmp_path / "t.csv", [("a", "edema .")], header=("id", "text"))
    assert invoke("extract", texts).exit_code == 0
    assert len(read_jsonl(tmp_path / "t.entities.jsonl")) == 1


@pytest.mark.parametrize("options", [["--output", "o.csv"], ["--text", "other"]])
def test_extract_with_wrong_options(nlp, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "t.csv", [("a", "edema .")], header=("id", "text"))
    assert invoke("extract", "t.csv", *options).exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


# The command line itself


def test_commands_are_part_of_spacys_command_line():
    result = CliRunner().invoke(spacy_app, ["mcse", "--help"])
    assert result.exit_code == 0
    assert "score" in result.output
    assert "extract" in result.output
    assert "calibrate" in result.output


def test_importing_the_commands_imports_nothing_heavy():
    heavy = ["pandas", "pyarrow", "torch", "transformers", "matplotlib", "ray", "scipy"]
    code = (
        f"import sys, spacy_mcse.cli; print([m for m in {heavy} if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
