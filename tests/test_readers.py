"""Readers of published formats: what they give and refuse, how much they read."""

import csv
import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest
import spacy
from script_runs import script
from spacy.tokens import DocBin
from spacy.util import registry

from spacy_mcse.data import read_devices, read_entities
from spacy_mcse.readers import (
    CHEXPERT_LABELS,
    read_labels,
    read_mimic_reports,
    read_openi,
    read_radgraph,
    source,
)
from spacy_mcse.readers.gold import gold_entities
from spacy_mcse.readers.reports import unwrap

GOLD = Path(__file__).parents[1] / "examples" / "gold"
SECRET = "zygomatic"  # a word of a report, which no error may show


def entity(tokens, label, start, end=None, *relations):
    end = start if end is None else end
    return {
        "tokens": tokens,
        "label": label,
        "start_ix": start,
        "end_ix": end,
        "relations": [list(pair) for pair in relations],
    }


def annotated(text, *entities, **others):
    numbered = {str(n): item for n, item in enumerate(entities, start=1)}
    return {"text": text, "entities": numbered, "data_split": "dev", **others}


EFFUSION = annotated(
    "Small left pleural effusion . No edema",
    entity("Small", "OBS-DP", 0, None, ("modify", "3")),
    entity("left pleural", "ANAT-DP", 1, 2),
    entity("effusion", "OBS-DP", 3, None, ("located_at", "2")),
    entity("edema", "OBS-DA", 6),
    data_source="made up",
)
XL_LINE = {
    "dataset": "made-up-CT",
    "doc_key": 7,
    "sentences": [["Mild", "edema", "."], ["No", "effusion"]],
    "ner": [
        [[0, 0, "Observation::uncertain"], [1, 1, "Observation::definitely present"]],
        [[4, 4, "Observation::definitely absent"]],
    ],
    "relations": [[[0, 0, 1, 1, "modify"]], []],
}


@pytest.fixture
def save(tmp_path):
    def write(name, content):
        path = tmp_path / name
        if not isinstance(content, (str, bytes)):
            content = json.dumps(content)
        data = content.encode("utf8") if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


def refused(read, path, code, *parts, **settings):
    with pytest.raises(ValueError, match=rf"\[{code}\]") as caught:
        list(read(path, **settings))
    message = str(caught.value)
    assert path.name in message
    assert SECRET not in message.lower()
    for part in parts:
        assert part in message
    return message


# RadGraph


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_radgraph(save, name):
    (report,) = read_radgraph(save(name, {"p10/s1.txt": EFFUSION}))
    assert report.id == "p10/s1.txt"
    assert (report.text, report.split) == (EFFUSION["text"], "dev")
    assert report.source == "made up"
    assert [(e.id, e.text, e.label) for e in report.entities] == [
        ("1", "Small", "OBS-DP"),
        ("2", "left pleural", "ANAT-DP"),
        ("3", "effusion", "OBS-DP"),
        ("4", "edema", "OBS-DA"),
    ]
    assert report.entities[0].targets("modify") == ("3",)
    for item in report.entities:
        assert report.text[item.start_char : item.end_char] == item.text


def test_offsets_are_those_of_the_report_as_written(save):
    text = "Edema of 1 . 5 cm , mild"
    mild = entity("mild", "OBS-DP", 7, None, ("modify", "1"))
    record = annotated(text, entity("Edema", "OBS-DP", 0), mild, report="")
    record["entities"]["3"] = entity("1 . 5 cm", "OBS-DP", 2, 5)
    record["report"] = " Edema of\n  1.5 cm, mild\n"
    (report,) = read_radgraph(save("a.json", {"a": record}))
    assert report.text == record["report"]
    assert [e.text for e in report.entities] == ["Edema", "mild", "1.5 cm"]
    assert [e.start_char for e in report.entities] == [1, 20, 12]


