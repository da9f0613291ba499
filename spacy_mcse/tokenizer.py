"""spaCy's English tokenizer with cuts for run-on report text: "fracture.2.Small"."""

from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.util import compile_infix_regex, registry

# A full stop or bracket between a word and the next sentence or list number.
_RUN_ON = (
    r"(?<=[A-Za-z]{3})[.)](?=[A-Z0-9])",
    r"(?<=[0-9])[.)](?=[A-Za-z]{2})",
    r"(?<=[A-Za-z]{3})[;,](?=[A-Za-z])",
)


class _MakeTokenizer:
    """Build the tokenizer for a pipeline; a class, so that it can be pickled."""

    def __call__(self, nlp: Language) -> Tokenizer:
        make_default = registry.tokenizers.get("spacy.Tokenizer.v1")()
        tokenizer = make_default(nlp)
        infixes = [*(nlp.Defaults.infixes or ()), *_RUN_ON]
        tokenizer.infix_finditer = compile_infix_regex(infixes).finditer
        return tokenizer


def make_report_tokenizer() -> _MakeTokenizer:
    """Make the tokenizer `spacy-mcse.ReportTokenizer.v1`.

    RETURNS (Callable[[Language], Tokenizer]): As spaCy's own, for `[nlp.tokenizer]`.
    """
    return _MakeTokenizer()
