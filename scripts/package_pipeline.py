"""Build the wheel of a pipeline, with its weights, licences and model card.

    python scripts/package_pipeline.py en_mcse_cxr_sm packages --metrics metrics/x.json

The pipeline is assembled from the config in spacy_mcse, whatever package of its name is
installed, saved, described and packaged by spaCy.
"""

import argparse
import json
import re
import shutil
import sys
from importlib.metadata import requires
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import srsly
from spacy.cli.package import package
from spacy.language import Language
from spacy.util import get_model_meta, get_package_path, is_package

from spacy_mcse.pipelines import ASSEMBLED, BASES, assemble
from spacy_mcse.signature import package_version

# Where PYTHONSAFEPATH is set, a script does not see the modules beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent))
from model_card import Figures, model_card
from pipeline_parts import AUTHOR, DESCRIPTIONS, LICENSES, PARTS, license_texts
from wheels import build_wheel, missing_tools

ROOT = Path(__file__).resolve().parent.parent
# What `spacy package` puts beside the setup.py, and setuptools into the wheel.
CARD, LICENSE, SOURCES = "README.md", "LICENSE", "LICENSES_SOURCES"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=ASSEMBLED, help="the pipeline")
    parser.add_argument("output", type=Path, help="folder for the wheel")
    parser.add_argument(
        "--metrics",
        nargs="*",
        type=Path,
        default=[],
        help="JSON files with figures for meta and card; a missing one is left out",
    )
    parser.add_argument(
        "--root", type=Path, default=ROOT, help="of README and licences"
    )
    args = parser.parse_args()
    problem = missing_tools()
    if problem:
        print(problem, file=sys.stderr)
        return 1
    try:
        with TemporaryDirectory() as temporary:
            folder = Path(temporary)
            figures = read_figures(args.metrics, args.root)
            write_pipeline(assemble(args.name), folder / "pipeline", figures, args.root)
            wheel = build(folder / "pipeline", folder / "package", args.output)
    except (OSError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Built {wheel}")
    return 0


def read_figures(paths: list[Path], root: Path) -> list[Figures]:
    """The files that are there, with the command that writes each."""
    project = root / "project.yml"
    commands = srsly.read_yaml(project)["commands"] if project.is_file() else []
    makers = {
        Path(output): command["name"]
        for command in commands
        for kind in ("outputs", "outputs_no_cache")
        for output in command.get(kind, ())
    }
    return [
        Figures(path.as_posix(), makers.get(path), json.loads(path.read_text("utf8")))
        for path in paths
        if path.is_file()
    ]


def write_pipeline(
    nlp: Language, folder: Path, figures: list[Figures], root: Path
) -> None:
    """Save a pipeline with complete meta, model card and licences."""
    name = f"{nlp.meta['lang']}_{nlp.meta['name']}"
    nlp.to_disk(folder)
    meta = complete_meta(srsly.read_json(folder / "meta.json"), name, figures)
    srsly.write_json(folder / "meta.json", meta)
    readme = (root / "README.md").read_text("utf8")
    card = model_card(meta, readme, figures, package_version())
    (folder / CARD).write_text(card, "utf8")
    shutil.copy(root / "LICENSE", folder / LICENSE)
    texts = license_texts(name, root / "LICENSES")
    (folder / SOURCES).write_text(texts, "utf8")


def complete_meta(
    meta: dict[str, Any], name: str, figures: list[Figures]
) -> dict[str, Any]:
    """The meta of a saved pipeline with what only we know of it."""
    # Of the pipeline that parts were copied from.
    meta.pop("_sourced_vectors_hashes", None)
    meta["description"] = DESCRIPTIONS[name]
    meta["author"] = AUTHOR
    meta["license"] = LICENSES[name]
    # Not the version that happens to be installed here, as spaCy has it.
    meta["spacy_version"] = spacy_requirement()
    meta["sources"] = [
        {key: value for key, value in part.items() if key != "text"}
        for part in PARTS[name]
    ]
    base = next(base for base in BASES if is_package(base))
    for source in get_model_meta(get_package_path(base)).get("sources") or ():
        used = "the small English pipeline was trained on it, or refers to it"
        meta["sources"].append({**source, "used": used})
    performance = {
        Path(found.path).stem: without_cases(found.data) for found in figures
    }
    if performance:
        meta["performance"] = performance
    return meta


def without_cases(data: Any) -> Any:
    """Figures without lists that hold single cases; intervals stay."""
    if not isinstance(data, dict):
        return data
    return {
        key: without_cases(value)
        for key, value in data.items()
        if not isinstance(value, list)
        or all(isinstance(item, (int, float)) for item in value)
    }


def spacy_requirement() -> str:
    """The versions of spaCy that spacy_mcse works with."""
    for line in requires("spacy-mcse") or ():
        found = re.fullmatch(r"spacy\s*\(?([<>=!~][^;()]*)\)?", line)
        if found:
            return found[1].strip()
    raise ValueError("spacy-mcse does not name the versions of spaCy that it needs")


def build(pipeline: Path, folder: Path, output: Path) -> Path:
    """Package a saved pipeline with spaCy, then build the wheel without a download."""
    folder.mkdir()
    package(pipeline, folder, create_sdist=False, require_parent=True)
    source = next(folder.iterdir())
    return build_wheel(source, output, source.name.rpartition("-")[0])


if __name__ == "__main__":
    sys.exit(main())
