"""`python -m spacy mcse`: the commands, mounted on spaCy's own command line.

spaCy imports this module through the entry point group `spacy_cli` in every
`python -m spacy`, so commands import what is heavy or optional when they run.
"""

import typer
from spacy.cli._util import app as spacy_app

from .calibrate import calibrate_cli
from .extract import extract_cli
from .score import score_cli

HELP = "Clinical entities of radiology reports, and scores of generated reports."

# Tracebacks in typer's own format print local variables: report text among them.
app = typer.Typer(
    name="mcse",
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("score")(score_cli)
app.command("extract")(extract_cli)
app.command("calibrate")(calibrate_cli)

spacy_app.add_typer(app, name="mcse")