def test_two_labelers(save):
    first = {"entities": EFFUSION["entities"], "data_split": "test"}
    both = {"text": EFFUSION["text"], "labeler_1": first, "labeler_2": {"entities": {}}}
    path = save("test.json", {"a": both})
    (report,) = read_radgraph(path)
    assert (len(report.entities), report.split) == (4, "test")
    (report,) = read_radgraph(path, labeler="labeler_2")
    assert report.entities == ()
    found = "found: labeler_1, labeler_2"
    refused(read_radgraph, path, "E849", "report 'a'", found, labeler="x")


@pytest.mark.parametrize("name", ["xl.jsonl", "xl.json", "xl.jsonl.gz"])
def test_radgraph_xl(save, name):
    lines = json.dumps(XL_LINE) + "\n\n" + json.dumps({**XL_LINE, "doc_key": "k"})
    first, second = read_radgraph(save(name, lines))
    assert (first.id, second.id) == ("made-up-CT_7", "k")
    assert first.text == "Mild edema . No effusion"
    assert [(e.text, e.label, e.relations) for e in first.entities] == [
        ("Mild", "OBS-U", (("modify", "2"),)),
        ("edema", "OBS-DP", ()),
        ("effusion", "OBS-DA", ()),
    ]


@pytest.mark.parametrize("kind", ["Anatomy", "Observation"])
@pytest.mark.parametrize("measure", ["", "::measurement"])
def test_labels_of_xl_in_radgraphs_own_format(save, kind, measure):
    """The `radgraph` package gives RadGraph's JSON with the labels of XL."""
    for certainty, short in (
        ("definitely present", "OBS-DP"),
        ("definitely absent", "OBS-DA"),
        ("uncertain", "OBS-U"),
    ):
        label = f"{kind}{measure}::{certainty}"
        record = annotated("edema", entity("edema", label, 0))
        (report,) = read_radgraph(save("a.json", {"0": record}))
        assert report.entities[0].label == ("ANAT-DP" if kind == "Anatomy" else short)


def test_list_of_chexpert_plus(save):
    path = save("a.json", [{"0": EFFUSION}, {"0": annotated("edema")}])
    assert [report.id for report in read_radgraph(path)] == ["0", "1"]


@pytest.mark.parametrize(
    ("change", "code", "parts"),
    [
        ({"label": "OBS-X"}, "E843", ["> label", "'OBS-X'", "OBS-DA"]),
        ({"label": f"{SECRET} bone"}, "E843", ["a string of 14 characters"]),
        ({"label": None}, "E843", ["got null"]),
        ({"start_ix": 3, "end_ix": 2}, "E845", ["3 to 2", "2 words"]),
        ({"end_ix": 2}, "E845", ["2 words"]),
        ({"start_ix": -1}, "E845", ["-1 to 0"]),
        ({"start_ix": "0"}, "E843", ["> start_ix", "a whole number"]),
        ({"start_ix": True}, "E843", ["got true or false"]),
        ({"end_ix": 1}, "E846", ["0 to 1"]),
        ({"tokens": f"{SECRET}s"}, "E846", []),
        ({"relations": [["modify", "9"]]}, "E848", ["'9'"]),
        ({"relations": [["of", "1"]]}, "E843", ["> relations > 0", "located_at"]),
        ({"relations": [["modify"]]}, "E843", ["1 values"]),
        ({"relations": {}}, "E843", ["a list"]),
    ],
)
def test_broken_entity(save, change, code, parts):
    broken = {**entity(SECRET, "OBS-DP", 0), **change}
    record = annotated(f"{SECRET} bone", broken)
    path = save("a.json", {"ok": EFFUSION, "bad": record})
    refused(read_radgraph, path, code, "report 'bad' > entities > 1", *parts)


