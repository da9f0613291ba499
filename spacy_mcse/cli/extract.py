import base64
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from spacy.language import Language
from spacy.tokens import Doc, DocBin, SpanGroup
from tqdm import tqdm

from ..corpus import EMBEDDER, REFINER, check_pipeline, pipeline_name
from ..data import CLINICAL_KEY, read_embedding, read_entities, read_facts, read_normal
from ..errors import Errors
from ..extensions import get_dropped_entities
from ..pipelines import DEFAULT_PIPELINE
from ..signature import facts_signature, package_version
from . import files, options, terminal
from .engine import check_engine, go_on_after_errors, load_pipeline, usage_errors
from .partial import PartialRun
from .rows import QUOTES, Row, duplicate_ids, read_rows, within

OUTPUTS = (".jsonl", ".spacy")
# Span group of a Doc in a .spacy file that holds id, line and error of its row: its
# attrs survive a DocBin, which drops user data.
ROW_KEY = "mcse_row"


def extract_cli(
    texts: Annotated[
        Path,
        typer.Argument(help=f"Reports: .csv, .tsv, .jsonl or .parquet. {QUOTES}"),
    ],
    output: Annotated[
        Optional[Path],
        typer.Option(
            help="Entities: .jsonl, or .spacy with the Docs. "
            "[default: TEXTS with the ending .entities.jsonl]"
        ),
    ] = None,
    pipeline: options.Pipeline = DEFAULT_PIPELINE,
    id_column: options.IdColumn = "id",
    text: Annotated[str, typer.Option(help="Column of the reports")] = "text",
    batch_size: options.BatchSize = 128,
    n_process: options.NProcess = 1,
    engine: options.Engine = "serial",
    resume: options.Resume = False,
    force: options.Force = False,
) -> None:
    """Extract the clinical entities of reports.

    Exit codes: 0 done; 1 done, with rows that failed; 2 wrong usage or unreadable
    input, nothing written; 3 stopped by an error of a component.
    """
    if output is None:
        output = texts.with_name(f"{texts.stem}.entities.jsonl")
    with terminal.exit_codes(options.RESUME_HINT):
        records = extract_file(
            texts,
            output,
            columns={"id": id_column, "text": text},
            pipeline=pipeline,
            batch_size=batch_size,
            n_process=n_process,
            engine=engine,
            resume=resume,
            force=force,
        )
    code = terminal.list_failed(records)
    terminal.good(f"Entities of {len(records)} reports in {output}")
    raise typer.Exit(code)


def extract_file(
    texts: Path,
    output: Path,
    *,
    columns: dict[str, str],
    pipeline: str,
    batch_size: int = 128,
    n_process: int = 1,
    engine: str = "serial",
    resume: bool = False,
    force: bool = False,
) -> list[dict[str, Any]]:
    """Extract the entities of the reports of a file, whole or not at all.

    texts (Path): The input file.
    output (Path): The file of entities.
    columns (dict[str, str]): Column of "id" and "text".
    pipeline (str): Name or path of the pipeline.
    batch_size (int): Reports in one batch, and rows between two saved states.
    n_process (int): Processes of the pipeline.
    engine (str): What runs the pipeline.
    resume (bool): Go on where an earlier run stopped.
    force (bool): Overwrite existing output.
    RETURNS (list[dict]): One record per row, with "error" where it failed.
    RAISES (UsageError): For wrong usage or unreadable input.
    """
    check_engine(engine, n_process)
    ending = files.check_ending(output, OUTPUTS)
    files.check_outputs(texts, [output], force)
    rows = read_rows(texts, columns)
    nlp = load_pipeline(pipeline)
    as_docs = ending == ".spacy"
    disable = [] if as_docs else _embedders(nlp)
    with usage_errors():
        check_pipeline(nlp, [REFINER])
        empty = nlp("", disable=disable)
        signature = None
        if read_embedding(empty) is not None:
            signature = str(facts_signature(read_facts(empty)))
    go_on_after_errors(nlp)
    rows = [within(row, columns, nlp.max_length) for row in rows]
    repeated = duplicate_ids(rows)
    if repeated:
        terminal.warn(f"{repeated} rows have the id of an earlier row.")
    header = {
        "command": "extract",
        "version": package_version(),
        "pipeline": pipeline_name(nlp),
        "refiner": empty.spans[CLINICAL_KEY].attrs["refiner"],
        "signature": signature,
        "input": files.file_hash(texts),
        "columns": columns,
    }
    run = PartialRun(
        output,
        header,
        rows=rows,
        check=_check_docs if as_docs else _check_entities,
        resume=resume,
        force=force,
    )
    progress = tqdm(
        total=len(rows), initial=len(run.records), unit="report", disable=None
    )
    try:
        with progress:
            batch: list[dict[str, Any]] = []
            todo = rows[len(run.records) :]
            for row, doc in _docs(todo, nlp, batch_size, n_process, disable):
                batch.append(_record(row, doc, nlp, as_docs))
                if len(batch) == batch_size:
                    run.append(batch)
                    batch = []
                progress.update(1)
            run.append(batch)
    finally:
        run.close()
    if as_docs:
        files.write_whole(output, lambda path: _write_docs(path, run.records))
    else:
        files.write_whole(output, lambda path: files.write_jsonl(path, run.records))
    run.remove()
    return run.records


