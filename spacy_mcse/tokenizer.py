"""A tokenizer for report text: cuts run-on text, reads capitals like small letters."""

from typing import Any

from spacy.attrs import PREFIX, SHAPE, SUFFIX
from spacy.lang.lex_attrs import prefix, suffix, word_shape
from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.util import (
    compile_infix_regex,
    compile_prefix_regex,
    compile_suffix_regex,
    registry,
)

# A full stop or bracket between a word and the next sentence or list number.
_RUN_ON = (
    r"(?<=[A-Za-z]{3})[.)](?=[A-Z0-9])",
    r"(?<=[A-Za-z]{4})\.(?=[A-Za-z]{3})",
    r"(?<=[0-9])[.)](?=[A-Za-z]{2})",
    r"(?<=[A-Za-z]{3})[;,](?=[A-Za-z])",
)
# "<br/>" amid words, and marks of the direction of writing at the ends of words.
_TAG = r"</?[A-Za-z][A-Za-z0-9]{0,9}(?: [^<>]{0,80})?/?>"
_DIRECTIONS = r"[\u200e\u200f\u202a-\u202e\u2066-\u2069]"
_MARKED = (_DIRECTIONS, rf"(?<={_DIRECTIONS})[.,;:!?]")
# spaCy cuts "8mm" but not "8MM".
_UNITS = r"(?<=[0-9])(?:MM|CM)"
# Abbreviations of spaCy that end a sentence of a report: "Right upper lobe: Mass."
_WORDS = ("Mass.", "Ill.", "La.", "Pa.")
_SHORTEST = 4  # letters; shorter words in capitals are mostly abbreviations


class _MakeTokenizer:
    """Build the tokenizer for a pipeline; a class, so that it can be pickled."""

    def __call__(self, nlp: Language) -> Tokenizer:
        make_default = registry.tokenizers.get("spacy.Tokenizer.v1")()
        tokenizer = make_default(nlp)
        tokenizer.rules = {
            text: parts
            for text, parts in (tokenizer.rules or {}).items()
            if text not in _WORDS
        }
        infixes = [_TAG, *(nlp.Defaults.infixes or ()), *_RUN_ON]
        tokenizer.infix_finditer = compile_infix_regex(infixes).finditer
        suffixes = [_TAG, *_MARKED, *(nlp.Defaults.suffixes or ()), _UNITS]
        prefixes = [_TAG, _DIRECTIONS, *(nlp.Defaults.prefixes or ())]
        tokenizer.prefix_search = compile_prefix_regex(prefixes).search
        tokenizer.suffix_search = compile_suffix_regex(suffixes).search
        # Tagger and parser see a word by these three (and by its norm, which is in
        # small letters anyway): "EFFUSION" must be tagged like "effusion".
        vocab: Any = nlp.vocab  # spaCy's stubs leave the getters out
        vocab.lex_attr_getters[SHAPE] = plain_shape
        vocab.lex_attr_getters[PREFIX] = plain_prefix
        vocab.lex_attr_getters[SUFFIX] = plain_suffix
        return tokenizer


def make_report_tokenizer() -> _MakeTokenizer:
    """Make the tokenizer `spacy-mcse.ReportTokenizer.v1`.

    spaCy's English tokenizer with cuts in run-on text ("fracture.2.Small") and with no
    abbreviation that is a word of reports ("Mass."). In its
    vocabulary the shape, prefix and suffix of a word in capitals are those of the same
    word in small letters, so that a report in capitals is parsed like any other.

    RETURNS (Callable[[Language], Tokenizer]): As spaCy's own, for `[nlp.tokenizer]`.
    """
    return _MakeTokenizer()


def plain_shape(text: str) -> str:
    return word_shape(_plain(text))


def plain_prefix(text: str) -> str:
    return prefix(_plain(text))


def plain_suffix(text: str) -> str:
    return suffix(_plain(text))


def _plain(text: str) -> str:
    return text.lower() if len(text) >= _SHORTEST and text.isupper() else text
