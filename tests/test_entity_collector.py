"""The union of several recognizers: `mcse_entity_collector`, and its callback."""

import pickle
from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_model_from_config
from thinc.api import Config

from spacy_mcse.callbacks import make_import_modules
from spacy_mcse.entity_collector import EntityCollector

KEY = "mcse_candidates"


def two_recognizers() -> Language:
    """Diseases by one, phrases by the other."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    first = nlp.add_pipe("entity_ruler", name="diseases")
    first.add_patterns(
        [{"label": "DISEASE", "pattern": p} for p in ("effusion", "edema")]
    )
    nlp.add_pipe("mcse_entity_collector", name="one", config={"clear_ents": True})
    second = nlp.add_pipe("entity_ruler", name="phrases")
    second.add_patterns(
        [{"label": "ENTITY", "pattern": p} for p in ("left effusion", "edema", "tube")]
    )
    nlp.add_pipe("mcse_entity_collector", name="two")
    return nlp


def labelled(spans: object) -> list[tuple[str, str]]:
    return [(span.text, span.label_) for span in spans]  # type: ignore[attr-defined]


def test_the_group_has_what_both_found() -> None:
    doc = two_recognizers()("A tube, a left effusion and edema.")
    assert labelled(doc.spans[KEY]) == [
        ("tube", "ENTITY"),
        ("left effusion", "ENTITY"),
        ("effusion", "DISEASE"),
        ("edema", "DISEASE"),  # of the first
    ]
    assert labelled(doc.ents) == [
        ("tube", "ENTITY"),
        ("left effusion", "ENTITY"),
        ("edema", "DISEASE"),
    ]


def test_the_refiner_reads_the_group() -> None:
    nlp = two_recognizers()
    nlp.add_pipe("mcse_entity_refiner", config={"spans_in": KEY})
    doc = nlp("A tube, a left effusion and no edema.")
    found = [(span.text, span._.assertion) for span in doc._.clinical_entities]
    assert found == [("left effusion", "present"), ("edema", "absent")]
    assert {item["reason"] for item in doc._.dropped_entities} == {"device", "overlap"}


def test_one_recognizer_keeps_its_entities() -> None:
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "X", "pattern": "edema", "id": "7"}])
    before = nlp("Mild edema.")
    nlp.add_pipe("mcse_entity_collector", config={"spans_key": "other"})
    doc = nlp("Mild edema.")
    assert labelled(doc.ents) == labelled(before.ents) == labelled(doc.spans["other"])
    assert doc.ents[0].ent_id_ == doc.spans["other"][0].id_ == "7"


def test_a_second_call_adds_nothing() -> None:
    nlp = two_recognizers()
    doc = nlp("A left effusion.")
    spans, ents = labelled(doc.spans[KEY]), labelled(doc.ents)
    again = nlp.get_pipe("two")(doc)
    assert (labelled(again.spans[KEY]), labelled(again.ents)) == (spans, ents)


@pytest.mark.parametrize("text", ["", " ", "Nothing here."])
def test_nothing_to_collect(text: str) -> None:
    doc = two_recognizers()(text)
    assert list(doc.spans[KEY]) == list(doc.ents) == []


def test_it_is_saved_and_pickled(tmp_path: Path) -> None:
    nlp = two_recognizers()
    nlp.to_disk(tmp_path)
    text = "A tube, a left effusion and edema."
    doc, again = nlp(text), spacy.load(tmp_path)(text)
    assert labelled(doc.spans[KEY]) == labelled(again.spans[KEY])
    copy = pickle.loads(pickle.dumps(nlp.get_pipe("one")))
    assert isinstance(copy, EntityCollector)
    assert copy.cfg == {"spans_key": KEY, "clear_ents": True}
    copied = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert labelled(copied.spans[KEY]) == labelled(doc.spans[KEY])


def test_modules_are_imported_before_a_pipeline_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipeline finds what has no entry point; test_paper_setup.py does it afresh."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "without_entry_point.py").write_text(
        "from spacy.language import Language\n"
        "Language.component('from_elsewhere', func=lambda doc: doc)\n"
    )
    config = Config().from_str(
        '[nlp]\nlang = "en"\npipeline = ["from_elsewhere"]\n'
        "[nlp.before_creation]\n"
        '@callbacks = "spacy-mcse.ImportModules.v1"\n'
        'modules = ["without_entry_point"]\n'
        '[components]\n[components.from_elsewhere]\nfactory = "from_elsewhere"\n'
    )
    nlp = load_model_from_config(config, auto_fill=True)
    assert nlp.pipe_names == ["from_elsewhere"]
    assert nlp.config["nlp"]["before_creation"]["modules"] == ["without_entry_point"]


def test_a_missing_module_names_the_command() -> None:
    for module, command in (
        ("scispacy_is_not_here.linking", "pip install scispacy_is_not_here"),
        ("spacy_mcse.not_here", "E110"),
    ):
        with pytest.raises(ImportError, match=f"E110|{command}") as error:
            make_import_modules([module])(Language)
        assert module in str(error.value)


def test_an_error_within_a_module_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imports_another.py").write_text("import surely_not_installed\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'surely_not"):
        make_import_modules(["imports_another"])(Language)


def test_what_is_given_comes_back() -> None:
    assert make_import_modules(["json"])(Language) is Language
