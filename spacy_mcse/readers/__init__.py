"""Readers of reports, annotation and labels in the formats they are published in.

All of them stream: a file is never in memory as a whole. Wrong data is a `ValueError`
that names the file and the line, or the keys, and quotes no text of a report.
"""

from .chexpert import CHEXPERT_LABELS, LabelRow, read_labels
from .mimic import read_mimic_reports
from .openi import read_openi
from .radgraph import AnnotatedReport, Observation, read_radgraph
from .reports import Report

__all__ = [
    "CHEXPERT_LABELS",
    "AnnotatedReport",
    "LabelRow",
    "Observation",
    "Report",
    "read_labels",
    "read_mimic_reports",
    "read_openi",
    "read_radgraph",
]
