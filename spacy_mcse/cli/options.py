"""Options that the commands share."""

from typing import Annotated

import typer

RESUME_HINT = "Interrupted. Use --resume to go on from here."

Pipeline = Annotated[str, typer.Option(help="Name or path of a pipeline")]
IdColumn = Annotated[str, typer.Option("--id", help="Column of the ids")]
BatchSize = Annotated[int, typer.Option(min=1, help="Reports in one batch")]
NProcess = Annotated[int, typer.Option(min=-1, help="Processes; -1 for all cores")]
Engine = Annotated[
    str, typer.Option(help="What runs the pipeline; this version: serial")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with a stopped run")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing output")]