def test_broken_reports(save):
    record = annotated(f"{SECRET} bone")
    for name, change, code, part in (
        ("no text", {"text": None}, "E843", "> text"),
        ("no entities", {"entities": None}, "E843", "> entities"),
        ("list", {"entities": [[1]]}, "E843", "> entities"),
        ("other words", {"report": f"{SECRET} bones"}, "E847", "character 13"),
        ("other words", {"report": f"a {SECRET}"}, "E847", "character 0"),
    ):
        path = save("a.json", {name: {**record, **change}})
        refused(read_radgraph, path, code, f"report '{name}'", part)
    del record["entities"]
    refused(read_radgraph, save("a.json", {"a": record}), "E844", "'entities'")
    refused(read_radgraph, save("a.json", {"a": 3}), "E843", "got 3")


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("", 1, "cut off"),
        ("3", 1, "'{' or '['"),
        ('{\n "a": {"text": "SECRET",\n }}', 3, "property name"),
        ('{\n "a": {"text": "SECRET", "entities": {}}\n "b"', 3, "behind 'a'"),
        ('{"a": {"text": "SECRET", "entities": {', 1, "cut off"),
        ('{"a": {"text": "SECRET', 1, "Unterminated"),
        ('{"a": {"text": "x", "entities": {}}}\n{}', 2, "follows the end"),
        ("{\n3: {}}", 2, "double quotes"),
        ('{"a" {}}', 1, "':'"),
    ],
)
def test_no_json(save, text, line, part):
    path = save("a.json", text.replace("SECRET", SECRET))
    refused(read_radgraph, path, "E842", f"line {line}:", part)


def test_broken_lines_of_xl(save):
    good = json.dumps(XL_LINE)
    for change, code, part in (
        ({"ner": [[[0, 0]]]}, "E843", "> ner > 0 > 0"),
        ({"ner": [[[0, 0, SECRET]]]}, "E843", "9 characters"),
        ({"ner": [[[0, 9, "Anatomy::uncertain"]]], "relations": []}, "E845", "5 words"),
        ({"relations": [[[0, 0, 3, 3, "modify"]]]}, "E848", "words 3 to 3"),
        ({"sentences": [SECRET]}, "E843", "> sentences > 0"),
        ({"doc_key": None}, "E843", "> doc_key"),
    ):
        path = save("a.jsonl", f"{good}\n{json.dumps({**XL_LINE, **change})}\n")
        refused(read_radgraph, path, code, "line 2", part)
    path = save("a.jsonl", f'{good}\n\n{{"sentences": [["{SECRET}"]\n')
    refused(read_radgraph, path, "E842", "line 3", "column")
    path = save("a.jsonl", f'{good}\n["{SECRET}"]\n')
    refused(read_radgraph, path, "E843", "line 2", "got a list")
    refused(read_radgraph, save("a.jsonl", '{"x": 1, "y": 2}'), "E844", "doc_key")


def test_files_that_are_none(save, tmp_path):
    with pytest.raises(FileNotFoundError, match="E801"):
        read_radgraph(tmp_path / "nothing.json")
    with pytest.raises(IsADirectoryError, match="E801"):
        read_labels(tmp_path)
    path = save("a.json", b'{"a":\n {"text": "\xff"}}')
    refused(read_radgraph, path, "E841", "line 2")
    path = save("b.json.gz", {"a": EFFUSION})
    path.write_bytes(path.read_bytes()[:30])
    refused(read_radgraph, path, "E801", "compressed")
    path.write_bytes(b"no archive")
    refused(read_radgraph, path, "E801", "compressed")


def test_a_record_may_be_longer_than_what_is_read_at_once(save):
    """Cut anywhere, also in the middle of escapes and numbers."""
    words = " ".join('é\u2028"\\ \U0001f600' for _ in range(40_000))
    records = {
        f"long{n}": {**annotated("x" * n + f" {words}"), "number": 12345}
        for n in range(3)
    }
    texts = [report.text for report in read_radgraph(save("a.json", records))]
    assert texts == [record["text"] for record in records.values()]


