"""The attributes `doc._` and `span._`: getters over what `data.py` stores.

Getters are module-level functions: workers under spawn pickle them.
"""

import warnings
from collections.abc import Callable
from typing import Any, Optional

from spacy.tokens import Doc, Span

from .data import ABSENT, CLINICAL_KEY, NORMAL_KEY, span_record, stored_spans
from .errors import Warnings


def get_clinical_entities(doc: Doc) -> list[Span]:
    return stored_spans(doc, CLINICAL_KEY)


def get_normal_statements(doc: Doc) -> list[Span]:
    return stored_spans(doc, NORMAL_KEY)


def get_dropped_entities(doc: Doc) -> list[dict[str, Any]]:
    if CLINICAL_KEY not in doc.spans:
        return []
    return list(doc.spans[CLINICAL_KEY].attrs.get("dropped", ()))


def get_assertion(span: Span) -> Optional[str]:
    return span_record(span).get("assertion")


def get_negated(span: Span) -> bool:
    return get_assertion(span) == ABSENT


def get_cue(span: Span) -> Optional[dict[str, Any]]:
    return span_record(span).get("cue")


def get_attributes(span: Span) -> dict[str, list[dict[str, Any]]]:
    return span_record(span).get("attributes", {})


def get_mcse_text(span: Span) -> str:
    return span_record(span).get("mcse_text", "")


def get_concept(span: Span) -> str:
    return span_record(span).get("concept", "")


def get_denies(span: Span) -> list[str]:
    return list(span_record(span).get("denies", ()))


DOC_GETTERS = {
    "clinical_entities": get_clinical_entities,
    "normal_statements": get_normal_statements,
    "dropped_entities": get_dropped_entities,
}
SPAN_GETTERS = {
    "assertion": get_assertion,
    "negated": get_negated,
    "cue": get_cue,
    "attributes": get_attributes,
    "mcse_text": get_mcse_text,
    "concept": get_concept,
    "denies": get_denies,
}


def install_extensions() -> None:
    """Register the getters on Doc and Span once; never replace another package's."""
    for target, getters in ((Doc, DOC_GETTERS), (Span, SPAN_GETTERS)):
        for name, getter in getters.items():
            install_extension(target, name, getter=getter)


def install_extension(
    target: Any,
    name: str,
    *,
    getter: Optional[Callable[..., Any]] = None,
    method: Optional[Callable[..., Any]] = None,
) -> None:
    """Register a getter or a method once; warn where another package has the name."""
    if not target.has_extension(name):
        target.set_extension(name, getter=getter, method=method)
    elif target.get_extension(name)[1:3] != (method, getter):
        warnings.warn(Warnings.W201.format(name=name), stacklevel=3)
