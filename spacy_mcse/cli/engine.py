"""What runs the pipeline of a command."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Optional

from spacy.language import Language
from spacy.tokens import Doc

from ..corpus import check_processes
from ..errors import Errors
from .terminal import UsageError

ENGINES, PLANNED = ("serial",), ("ray",)

logger = logging.getLogger(__name__)


def load_pipeline(name: str) -> Language:
    """Load the pipeline of a command."""
    from ..pipelines import load

    with usage_errors():
        nlp: Language = load(name)
    return nlp


@contextmanager
def usage_errors() -> Iterator[None]:
    """Errors in here are wrong usage: for what runs before any report is read."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        raise UsageError(str(error)) from error


def go_on_after_errors(nlp: Language) -> None:
    """Let the pipeline leave out and log a Doc that fails.

    To be called once the pipeline has run on an empty text: what fails on every Doc (a
    model that is missing) would pass for as many bad rows.
    """
    # Not `nlp.set_error_handler`: the parser and the recognizer of spaCy 3.8 have no
    # place for a handler, and it stops at the first of them.
    nlp.default_error_handler = drop_failed
    for _, component in nlp.pipeline:
        if hasattr(component, "set_error_handler"):
            with suppress(AttributeError):
                component.set_error_handler(drop_failed)


def drop_failed(
    name: Optional[str],
    component: Any,
    docs: Optional[Sequence[Doc]],
    error: Exception,
) -> None:
    """Error handler for `nlp.pipe`: the row fails, the run goes on.

    The error is named by type only: its message may quote the report. Of a batch that
    failed in a worker process spaCy tells neither the component nor the documents.
    """
    where = f"'{name}'" if name else "A worker process"
    what = f"{len(docs)} documents" if docs else "a batch"
    logger.warning("%s failed on %s: %s", where, what, type(error).__name__)


def check_engine(name: str, n_process: int) -> None:
    if name not in ENGINES:
        error = Errors.E812 if name in PLANNED else Errors.E811
        raise UsageError(error.format(name=name, allowed=", ".join(ENGINES)))
    with usage_errors():
        check_processes(n_process)