@pytest.fixture
def counted(monkeypatch):
    """How many characters readers took from their files."""
    taken = []

    class Counting(io.TextIOWrapper):
        def read(self, size=-1):
            taken.append(len(found := super().read(size)))
            return found

        def __next__(self):
            taken.append(len(found := super().__next__()))
            return found

    def open_text(path, newline=""):
        return Counting(path.open("rb"), encoding="utf8", newline=newline)

    for name in ("source", "chexpert", "radgraph"):
        monkeypatch.setattr(f"spacy_mcse.readers.{name}.open_text", open_text)
    return taken


def test_no_more_is_read_than_needed(save, counted):
    many = {f"r{n}": EFFUSION for n in range(4000)}
    header = f"id,{','.join(CHEXPERT_LABELS)}\n"
    openi = {"id": "CXR1", "findings": "Clear.", "impression": ""}
    for read, path in (
        (read_radgraph, save("a.json", many)),
        (read_radgraph, save("a.jsonl", (json.dumps(XL_LINE) + "\n") * 9000)),
        (read_labels, save("a.csv", header + f"a{'':,<14}\n" * 90_000)),
        (read_openi, save("o.jsonl", (json.dumps(openi) + "\n") * 20_000)),
    ):
        counted.clear()
        assert path.stat().st_size > 1_000_000
        reports = read(path)
        assert not counted or sum(counted) <= 5000  # nothing before it is asked for
        next(reports)
        assert 0 < sum(counted) <= 80_000, path.name
        reports.close()


def test_records_in_front_of_a_broken_one_are_read(save):
    text = json.dumps({"a": EFFUSION})[:-1] + ', "b": {"text": 3}}'
    reports = read_radgraph(save("a.json", text))
    assert next(reports).id == "a"
    with pytest.raises(ValueError, match="report 'b' > text"):
        next(reports)


def test_gold_of_the_repository():
    reports = {report.id: report for report in read_radgraph(GOLD / "radgraph.json")}
    rows = {row.id: row.labels for row in read_labels(GOLD / "labels.csv")}
    assert len(reports) == 132
    assert list(rows) == list(reports)
    assert {report.split for report in reports.values()} == {"dev", "unseen"}
    assert all(list(labels) == list(CHEXPERT_LABELS) for labels in rows.values())


# Labels


def table(header, *rows):
    lines = [[*header, *CHEXPERT_LABELS], *rows]
    text = io.StringIO()
    csv.writer(text).writerows(lines)
    return text.getvalue()


@pytest.mark.parametrize(
    ("header", "cells", "expected"),
    [
        (["id"], ["g1"], "g1"),
        (["subject_id", "study_id"], ["10", "50414267"], "s50414267"),
        (["Path", "Sex", "Age"], ["train/p1/s1/v.jpg", "F", "60"], "train/p1/s1/v.jpg"),
        (["study_id", "id"], ["3", "g1"], "g1"),
    ],
)
@pytest.mark.parametrize("name", ["l.csv", "l.csv.gz"])
def test_labels(save, name, header, cells, expected):
    values = ["1.0", "0.0", "-1.0", "", "1", "0", "-1", *[""] * 7]
    (row,) = read_labels(save(name, "\ufeff" + table(header, [*cells, *values])))
    assert row.id == expected
    assert list(row.labels) == list(CHEXPERT_LABELS)
    assert list(row.labels.values()) == [1, 0, -1, None, 1, 0, -1, *[None] * 7]


def test_name_of_the_radiologists_table(save):
    text = table(["study_id"], ["1", *["0"] * 14])
    text = text.replace("Lung Opacity", "Airspace Opacity")
    (row,) = read_labels(save("l.csv", text))
    assert row.labels["Lung Opacity"] == 0


@pytest.mark.parametrize(
    ("row", "code", "parts"),
    [
        (["a", "0.5", *[""] * 13], "E854", ["column 'No Finding'", "0.5", "-1.0"]),
        (["a", f"{SECRET}", *[""] * 13], "E854", ["text of 9 characters"]),
        (["a", *[""] * 13], "E852", ["14 fields", "15"]),
        (["", *[""] * 14], "E855", ["column 'id'"]),
    ],
)
def test_broken_row(save, row, code, parts):
    good = ["ok", *[""] * 14]
    path = save("l.csv", table(["id"], good, row))
    refused(read_labels, path, code, "line 3", *parts)


