"""Figures, drawn with matplotlib (extra `eval`), which is imported when they are."""

import io
from typing import TYPE_CHECKING

import numpy as np

from .calibration import KINDS, Measurement

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .unit_vectors import FloatArray

# Distinct for the colour-blind and in grey.
COLORS = ("#b2561a", "#1f6f8b")
BINS = 25


def calibration_png(measured: Measurement, title: str) -> bytes:
    """Draw the cosines of unrelated pairs and synonyms before and after calibration.

    measured (Measurement): The cosines.
    title (str): What was measured.
    RETURNS (bytes): A PNG image, the same for the same cosines.
    RAISES (ImportError): Where matplotlib is not installed.
    """
    # No pyplot: it keeps figures and chooses a window system.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 2.9), layout="constrained")
    before, after = figure.subplots(1, 2)
    cosines = (measured.unrelated, measured.synonym)
    lowest = min(0.0, *(float(values.min()) for values in cosines))
    _histograms(before, cosines, (lowest, 1.0))
    before.margins(y=0.15)  # room for the names of the lines
    before.set_xlabel("raw cosine")
    before.set_ylabel("share of the pairs")
    for value, name in zip(measured.calibration, ("floor", "ceiling"), strict=True):
        before.axvline(value, color="0.25", linestyle="--", linewidth=1)
        before.annotate(
            f"{name} {value:.2f}",
            (value, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, -2),
            textcoords="offset points",
            va="top",
            fontsize=8,
        )
    _histograms(after, measured.similarities, (0.0, 1.0))
    after.set_xlabel("calibrated similarity")
    after.legend(frameon=False, fontsize=9, loc="upper center")
    figure.suptitle(title, fontsize=10)
    buffer = io.BytesIO()
    # The version of matplotlib would be in the file.
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return buffer.getvalue()


def _histograms(
    axes: "Axes", values: tuple["FloatArray", "FloatArray"], limits: tuple[float, float]
) -> None:
    for kind, color, one in zip(KINDS, COLORS, values, strict=True):
        axes.hist(
            np.clip(one, *limits),
            bins=BINS,
            range=limits,
            weights=np.full(len(one), 1 / len(one)),
            color=color,
            alpha=0.65,
            label=f"{kind} ({len(one)} pairs)",
        )
    axes.spines[["top", "right"]].set_visible(False)
