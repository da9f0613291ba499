"""Tiny pipelines in place of scispaCy's, which tests cannot fetch.

They have the components, listeners, architectures, labels and settings (some written as
strings) of the released configs; few and narrow layers; word vectors that all three
share, of one name; and, where scispaCy is installed, its tokenizer. Trained in seconds
on sentences in our own words, they find what the sentences name, and little else.
"""

import json
import random
import re
import tarfile
import warnings
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed, is_package, load_model
from spacy.vectors import Vectors
from thinc.api import Config

from spacy_mcse.pipelines import BASES
from spacy_mcse.static_encoder import StaticEncoder

CORE, BC5CDR, BIONLP13CG = "en_core_sci_md", "en_ner_bc5cdr_md", "en_ner_bionlp13cg_md"
VECTORS_NAME = "en_core_sci_md.vectors"
PIPELINE = ["tok2vec", "tagger", "attribute_ruler", "lemmatizer", "parser", "ner"]

CONFIG = """
[nlp]
lang = "en"
pipeline = ["tok2vec","tagger","attribute_ruler","lemmatizer","parser"]
tokenizer = {"@tokenizers":"spacy.Tokenizer.v1"}
vectors = {"@vectors":"spacy.Vectors.v1"}

[vars]
include_static_vectors = true

[components]

[components.attribute_ruler]
source = "BASE"

[components.lemmatizer]
source = "BASE"

[components.parser]
factory = "parser"
min_action_freq = 1

[components.parser.model]
@architectures = "spacy.TransitionBasedParser.v2"
state_type = "parser"
extra_state_tokens = false
hidden_width = 24
maxout_pieces = 2
use_upper = true
nO = null

[components.parser.model.tok2vec]
@architectures = "spacy.Tok2VecListener.v1"
width = 24
upstream = "*"

[components.tagger]
factory = "tagger"

[components.tagger.model]
@architectures = "spacy.Tagger.v2"
nO = null
normalize = false

[components.tagger.model.tok2vec]
@architectures = "spacy.Tok2VecListener.v1"
width = 24
upstream = "*"

[components.tok2vec]
factory = "tok2vec"

[components.tok2vec.model]
@architectures = "spacy.Tok2Vec.v2"

[components.tok2vec.model.embed]
@architectures = "spacy.MultiHashEmbed.v2"
width = 24
attrs = ["NORM","PREFIX","SUFFIX","SHAPE","SPACY","IS_SPACE"]
rows = [400,200,200,200,50,50]
include_static_vectors = true

[components.tok2vec.model.encode]
@architectures = "spacy.MaxoutWindowEncoder.v2"
width = 24
depth = 1
window_size = 1
maxout_pieces = 2

[ner]
factory = "ner"

[ner.model]
@architectures = "spacy.TransitionBasedParser.v2"
state_type = "ner"
extra_state_tokens = false
hidden_width = 24
maxout_pieces = 2
use_upper = true
nO = null

[ner.model.tok2vec]
@architectures = "spacy.Tok2Vec.v2"

[ner.model.tok2vec.embed]
@architectures = "spacy.MultiHashEmbed.v2"
width = 24
attrs = ["NORM","PREFIX","SUFFIX","SHAPE","SPACY"]
rows = [400,200,200,200,50]
include_static_vectors = ${vars.include_static_vectors}

[ner.model.tok2vec.encode]
@architectures = "spacy.MaxoutWindowEncoder.v2"
width = 24
depth = 1
window_size = 1
maxout_pieces = 2
"""

# [words] are an ENTITY of the core pipeline, {words} a DISEASE and <words> a CHEMICAL
# of BC5CDR; brackets of both kinds may cover each other.
REPORTS = (
    "There is a [small left {pleural effusion}].",
    "[Mild {pulmonary edema}] is seen.",
    "No [{pneumothorax}] is seen.",
    "There is no [focal consolidation] or [{pneumonia}].",
    "[Moderate {cardiomegaly}] is unchanged.",
    "The [heart] is enlarged.",
    "The [lungs] are clear.",
    "[Patchy opacity] may be [{atelectasis}].",
    "The [right lung base] is clear.",
    "There is a [large right {pleural effusion}].",
    "[<Amiodarone>] may cause [{pulmonary fibrosis}].",
    "No [{pleural effusion}] or [{pneumothorax}].",
    "[Severe {emphysema}] with [<oxygen>] at home.",
    "An [endotracheal tube] is in place.",
    "No evidence of [acute {pneumonia}].",
)
# One phrase of each label of BioNLP13CG.
CANCER_GENETICS = {
    "AMINO_ACID": "glycine",
    "ANATOMICAL_SYSTEM": "immune system",
    "CANCER": "adenocarcinoma",
    "CELL": "macrophages",
    "CELLULAR_COMPONENT": "membrane",
    "DEVELOPING_ANATOMICAL_STRUCTURE": "embryo",
    "GENE_OR_GENE_PRODUCT": "EGFR",
    "IMMATERIAL_ANATOMICAL_ENTITY": "pleural space",
    "MULTI_TISSUE_STRUCTURE": "pleura",
    "ORGAN": "lung",
    "ORGANISM": "patient",
    "ORGANISM_SUBDIVISION": "chest",
    "ORGANISM_SUBSTANCE": "blood",
    "PATHOLOGICAL_FORMATION": "nodule",
    "SIMPLE_CHEMICAL": "oxygen",
    "TISSUE": "epithelium",
}
_OPENING = {"[": ("ENTITY", "]"), "{": ("DISEASE", "}"), "<": ("CHEMICAL", ">")}
_BRACKETS = re.compile(r"[\[\]{}<>]")
_Marked = tuple[str, list[tuple[int, int, str]]]