def test_broken_tables(save):
    text = table(["id"], ["a", *["1.0"] * 14])
    path = save("l.csv", text.replace("Edema,", "Oedema,"))
    refused(read_labels, path, "E853", "line 1", "'Edema'")
    path = save("l.csv", text.replace("id,", "name,"))
    refused(read_labels, path, "E853", "of an id")
    refused(read_labels, save("l.csv", ""), "E853")
    path = save("l.csv", text + f'"{SECRET},1\n')
    refused(read_labels, path, "E851", "line 3")
    path = save("l.csv", text.encode() + b"\xff\n")
    refused(read_labels, path, "E841", "line 3")


# Reports

MIMIC = """\
                                 FINAL REPORT
 EXAMINATION:  CHEST (PA AND LAT)

 INDICATION:  Cough.  // pneumonia?

 FINDINGS:

 There is a small
 left effusion.  The heart is
 normal.

 Bones are intact.

 IMPRESSION:

 1.  Small left
     effusion.
 2.  No edema.
"""


def check_mimic(report):
    assert report.text == MIMIC
    assert [section.name for section in report.sections] == [
        "",
        "technique",
        "indication",
        "findings",
        "impression",
    ]
    assert report.findings == (
        "There is a small left effusion. The heart is normal.\nBones are intact."
    )
    assert report.impression == "1. Small left effusion.\n2. No edema."
    assert report.section("comparison") == ""


def test_mimic_folder_file_and_archive(tmp_path):
    files = tmp_path / "files"
    for name in (
        "p11/p11000001/s3.txt",
        "p10/p10000002/s2.txt",
        "p10/p10000001/s1.txt",
    ):
        path = files / name
        path.parent.mkdir(parents=True)
        path.write_text(MIMIC, "utf8")
    (files / "index.html").write_text("x", "utf8")
    with zipfile.ZipFile(tmp_path / "reports.zip", "w") as archive:
        for path in sorted(files.rglob("*")):
            archive.write(path, path.relative_to(tmp_path))
    for where in (files, tmp_path / "reports.zip"):
        reports = list(read_mimic_reports(where))
        assert [report.id for report in reports] == ["s1", "s2", "s3"]
        check_mimic(reports[0])
    (report,) = read_mimic_reports(files / "p10/p10000001/s1.txt")
    check_mimic(report)


def test_mimic_errors(save, tmp_path):
    with pytest.raises(FileNotFoundError, match="E801"):
        read_mimic_reports(tmp_path / "nothing")
    refused(read_mimic_reports, tmp_path, "E856")
    save("s1.txt", "Clear.")
    save("s2.txt", b"Clear.\n\xff")
    reports = read_mimic_reports(tmp_path)
    assert next(reports).id == "s1"  # one file after the other
    with pytest.raises(ValueError, match=r"E841.*s2\.txt, line 2"):
        next(reports)
    refused(read_mimic_reports, save("r.zip", "no archive"), "E801", ".zip")


def test_unwrap():
    assert unwrap("  a\r\n  b\n\n\n c\n - d\n   e\n * f") == "a b\nc\n- d e\n* f"
    assert unwrap(" \n ") == ""


