"""Train an entity recognizer with a config of this project and note what it took.

The config is one of `spacy train`: configs/ner_cnn.cfg or configs/ner_trf.cfg. Beside
the model (`model-best`) it writes run.json: sizes, minutes, command.
"""

import argparse
import json
import os

# Two threads that wait for each other cost more than one on matrices of this size. It
# is read when numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config, registry
from thinc.api import NumpyOps, set_current_ops

from spacy_mcse.transformer_model import find_model


@registry.callbacks("spacy-mcse-train.freeze_embeddings.v1")
def make_freeze_embeddings() -> Callable[[Language], None]:
    """Leave a transformer's word pieces as they are, and train its layers.

    They are half of a small model, and what the optimizer spends on them (as long as on
    the layers, on a CPU) buys nothing: most of them are in no sentence of the corpus.
    """
    return freeze_embeddings


def freeze_embeddings(nlp: Language) -> None:
    for _, component in nlp.pipeline:
        model = getattr(component, "model", None)
        for node in model.walk() if model is not None else ():
            for shim in node.shims:
                found = getattr(shim, "_hfmodel", None)
                if found is not None:
                    found.transformer.embeddings.requires_grad_(False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", type=Path, help="config of `spacy train`")
    parser.add_argument("output", type=Path, help="folder for the model and run.json")
    parser.add_argument("--train", type=Path, required=True, help=".spacy file")
    parser.add_argument("--dev", type=Path, required=True, help=".spacy file")
    parser.add_argument("--vectors", type=Path, help="pipeline with word vectors")
    parser.add_argument("--encoder", help="'package:NAME', a path, or a hub model")
    parser.add_argument("--max-steps", type=int, default=0, help="0: of the config")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    try:
        overrides = choose_overrides(args, load_config(args.config))
        config = load_config(args.config, overrides=overrides)
    except (OSError, ImportError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    started, started_cpu = time.perf_counter(), time.process_time()
    # numpy's own matrix product is three times as fast here as spaCy's default.
    set_current_ops(NumpyOps(use_blis=False))
    nlp = init_nlp(config)
    args.output.mkdir(parents=True, exist_ok=True)
    train(nlp, args.output)
    run = {
        "config": args.config.name,
        "train": count(args.train),
        "dev": count(args.dev),
        "seed": args.seed,
        "minutes": round((time.perf_counter() - started) / 60, 1),
        "processor_minutes": round((time.process_time() - started_cpu) / 60, 1),
        "cores": os.cpu_count(),
        "command": shlex.join(["python", *sys.argv]),
    }
    (args.output / "run.json").write_text(json.dumps(run, indent=2) + "\n", "utf8")
    print(json.dumps(run))
    return 0


def choose_overrides(args: argparse.Namespace, config: Any) -> dict[str, Any]:
    """What to set in the config: only what it has a place for.

    RAISES (OSError): Where a file or the encoder is not there.
    RAISES (ImportError): Where the encoder's package is not installed.
    """
    for path in (args.train, args.dev):
        if not path.is_file():
            raise FileNotFoundError(f"{path} is missing: run `ner-corpus` first")
    overrides = {
        "paths.train": str(args.train),
        "paths.dev": str(args.dev),
        "system.seed": args.seed,
    }
    if "vectors" in config.get("paths", {}) and args.vectors is not None:
        overrides["paths.vectors"] = str(args.vectors)
    if "encoder" in config.get("vars", {}):
        name = args.encoder or config["vars"]["encoder"]
        overrides["vars.encoder"] = str(find_model(name))
    if args.max_steps:
        overrides["vars.max_steps"] = args.max_steps
    return overrides


def count(path: Path) -> dict[str, int]:
    """How many Docs and tokens a .spacy file holds."""
    store = DocBin().from_disk(path)
    lengths = [len(tokens) for tokens in store.tokens]
    return {"docs": len(lengths), "tokens": sum(lengths)}


if __name__ == "__main__":
    sys.exit(main())
