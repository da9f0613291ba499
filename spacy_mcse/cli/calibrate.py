from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import numpy as np
import typer
from spacy.language import Language
from wasabi.tables import table

from ..calibration import (
    CEILING_PERCENTILE,
    FLOOR_PERCENTILE,
    FOLDS,
    KINDS,
    SYNONYM,
    UNRELATED,
    Calibration,
    Measurement,
    calibration_pairs,
    measure_pairs,
    read_pairs,
    store_calibration,
)
from ..corpus import EMBEDDER, check_pipeline, pipeline_name
from ..errors import Errors
from ..unit_vectors import FloatArray
from . import files, options, terminal
from .engine import load_pipeline, usage_errors

if TYPE_CHECKING:
    from ..embedder import Embedder

FIGURES = (".png",)
PERCENTILES = (5, 25, 50, 75, 95)
# Fewer pairs of a kind give percentiles that another choice of pairs would move.
FEW = 50


class Calibrated(NamedTuple):
    """What `calibrate_pipeline` found.

    encoder (str): Name of the encoder.
    pipeline (str): Name and version of the pipeline.
    before (Calibration): Floor and ceiling that the encoder had.
    measured (Measurement): Cosines, and floor and ceiling that follow.
    lowest (float): Similarity below which a score of this pipeline takes 0.
    """

    encoder: str
    pipeline: str
    before: Calibration
    measured: Measurement
    lowest: float


def calibrate_cli(
    pipeline: Annotated[str, typer.Argument(help="Name or path of a pipeline")],
    output: Annotated[
        Optional[Path],
        typer.Option(help="Folder for the pipeline with the new calibration"),
    ] = None,
    pairs: Annotated[
        Optional[Path],
        typer.Option(
            help="Own pairs: tab-separated columns kind (unrelated or synonym), left, "
            "right. [default: the packaged ones, findings of chest X-rays]"
        ),
    ] = None,
    figure: Annotated[
        Optional[Path],
        typer.Option(
            help="A .png of the cosines before and after; needs the extra `eval`"
        ),
    ] = None,
    force: options.Force = False,
) -> None:
    """Measure where the cosines of an encoder lie, and save a pipeline with that.

    The floor is the 95th percentile of the cosines of unrelated pairs, the ceiling the
    median of those of synonyms. A similarity in `precision`, `recall` and `f1` is the
    place of a cosine between the two: 0 up to the floor, 1 from the ceiling on. Both
    are saved with the encoder and are part of the signature of a score.

    The figure of the repository is made by: python -m spacy mcse calibrate
    en_mcse_cxr_sm --figure metrics/calibration.png

    Exit codes: 0 done; 2 wrong usage or unreadable input, nothing written; 3 stopped by
    an error of a component.
    """
    with terminal.exit_codes("Interrupted."):
        found = calibrate_pipeline(
            pipeline, output=output, pairs=pairs, figure=figure, force=force
        )
    _tell(found)
    for path, what in ((output, "Pipeline"), (figure, "Figure")):
        if path is not None:
            terminal.good(f"{what} in {path}")


def calibrate_pipeline(
    pipeline: str,
    *,
    output: Optional[Path] = None,
    pairs: Optional[Path] = None,
    figure: Optional[Path] = None,
    force: bool = False,
) -> Calibrated:
    """Measure the encoder of a pipeline on pairs of phrases.

    pipeline (str): Name or path of the pipeline.
    output (Optional[Path]): Folder for the pipeline with the new calibration.
    pairs (Optional[Path]): A file of pairs; see `calibration.read_pairs`.
    figure (Optional[Path]): File for a figure of the cosines before and after.
    force (bool): Overwrite existing output.
    RETURNS (Calibrated): What was measured.
    RAISES (UsageError): For wrong usage or unreadable input.
    """
    _check_outputs(output, pairs, figure, force)
    known = calibration_pairs() if pairs is None else _read_pairs(pairs)
    nlp = load_pipeline(pipeline)
    with usage_errors():
        embedder = _embedder(nlp)
        encoder = embedder.encoder
        measured = measure_pairs(encoder, known[UNRELATED], known[SYNONYM])
        before = encoder.calibration
    floor, ceiling = measured.calibration
    if floor >= ceiling and (output is not None or figure is not None):
        raise terminal.UsageError(Errors.E312.format(floor=floor, ceiling=ceiling))
    found = Calibrated(
        encoder.name,
        pipeline_name(nlp),
        before,
        measured,
        embedder.settings.min_similarity,
    )
    image = b""
    if figure is not None:
        from ..figures import calibration_png

        image = calibration_png(measured, f"{found.encoder} in {found.pipeline}")
    if output is not None:
        with usage_errors():
            store_calibration(encoder, measured.calibration)
        files.write_folder(output, nlp.to_disk)
    if figure is not None:
        files.write_whole(figure, lambda path: _write_bytes(path, image))
    return found