def test_openi(save):
    rows = [
        {"id": "CXR1", "findings": "Clear.", "impression": "Normal.", "gold": {"M": 0}},
        {"id": "CXR2", "findings": "", "impression": "Mass.", "gold": {"M": 1}},
        {"id": "CXR3", "findings": None, "impression": ""},
    ]
    path = save("o.jsonl", "\n".join(map(json.dumps, rows)))
    first, second, third = read_openi(path)
    assert (first.text, first.findings, first.impression, first.labels) == (
        "Clear. Normal.",
        "Clear.",
        "Normal.",
        {"M": 0},
    )
    assert (second.text, second.findings, second.impression) == ("Mass.", "", "Mass.")
    assert (third.text, third.labels) == ("", {})
    for row, code, part in (
        ({"findings": ""}, "E844", "'id'"),
        ({"id": 3}, "E843", "> id"),
        ({"id": "a", "findings": [SECRET]}, "E843", "> findings"),
        ({"id": "a", "gold": {"M": 2}}, "E843", "gold > M"),
    ):
        refused(read_openi, save("b.jsonl", row), code, "line 1", part)


def test_values_in_errors():
    assert source.shown("OBS-DP") == "'OBS-DP'"
    assert source.shown("Edema is seen") == "a string of 13 characters"
    assert source.shown(0.5) == "0.5"
    assert source.shown({}) == "a JSON object"


# Gold entities and corpora


def gold_of(save, record):
    (report,) = read_radgraph(save("g.json", {"a": record}))
    found = gold_entities(report)
    return [(report.text[e.start_char : e.end_char], e.assertion) for e in found]


def test_gold_entities(save):
    assert gold_of(save, EFFUSION) == [
        ("Small left pleural effusion", "present"),
        ("edema", "absent"),
    ]


def test_what_describes_from_afar_is_no_part_of_the_span(save):
    record = annotated(
        "Opacity left base is hazy , possible hazy , dense mass growing",
        entity("Opacity", "OBS-DP", 0, None, ("located_at", "2")),
        entity("left base", "ANAT-DP", 1, 2),
        entity("hazy", "OBS-DP", 4, None, ("modify", "1")),
        entity("hazy", "OBS-U", 7, None, ("modify", "5")),
        entity("mass", "OBS-U", 10),
        entity("dense", "OBS-U", 9, None, ("modify", "5")),
        entity("growing", "OBS-U", 11, None, ("modify", "5")),
    )
    assert gold_of(save, record) == [
        ("Opacity", "present"),
        ("hazy , dense mass growing", "uncertain"),
    ]


def test_relations_in_a_circle_lose_no_entity(save):
    record = annotated(
        "hazy opacity and mass",
        entity("hazy", "OBS-DP", 0, None, ("modify", "2")),
        entity("opacity", "OBS-DP", 1, None, ("modify", "1")),
        entity("mass", "OBS-DP", 3, None, ("modify", "3"), ("suggestive_of", "2")),
    )
    assert gold_of(save, record) == [("hazy opacity", "present"), ("mass", "present")]


NORMAL = annotated(
    "New small effusion . Lungs clear . Chest tube left in place",
    entity("New", "OBS-DP", 0, None, ("modify", "3")),
    entity("small", "OBS-DP", 1, None, ("modify", "3")),
    entity("effusion", "OBS-DP", 2),
    entity("Lungs", "ANAT-DP", 4),
    entity("clear", "OBS-DP", 5, None, ("located_at", "4")),
    entity("Chest tube", "OBS-DP", 7, 8, ("located_at", "7")),
    entity("left", "ANAT-DP", 9),
)


def test_radgraph_corpus(save, blank_nlp):
    path = save("a.json", {"a": EFFUSION, "b": {**NORMAL, "data_split": "test"}})
    make = registry.readers.get("spacy-mcse.RadGraphReader.v1")
    first, second = make(path)(blank_nlp)
    assert first.predicted.text == EFFUSION["text"]
    assert not first.predicted.spans
    doc = first.reference
    assert [(e.text, e.label_) for e in doc.ents] == [
        ("Small", "OBS-DP"),
        ("left pleural", "ANAT-DP"),
        ("effusion", "OBS-DP"),
        ("edema", "OBS-DA"),
    ]
    effusion, edema = read_entities(doc)
    assert (effusion.text, effusion.label) == ("Small left pleural effusion", "FINDING")
    assert effusion.values("side") == {"left"}
    assert set(effusion.attributes) == {"side"}
    assert (edema.assertion, edema.mcse_text) == ("absent", "no edema")
    # Words of change stay out of spans; devices and normality have their own groups.
    doc = second.reference
    assert [e.text for e in read_entities(doc)] == ["small effusion"]
    assert [e.text for e in read_devices(doc)] == ["Chest tube"]
    assert [s.text for s in doc._.normal_statements] == ["Lungs clear"]
    (plain,) = make(path, split="test", use_lists=False)(blank_nlp)
    texts = [e.text for e in read_entities(plain.reference)]
    assert texts == ["New small effusion", "Lungs clear", "Chest tube"]


