"""Names that the public contract pins, written down apart from the package."""

# Attributes of `span._`.
SPAN_GETTERS = (
    "assertion",
    "negated",
    "cue",
    "attributes",
    "mcse_text",
    "concept",
    "denies",
)
