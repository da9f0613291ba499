"""The assertion that another component gave a span, in an extension such as `negex`."""

import warnings
from collections.abc import Sequence
from typing import Any, Optional

from spacy.tokens import Doc, Span

from .data import ABSENT, ASSERTIONS, PRESENT
from .errors import Errors, Warnings

# After how many Docs without a single value a user is warned.
WARN_AFTER = 100
UNDECIDED = ""


class GivenAssertion:
    """Reads what another component says of a span, in the words of this package.

    attr (str): Name of the span extension. Its value is True for absent and False for
        present (negspaCy's `negex`), one of 'present', 'absent', 'uncertain', or None
        for a span of which the component says nothing.
    component (str): Name of the component that reads it, for messages.
    RAISES (ValueError): E105 for an empty name.
    """

    def __init__(self, attr: str, component: str) -> None:
        if not attr:
            raise ValueError(
                Errors.E105.format(
                    argument="assertion_attr",
                    component=component,
                    got="empty",
                    allowed="the name of a span extension ('negex'), or null",
                )
            )
        self.attr = attr
        self.component = component
        # Documents in which no candidate had a value; None for good once one had.
        self._unset: Optional[int] = 0

    def of(self, span: Span) -> str:
        """The assertion of a span.

        span (Span): Any span; one that the other component has not seen has the
            default of the extension.
        RETURNS (str): 'present', 'absent', 'uncertain'; '' where the value is None.
        RAISES (ValueError): E108 without such an extension, E109 for another value.
        """
        self._check()
        default, _, getter, _ = Span.get_extension(self.attr)
        if getter is not None:
            value = getter(span)
        else:
            # `span._` would write a default that can be changed on the Doc.
            value = span.doc.user_data.get(self._key(span), default)
        if value is None:
            return UNDECIDED
        if isinstance(value, str) and value in ASSERTIONS:
            return value
        # numpy's bool is none of Python's; 0 and 1 are numbers, though.
        if type(value).__name__ in ("bool", "bool_"):
            return ABSENT if value else PRESENT
        kind = type(value).__name__
        raise ValueError(
            Errors.E109.format(
                component=self.component,
                attr=self.attr,
                got="another string" if kind == "str" else f"of type {kind}",
                allowed=", ".join(repr(name) for name in ASSERTIONS),
            )
        )

    def of_candidates(self, doc: Doc, spans: Sequence[Span]) -> list[str]:
        """The assertions of all candidates; warns once where none ever has any.

        doc (Doc): The Doc of the spans.
        spans (Sequence[Span]): The candidates.
        RETURNS (list[str]): What `of` gives for each.
        """
        self._check()
        found = [self.of(span) for span in spans]
        if self._unset is not None and spans:
            is_set = Span.get_extension(self.attr)[2] is not None or any(
                self._key(span) in doc.user_data for span in spans
            )
            self._unset = None if is_set else self._unset + 1
            if self._unset == WARN_AFTER:
                self._unset = None
                warnings.warn(
                    Warnings.W104.format(
                        component=self.component, attr=self.attr, n=WARN_AFTER
                    ),
                    stacklevel=5,
                )
        return found

    def _check(self) -> None:
        if not Span.has_extension(self.attr):
            raise ValueError(
                Errors.E108.format(component=self.component, attr=self.attr)
            )

    def _key(self, span: Span) -> Any:
        return "._.", self.attr, span.start_char, span.end_char
