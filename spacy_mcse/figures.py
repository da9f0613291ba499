"""Figures, drawn with matplotlib (extra `eval`), which is imported when they are."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Optional

import numpy as np

from .calibration import KINDS, Measurement

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .unit_vectors import FloatArray

# Distinct for the colour-blind and in grey.
COLORS = ("#b2561a", "#1f6f8b")
BINS = 25
# As in the figure of the paper: blue for the same labels, orange for others.
DOT_COLORS = ("#1f6fb4", "#e8871e")
LINE_COLOR = "#c0392b"
POINT_COLORS = ("0.45", "#b2561a", "#1f6f8b")
MARKERS = ("s", "o", "D")


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
    return _png(figure)


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


class Dots(NamedTuple):
    """Means of groups of reports that agree, and of those that contrast.

    title (str): What was measured.
    means (dict): Name of a score to (agree, contrast) of each group, None for none.
    """

    title: str
    means: dict[str, list[tuple[Optional[float], Optional[float]]]]


class Bars(NamedTuple):
    """Values of several scores, with intervals.

    title (str): What was measured.
    rows (list[str]): Names of the rows, from above.
    values (dict): Name of a score to (value, low, high) of each row, None for none.
    """

    title: str
    rows: list[str]
    values: dict[str, list[Optional[tuple[float, float, float]]]]


def label_check_png(checks: Sequence[Dots], line: float) -> bytes:
    """Draw the two-fold label check: a row for each check, a column for each score.

    checks (Sequence[Dots]): The checks, all with the same scores.
    line (float): Where the line is that should part the groups.
    RETURNS (bytes): A PNG image, the same for the same means.
    RAISES (ImportError): Where matplotlib is not installed.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    columns = list(checks[0].means)
    size = (4.4 * len(columns), 2.3 * len(checks) + 0.8)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(checks), len(columns), sharey=True, squeeze=False)
    for check, axes_of_check in zip(checks, grid, strict=True):
        for score, axes in zip(columns, axes_of_check, strict=True):
            means = sorted(check.means[score], key=lambda pair: _order(pair[0]))
            for at, color in enumerate(DOT_COLORS):
                values = [(x, pair[at]) for x, pair in enumerate(means, 1)]
                known = [(float(x), y) for x, y in values if y is not None]
                axes.plot(*_columns(known), "o", color=color, ms=4)
            axes.axhline(line, color=LINE_COLOR, linewidth=1.2)
            axes.set_ylim(-0.04, 1.04)
            axes.set_xlim(0, len(means) + 1)
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.set_title(f"{check.title}: {score}", fontsize=9)
            axes.spines[["top", "right"]].set_visible(False)
        axes_of_check[0].set_ylabel("mean score of the group")
    for axes in grid[-1]:
        axes.set_xlabel("group, by its mean for the same labels")
    same, contrast = (
        Line2D([], [], linestyle="", marker="o", color=color) for color in DOT_COLORS
    )
    figure.legend(
        [same, contrast, Line2D([], [], color=LINE_COLOR)],
        ["same labels", "contrasting labels", f"line at {line:.2f}"],
        loc="outside upper center",
        ncols=3,
        frameon=False,
        fontsize=9,
    )
    return _png(figure)


def _order(mean: Optional[float]) -> float:
    return 2.0 if mean is None else mean


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def systems_png(tables: Sequence[Bars], correlation: Optional[Bars] = None) -> bytes:
    """Draw tables of systems, and correlations of scores with other metrics.

    tables (Sequence[Bars]): A table for each set of references.
    correlation (Optional[Bars]): Correlations, a row for each metric.
    RETURNS (bytes): A PNG image, the same for the same values.
    RAISES (ImportError): Where matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    panels = [*tables, *([correlation] if correlation else [])]
    heights = [0.34 * len(panel.rows) + 0.6 for panel in panels]
    figure = Figure(figsize=(7.4, sum(heights) + 0.4), layout="constrained")
    grid = figure.subplots(
        len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for panel, axes in zip(panels, grid[:, 0], strict=True):
        _points(axes, panel)
        lowest = -1.0 if panel is correlation else 0.0
        axes.set_xlim(lowest - 0.02, 1.02)
        axes.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside upper center",
        ncols=len(labels),
        frameon=False,
        fontsize=9,
    )
    return _png(figure)


def _points(axes: "Axes", panel: Bars) -> None:
    """A line for each row, with the values of all scores and their intervals."""
    offsets = np.linspace(-0.22, 0.22, len(panel.values))
    for offset, color, marker, (score, values) in zip(
        offsets, POINT_COLORS, MARKERS, panel.values.items(), strict=False
    ):
        for row, found in enumerate(values):
            if found is None:
                continue
            _, low, high = found
            axes.plot([low, high], [row + offset] * 2, color=color, linewidth=1.2)
        known = [(v[0], r + offset) for r, v in enumerate(values) if v is not None]
        axes.plot(*_columns(known), marker, color=color, ms=5, label=score)
    axes.set_yticks(range(len(panel.rows)), panel.rows, fontsize=8)
    axes.invert_yaxis()
    axes.set_title(panel.title, fontsize=9, loc="left")
    axes.grid(axis="y", color="0.93")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _png(figure: "Figure") -> bytes:
    buffer = io.BytesIO()
    # The version of matplotlib would be in the file.
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return buffer.getvalue()