def _embedders(nlp: Language) -> list[str]:
    return [
        name
        for name in nlp.pipe_names
        if EMBEDDER in (name, nlp.get_pipe_meta(name).factory)
    ]


def _docs(
    rows: Sequence[Row],
    nlp: Language,
    batch_size: int,
    n_process: int,
    disable: Sequence[str],
) -> Iterator[tuple[Row, Optional[Doc]]]:
    """The Doc of each row, in order; None for a bad row or one that failed."""
    sound = [(row.values["text"], i) for i, row in enumerate(rows) if not row.error]
    docs = nlp.pipe(
        sound,
        as_tuples=True,
        batch_size=batch_size,
        n_process=n_process,
        disable=disable,
    )
    upcoming = next(docs, None)
    for i, row in enumerate(rows):
        if row.error is not None:
            yield row, None
        elif upcoming is not None and upcoming[1] == i:
            yield row, upcoming[0]
            upcoming = next(docs, None)
        else:
            # A component that works in batches drops the whole batch of a bad text.
            alone = nlp.pipe([row.values["text"]], batch_size=1, disable=disable)
            yield row, next(alone, None)


def _record(
    row: Row, doc: Optional[Doc], nlp: Language, as_docs: bool
) -> dict[str, Any]:
    record: dict[str, Any] = {"id": row.id, "line": row.line}
    if doc is None:
        record["error"] = row.error or Errors.E827.format(line=row.line)
    if as_docs:
        doc = Doc(nlp.vocab) if doc is None else doc
        attrs = dict(record)
        if not files.fits_64_bits(row.id):
            attrs["id"] = str(row.id)
        doc.spans[ROW_KEY] = SpanGroup(doc, name=ROW_KEY, attrs=attrs)
        data = DocBin(docs=[doc]).to_bytes()
        record["doc"] = base64.b64encode(data).decode("ascii")
    elif doc is not None:
        record["clinical_entities"] = [
            {**asdict(entity), "negated": entity.negated}
            for entity in read_entities(doc)
        ]
        record["normal_statements"] = [asdict(normal) for normal in read_normal(doc)]
        record["dropped_entities"] = get_dropped_entities(doc)
    return record


def _check_entities(record: dict[str, Any]) -> None:
    if "error" not in record:
        for name in ("clinical_entities", "normal_statements", "dropped_entities"):
            record[name]


def _check_docs(record: dict[str, Any]) -> None:
    _read_doc(record)


def _read_doc(record: dict[str, Any]) -> DocBin:
    return DocBin().from_bytes(base64.b64decode(record["doc"]))


def _write_docs(path: Path, records: Sequence[dict[str, Any]]) -> None:
    docs = DocBin()
    for record in records:
        docs.merge(_read_doc(record))
    path.write_bytes(docs.to_bytes())
