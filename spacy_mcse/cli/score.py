from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from spacy.language import Language
from tqdm import tqdm
from wasabi.tables import table

from ..corpus import (
    METRICS,
    SIDES,
    CorpusSummary,
    iter_scores,
    pipeline_signature,
    summarize,
)
from ..errors import Errors
from ..pipelines import DEFAULT_PIPELINE
from ..results import MCSEScore
from . import files, options, terminal
from .engine import check_engine, go_on_after_errors, load_pipeline, usage_errors
from .partial import PartialRun
from .rows import QUOTES, Row, duplicate_ids, read_rows, within

OUTPUTS = (".jsonl", ".csv", ".tsv", ".parquet")
COLUMNS = ("id", "line", *METRICS, "n_reference", "n_candidate", "flags", "error")


def score_cli(
    pairs: Annotated[
        Path,
        typer.Argument(
            help=f"Reports in pairs: .csv, .tsv, .jsonl or .parquet. {QUOTES}"
        ),
    ],
    output: Annotated[
        Optional[Path],
        typer.Option(
            help="Scores: .jsonl with explanations, .csv, .tsv or .parquet with "
            "numbers. [default: PAIRS with the ending .scores.jsonl]"
        ),
    ] = None,
    summary: Annotated[Optional[Path], typer.Option(help="Summary as JSON")] = None,
    pipeline: options.Pipeline = DEFAULT_PIPELINE,
    id_column: options.IdColumn = "id",
    reference: Annotated[
        str, typer.Option(help="Column of the references")
    ] = "reference",
    candidate: Annotated[
        str, typer.Option(help="Column of the candidates")
    ] = "candidate",
    batch_size: options.BatchSize = 128,
    n_process: options.NProcess = 1,
    engine: options.Engine = "serial",
    resume: options.Resume = False,
    force: options.Force = False,
) -> None:
    """Score candidate reports against their references.

    Exit codes: 0 done; 1 done, with rows that failed; 2 wrong usage or unreadable
    input, nothing written; 3 stopped by an error of a component.
    """
    if output is None:
        output = pairs.with_name(f"{pairs.stem}.scores.jsonl")
    with terminal.exit_codes(options.RESUME_HINT):
        records, totals = score_file(
            pairs,
            output,
            summary=summary,
            pipeline=pipeline,
            columns={"id": id_column, "reference": reference, "candidate": candidate},
            batch_size=batch_size,
            n_process=n_process,
            engine=engine,
            resume=resume,
            force=force,
        )
    typer.echo(_as_table(totals))
    for warning in totals.warnings:
        terminal.warn(warning)
    code = terminal.list_failed(records)
    terminal.good(f"Scores of {totals.n} pairs in {output}")
    raise typer.Exit(code)


def score_file(
    pairs: Path,
    output: Path,
    *,
    columns: dict[str, str],
    pipeline: str,
    summary: Optional[Path] = None,
    batch_size: int = 128,
    n_process: int = 1,
    engine: str = "serial",
    resume: bool = False,
    force: bool = False,
) -> tuple[list[dict[str, Any]], CorpusSummary]:
    """Score the pairs of a file and write scores and summary, whole or not at all.

    pairs (Path): The input file.
    output (Path): The file of scores.
    columns (dict[str, str]): Column of "id", "reference" and "candidate".
    pipeline (str): Name or path of the pipeline.
    summary (Optional[Path]): The file of the summary.
    batch_size (int): Reports in one batch, and rows between two saved states.
    n_process (int): Processes of the pipeline.
    engine (str): What runs the pipeline.
    resume (bool): Go on where an earlier run stopped.
    force (bool): Overwrite existing output.
    RETURNS (tuple): One record per row, with "error" where it failed, and the summary.
    RAISES (UsageError): For wrong usage or unreadable input.
    """
    check_engine(engine, n_process)
    ending = files.check_ending(output, OUTPUTS)
    outputs = [output] if summary is None else [output, summary]
    files.check_outputs(pairs, outputs, force)
    if ending == ".parquet":
        files.import_parquet(output)
    # Read once before the pipeline is loaded: a wrong file should not cost a load.
    rows = read_rows(pairs, columns)
    nlp = load_pipeline(pipeline)
    with usage_errors():
        signature = str(pipeline_signature(nlp))
    go_on_after_errors(nlp)
    rows = [within(row, columns, nlp.max_length) for row in rows]
    repeated = duplicate_ids(rows)
    if repeated:
        terminal.warn(f"{repeated} rows have the id of an earlier row.")
    header = {
        "command": "score",
        "signature": signature,
        "input": files.file_hash(pairs),
        "columns": columns,
    }
    run = PartialRun(
        output, header, rows=rows, check=_check, resume=resume, force=force
    )
    try:
        _score_rows(rows, nlp, run, batch_size=batch_size, n_process=n_process)
    finally:
        run.close()
    totals = _totals(run.records)
    if summary is not None:
        text = (
            files.to_json(_summary_record(pairs, run.records, totals), indent=2) + "\n"
        )
        files.write_whole(summary, lambda path: files.write_text(path, text))
    files.write_whole(output, lambda path: _write(path, run.records, ending))
    run.remove()
    return run.records, totals