def test_radgraph_corpus_errors(save, blank_nlp):
    make = registry.readers.get("spacy-mcse.RadGraphReader.v1")
    path = save("a.json", {"a": EFFUSION})
    with pytest.raises(ValueError, match=r"E857.*'train' \(found: 'dev'\)"):
        list(make(path, split="train")(blank_nlp))
    with pytest.raises(ValueError, match="E858"):
        make(None)


def test_corpora_resolve_from_a_config(save, blank_nlp):
    path = save("a.json", {"a": EFFUSION})
    config = {"@readers": "spacy-mcse.RadGraphReader.v1", "path": str(path)}
    corpus = registry.resolve({"corpus": config})["corpus"]
    assert len(list(corpus(blank_nlp))) == len(list(corpus(blank_nlp))) == 1


def test_labelled_corpora(save, blank_nlp, tmp_path):
    openi = {"id": "1", "findings": "Mass.", "impression": "", "gold": {"M": 1, "N": 0}}
    make = registry.readers.get("spacy-mcse.OpenIReader.v1")
    (example,) = make(save("o.jsonl", openi))(blank_nlp)
    assert example.reference.cats == {"M": 1.0, "N": 0.0}
    save("s1.txt", MIMIC)
    save("s2.txt", "No labels.")
    labels = save("l.csv", table(["study_id"], ["1", "1.0", "0.0", "-1.0", *[""] * 11]))
    make = registry.readers.get("spacy-mcse.MimicReader.v1")
    (example,) = make(tmp_path, labels)(blank_nlp)
    assert example.reference.text == MIMIC
    assert example.reference.cats == {
        label: float(label == "No Finding")
        for label in CHEXPERT_LABELS
        if label != "Cardiomegaly"
    }


def test_convert_script(save, tmp_path, monkeypatch, capsys):
    def convert(*arguments):
        monkeypatch.setattr("sys.argv", ["convert_radgraph.py", *map(str, arguments)])
        return main()

    main = script("convert_radgraph.py")["main"]
    path = save("a.json", {"a": EFFUSION, "b": {**NORMAL, "data_split": "test"}})
    output = tmp_path / "new" / "dev.spacy"
    assert convert(path, output, "--split", "dev") == 0
    assert "1 reports" in capsys.readouterr().out
    (doc,) = DocBin().from_disk(output).get_docs(spacy.blank("en").vocab)
    assert [e.assertion for e in read_entities(doc)] == ["present", "absent"]
    output.unlink()
    path = save("a.json", {"a": {**EFFUSION, "text": SECRET}})
    assert convert(path, output) == 2
    message = capsys.readouterr().err
    assert "E846" in message
    assert SECRET not in message
    assert not output.exists()
    with pytest.raises(SystemExit):
        convert(path, "corpus.json")


def test_names_that_could_be_text_are_not_shown(tmp_path: Path) -> None:
    entity = {"label": "OBS-DP", "start_ix": 7, "end_ix": 7, "relations": []}
    report = {"text": "clear", "entities": {"secret words stand here": entity}}
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"secret text of a report": report}), "utf8")
    with pytest.raises(ValueError, match="E845") as caught:
        list(read_radgraph(path))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_number_with_too_many_digits(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(f'{{"a": {"9" * 5000}}}', "utf8")
    refused(read_radgraph, path, "E842", "too many digits")
