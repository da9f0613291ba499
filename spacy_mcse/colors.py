"""Colours of the labels in displaCy, by the `spacy_displacy_colors` entry point."""

COLORS = {
    "FINDING": "#f4a259",
    "ANATOMY": "#8cb369",
    "DEVICE": "#a3b4c9",
    "PROCEDURE": "#bc96e6",
    "CHEMICAL": "#5b8e7d",
    "OTHER": "#dddddd",
    "NORMAL": "#bfe3c0",
}
