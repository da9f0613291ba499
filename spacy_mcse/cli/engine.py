"""What runs the pipeline of a command."""

import logging
from contextlib import suppress
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..corpus import check_processes
from ..errors import Errors
from .terminal import UsageError

ENGINES = ("serial", "ray")

logger = logging.getLogger(__name__)


def load_pipeline(name: str) -> Language:
    """Load the pipeline of a command; a Doc that fails is left out and logged."""
    from ..pipelines import load

    try:
        nlp: Language = load(name)
    except (ValueError, OSError, ImportError) as error:
        raise UsageError(str(error)) from error
    # Not `nlp.set_error_handler`: the parser and the recognizer of spaCy 3.8 have no
    # place for a handler, and it stops at the first of them.
    nlp.default_error_handler = drop_failed
    for _, component in nlp.pipeline:
        if hasattr(component, "set_error_handler"):
            with suppress(AttributeError):
                component.set_error_handler(drop_failed)
    return nlp


def drop_failed(name: str, component: Any, docs: list[Doc], error: Exception) -> None:
    """Error handler for `nlp.pipe`: the row fails, the run goes on.

    The error is named by type only: its message may quote the report.
    """
    kind = type(error).__name__
    logger.warning("'%s' failed on %d documents: %s", name, len(docs), kind)


def check_engine(name: str, n_process: int) -> None:
    if name not in ENGINES:
        raise UsageError(Errors.E811.format(name=name, allowed=", ".join(ENGINES)))
    if name == "ray":
        raise UsageError(Errors.E812.format(name=name, package="ray", extra="ray"))
    try:
        check_processes(n_process)
    except ValueError as error:
        raise UsageError(str(error)) from error