def _score_rows(
    rows: Sequence[Row],
    nlp: Language,
    run: PartialRun,
    *,
    batch_size: int,
    n_process: int,
) -> None:
    todo = rows[len(run.records) :]
    progress = tqdm(
        total=len(rows), initial=len(run.records), unit="pair", disable=None
    )
    batch: list[dict[str, Any]] = []
    with progress:
        for record in _records(todo, nlp, batch_size, n_process):
            batch.append(record)
            if len(batch) == batch_size:
                run.append(batch)
                batch = []
            progress.update(1)
        run.append(batch)


def _records(
    rows: Sequence[Row], nlp: Language, batch_size: int, n_process: int
) -> Iterator[dict[str, Any]]:
    """One record per row, in order."""
    sound = [row for row in rows if row.error is None]
    scores = iter_scores(
        *([row.values[side] for row in sound] for side in SIDES),
        nlp=nlp,
        batch_size=batch_size,
        n_process=n_process,
        keep_failed=True,
    )
    for row in rows:
        error = row.error
        result = None
        if error is None:
            # A component that works in batches drops the whole batch of a bad text.
            result = next(scores) or _score_alone(row, nlp)
            if result is None:
                error = Errors.E827.format(line=row.line)
        record: dict[str, Any] = {"id": row.id, "line": row.line}
        yield record | ({"error": error} if result is None else result.to_dict())


def _score_alone(row: Row, nlp: Language) -> Optional[MCSEScore]:
    texts = ([row.values[side]] for side in SIDES)
    return next(iter_scores(*texts, nlp=nlp, batch_size=1, keep_failed=True))


def _check(record: dict[str, Any]) -> None:
    if "error" not in record:
        MCSEScore.from_dict(record)


def _totals(records: Sequence[dict[str, Any]]) -> CorpusSummary:
    # From the records, not from scores in memory: a resumed run has only these.
    sound = [record for record in records if "error" not in record]
    return summarize(
        [MCSEScore.from_dict(record) for record in sound],
        rows=[record["line"] for record in sound],
        unit="line",
    )


def _summary_record(
    pairs: Path, records: Sequence[dict[str, Any]], totals: CorpusSummary
) -> dict[str, Any]:
    failed = [record for record in records if "error" in record]
    return {
        "input": pairs.name,
        "rows": len(records),
        **totals.to_dict(),
        "failed": failed,
    }


def _write(path: Path, records: Sequence[dict[str, Any]], ending: str) -> None:
    if ending == ".jsonl":
        files.write_jsonl(path, records)
    elif ending == ".parquet":
        files.write_parquet(path, records, COLUMNS)
    else:
        files.write_table(path, records, COLUMNS, ending)


def _as_table(totals: CorpusSummary) -> str:
    rows = [
        (name, *(f"{v:.3f}" for v in (totals.mean[name], *totals.interval[name])))
        for name in METRICS
    ]
    header = ("metric", "mean", "low", "high")
    return str(table(rows, header=header, divider=True, aligns=("l", "r", "r", "r")))
