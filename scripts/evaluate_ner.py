"""Measure trained recognizers on the test part of their corpora.

An entity is right where its words and its label are those of the corpus. Each model is
measured on the types of its own corpus. Beside it stands what scispaCy publishes.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Optional

import spacy
from spacy.language import Language
from spacy.training import Corpus, Example

PUBLISHED = {
    "bc5cdr": {
        "model": "en_ner_bc5cdr_md",
        "f": 0.8428,
        "source": "https://allenai.github.io/scispacy/ (0.5.4, table of NER models); "
        "trained on the same train part, stopped on devel, measured on test",
    }
}
FIGURES = ("p", "r", "f")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="JSON file")
    parser.add_argument(
        "--corpus",
        nargs=3,
        action="append",
        required=True,
        metavar=("NAME", "FOLDER", "TEST"),
        help="name, folder of the trained model, .spacy file of the test part",
    )
    args = parser.parse_args()
    found: dict[str, Any] = {}
    try:
        for name, folder, test in args.corpus:
            found[name] = measure_folder(Path(folder), Path(test))
            if name in PUBLISHED:
                found[name]["published"] = PUBLISHED[name]
            print(describe(name, found[name]))
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(found, indent=2) + "\n", "utf8")
    return 0


def measure_folder(folder: Path, test: Path) -> dict[str, Any]:
    """The figures of the best model of a training folder, with its run.json."""
    if not test.is_file():
        raise FileNotFoundError(f"{test} is missing: run `ner-corpus` first")
    nlp = spacy.load(folder / "model-best")
    run = json.loads((folder / "run.json").read_text("utf8"))
    # A Corpus keeps the tokens of files whose spaces are unknown, as ours are.
    return {**measure(nlp, list(Corpus(test)(nlp))), "run": run}


def measure(nlp: Language, examples: list[Example]) -> dict[str, Any]:
    """Precision, recall and F1 of all entities and of each label."""
    scores = nlp.evaluate(examples)
    labels = [ent.label_ for example in examples for ent in example.reference.ents]
    return {
        **{name: rounded(scores.get(f"ents_{name}")) for name in FIGURES},
        "labels": {
            label: {name: rounded(value) for name, value in figures.items()}
            for label, figures in sorted((scores.get("ents_per_type") or {}).items())
        },
        "entities": len(labels),
        "docs": len(examples),
        "tokens": sum(len(example.reference) for example in examples),
    }


def rounded(value: Optional[float]) -> Optional[float]:
    """A figure with four digits; None where neither side has an entity."""
    return None if value is None else round(value, 4)


def shown(value: Optional[float]) -> str:
    return "none" if value is None else f"{value:.3f}"


def describe(name: str, found: dict[str, Any]) -> str:
    """The figures as lines of text."""
    rows = [("all", found), *found["labels"].items()]
    lines = [f"{name}: {found['entities']} entities of the test part"]
    for label, row in rows:
        figures = "  ".join(f"{name.upper()} {shown(row[name])}" for name in FIGURES)
        lines.append(f"  {label:10} {figures}")
    if "published" in found:
        published = found["published"]
        lines.append(f"  {published['model']}, published: F {published['f']:.3f}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