def _check_outputs(
    output: Optional[Path], pairs: Optional[Path], figure: Optional[Path], force: bool
) -> None:
    """Refuse outputs that cannot be written, before any work is done."""
    if output is not None:
        files.check_pipeline_output(output, force)
    if figure is None:
        return
    files.check_ending(figure, FIGURES)
    if pairs is not None and figure.resolve() == pairs.resolve():
        raise terminal.UsageError(Errors.E810.format(path=figure))
    files.check_output(figure, force)
    if output is not None and output.resolve() in figure.resolve().parents:
        problem = "it lies in the folder of the pipeline"
        raise terminal.UsageError(Errors.E809.format(path=figure, problem=problem))
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        message = Errors.E805.format(path=figure, package="matplotlib", extra="eval")
        raise terminal.UsageError(message) from None


def _read_pairs(path: Path) -> dict[str, list[tuple[str, str]]]:
    try:
        return read_pairs(path)
    except OSError as error:
        problem = error.strerror or type(error).__name__
        message = Errors.E801.format(path=path, problem=problem)
        raise terminal.UsageError(message) from error
    except ValueError as error:
        raise terminal.UsageError(str(error)) from error


def _embedder(nlp: Language) -> "Embedder":
    """RAISES (ValueError): E103 where there is none."""
    from ..embedder import Embedder

    for _, component in nlp.pipeline:
        if isinstance(component, Embedder):
            return component
    check_pipeline(nlp, [EMBEDDER])
    # A component of the name that is not ours.
    names = ", ".join(nlp.pipe_names)
    raise ValueError(Errors.E103.format(factory=EMBEDDER, found=names))


def _write_bytes(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _tell(found: Calibrated) -> None:
    measured = found.measured
    counts = (len(measured.unrelated), len(measured.synonym))
    typer.echo(
        f"{found.encoder} in {found.pipeline}, {counts[0]} unrelated pairs and "
        f"{counts[1]} pairs of synonyms"
    )
    typer.echo(_as_table(measured))
    floor, ceiling = measured.calibration
    old = " and ".join(f"{value:.4f}" for value in found.before)
    lines = [
        f"Floor {floor:.4f}: percentile {FLOOR_PERCENTILE} of unrelated pairs",
        f"Ceiling {ceiling:.4f}: percentile {CEILING_PERCENTILE} of synonyms",
        f"Floor and ceiling of the pipeline as loaded: {old}",
        f"Calibrated: {_what_is_left(measured.similarities, found.lowest)}",
    ]
    left_out = measured.left_out_similarities
    if left_out is not None:
        checked = _what_is_left(left_out, found.lowest)
        lines.append(f"The same for pairs left out, {FOLDS} parts in turn: {checked}")
    typer.echo("\n".join(lines))
    for kind, count in zip(KINDS, counts, strict=True):
        if count < FEW:
            terminal.warn(f"{count} pairs of kind {kind} are few: {FEW} are better.")
    if floor >= ceiling:
        terminal.warn("The encoder does not tell synonyms from unrelated phrases.")


def _what_is_left(similarities: tuple[FloatArray, FloatArray], lowest: float) -> str:
    unrelated, synonym = similarities
    return (
        f"{(unrelated <= 0).mean():.1%} of unrelated pairs at 0 "
        f"({(unrelated < max(lowest, 1e-9)).mean():.1%} below the score's "
        f"min_similarity of {lowest:g}), synonyms with median {np.median(synonym):.3f}"
    )


def _as_table(measured: Measurement) -> str:
    rows = []
    raw = (measured.unrelated, measured.synonym)
    for name, both in (("cosine", raw), ("calibrated", measured.similarities)):
        for kind, values in zip(KINDS, both, strict=True):
            numbers = np.percentile(values, PERCENTILES)
            rows.append((name, kind, *(f"{number:.3f}" for number in numbers)))
    header = ("", "pairs", *(f"{number} %" for number in PERCENTILES))
    return str(table(rows, header=header, divider=True, aligns="r"))