def make_standins(folder: Path) -> dict[str, Path]:
    """Train the three pipelines and save them as scispaCy's are released.

    folder (Path): Where they go.
    RETURNS (dict[str, Path]): The archive of each by its name.
    """
    with warnings.catch_warnings():
        # Of scispaCy's patterns, and of vectors that come after sourced components.
        warnings.simplefilter("ignore")
        return _make_standins(folder)


def _make_standins(folder: Path) -> dict[str, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    core = [unmarked(text, {"ENTITY"}) for text in REPORTS]
    bc5cdr = [unmarked(text, {"DISEASE", "CHEMICAL"}) for text in REPORTS]
    genetics = [
        (f"The {phrase} is seen.", [(4, 4 + len(phrase), label)])
        for label, phrase in CANCER_GENETICS.items()
    ]
    texts = [text for text, _ in (*core, *genetics)]
    # Two at a time, from which the parser learns where a sentence ends.
    shared = make_shared([*texts, *map(" ".join, pairwise(texts))])
    shared.to_disk(folder / "shared")
    made = {}
    # Of the third only the vectors are used: what it finds does not matter.
    for name, marked, rounds in (
        (CORE, core, 25),
        (BC5CDR, bc5cdr, 25),
        (BIONLP13CG, genetics, 2),
    ):
        nlp = load_model(folder / "shared")
        add_ner(nlp, marked, rounds)
        nlp.meta["name"] = name.removeprefix("en_")
        nlp.meta["version"] = "0.5.4"
        made[name] = release(nlp, folder / name)
    return made


def release(nlp: Language, folder: Path) -> Path:
    """An archive like scispaCy's of release 0.5.4, which spaCy 3.8 may not load as is.

    nlp (Language): The pipeline, with its name and version.
    folder (Path): A folder that does not exist yet.
    RETURNS (Path): The archive.
    """
    name = f"{nlp.lang}_{nlp.meta['name']}"
    version = f"{name}-{nlp.meta['version']}"
    package = folder / version / name
    package.mkdir(parents=True)
    nlp.to_disk(package / version)
    config = (package / version / "config.cfg").read_text("utf8")
    for setting, value in (("include_static_vectors", True), ("normalize", False)):
        before, after = f"{setting} = {str(value).lower()}", f'{setting} = "{value}"'
        assert before in config
        config = config.replace(before, after)
    (package / version / "config.cfg").write_text(config, "utf8")
    meta = json.loads((package / version / "meta.json").read_text("utf8"))
    meta["spacy_version"] = ">=3.7.4,<3.8.0"
    for path in (package, package / version):
        (path / "meta.json").write_text(json.dumps(meta), "utf8")
    archive = folder / f"{version}.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(folder / version, arcname=version)
    return archive


def unmarked(text: str, labels: set[str]) -> _Marked:
    """A text without its brackets, and the offsets of what those of `labels` hold."""
    plain, spans = "", []
    opened: dict[str, int] = {}
    for part in re.split(f"({_BRACKETS.pattern})", text):
        if part in _OPENING:
            opened[_OPENING[part][1]] = len(plain)
        elif part in opened:
            label = next(name for name, end in _OPENING.values() if end == part)
            if label in labels:
                spans.append((opened[part], len(plain), label))
        else:
            plain += part
    return plain, spans


def make_shared(texts: Sequence[str]) -> Language:
    """Tokenizer, vectors, tok2vec, tagger, lemmas and parser, which all three have.

    Trained on what spaCy's small English pipeline says of the texts.
    """
    fix_random_seed(0)
    base = next(name for name in BASES if is_package(name))
    teacher = load_model(base)
    config = Config().from_str(CONFIG.replace("BASE", base))
    del config["ner"]
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    use_tokenizer(nlp)
    words = {token.text for text in texts for token in nlp.make_doc(text)}
    words = sorted(words | {word.lower() for word in words})
    rows = StaticEncoder().encode(words)
    nlp.vocab.vectors = Vectors(
        strings=nlp.vocab.strings, data=rows, keys=words, name=VECTORS_NAME
    )
    examples = []
    for text in texts:
        doc = nlp.make_doc(text)
        taught = Doc(
            teacher.vocab,
            words=[token.text for token in doc],
            spaces=[bool(token.whitespace_) for token in doc],
        )
        for _, pipe in teacher.pipeline:
            taught = pipe(taught)
        annotations = {
            "heads": [token.head.i for token in taught],
            "deps": [token.dep_ for token in taught],
            "tags": [token.tag_ for token in taught],
        }
        examples.append(Example.from_dict(doc, annotations))
    train(nlp, ["tok2vec", "tagger", "parser"], examples, rounds=15)
    return nlp


def add_ner(nlp: Language, marked: Sequence[_Marked], rounds: int) -> None:
    """Add and train the recognizer, whose tok2vec is its own."""
    fix_random_seed(0)
    block = Config().from_str(CONFIG).interpolate()["ner"]
    nlp.add_pipe("ner", config={"model": block["model"]})
    examples = [
        Example.from_dict(nlp.make_doc(text), {"entities": spans})
        for text, spans in marked
    ]
    train(nlp, ["ner"], examples, rounds)


def use_tokenizer(nlp: Language) -> None:
    try:
        from scispacy.custom_tokenizer import combined_rule_tokenizer
    except ImportError:
        return
    nlp.tokenizer = combined_rule_tokenizer(nlp)


def train(
    nlp: Language, names: Sequence[str], examples: list[Example], rounds: int
) -> None:
    order = random.Random(0)
    examples = list(examples)
    with nlp.select_pipes(enable=list(names)):
        optimizer = nlp.initialize(lambda: examples)
        optimizer.learn_rate = 0.01
        for _ in range(rounds):
            order.shuffle(examples)
            nlp.update(examples, sgd=optimizer, drop=0.1)
