"""Clinical entities of radiology reports in spaCy, and scores of generated reports."""

from .corpus import CorpusScore, score, score_corpus
from .embedder import attach_similarity
from .extensions import install_extensions
from .pipelines import load
from .results import MCSEScore
from .signature import package_version

__version__ = package_version()
__all__ = [
    "CorpusScore",
    "MCSEScore",
    "__version__",
    "attach_similarity",
    "load",
    "score",
    "score_corpus",
]

install_extensions()
