"""What the commands tell on the terminal: messages and exit codes.

Errors name files, lines and columns, never the text of a report.
"""

import os
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer
from wasabi.util import ICONS, MESSAGES, locale_escape

FAILED, WRONG_USAGE, STOPPED, INTERRUPTED = 1, 2, 3, 130
# Where this environment variable is set, an error is printed with its traceback.
DEBUG = "MCSE_DEBUG"
# Failed rows that are listed on the terminal; files list all.
MAX_LISTED = 100


class UsageError(ValueError):
    """Wrong usage or unreadable input: exit code 2 and nothing written."""


def fail(error: Exception) -> NoReturn:
    """Print an error and end with exit code 2."""
    _say(MESSAGES.FAIL, str(error), typer.colors.RED, err=True)
    raise typer.Exit(WRONG_USAGE)


def warn(text: str) -> None:
    _say(MESSAGES.WARN, text, typer.colors.YELLOW, err=True)


def good(text: str) -> None:
    _say(MESSAGES.GOOD, text, typer.colors.GREEN, err=False)


def _say(kind: str, text: str, color: str, err: bool) -> None:
    # As wasabi prints it, but not wrapped: paths and commands are there to be copied.
    icon = str(locale_escape(ICONS[kind]))
    typer.secho(f"{icon} {text}", fg=color, err=err)


def list_failed(records: Sequence[Mapping[str, Any]]) -> int:
    """Print the rows that failed. RETURNS (int): The exit code, 0 or 1."""
    failed = [record for record in records if "error" in record]
    if not failed:
        return 0
    warn(f"{len(failed)} of {len(records)} rows failed:")
    for record in failed[:MAX_LISTED]:
        typer.echo(f"  {record['error']}", err=True)
    if len(failed) > MAX_LISTED:
        typer.echo(f"  and {len(failed) - MAX_LISTED} more", err=True)
    return FAILED


@contextmanager
def exit_codes(hint: str) -> Iterator[None]:
    """Turn errors and an interrupt into a line and an exit code.

    Of an error that is none of usage only type and place are told: a component of the
    user's may have put the text of a report into its message.
    """
    try:
        yield
    except UsageError as error:
        _end_workers(error)
        fail(error)
    except Exception as error:
        if os.environ.get(DEBUG):
            typer.echo(traceback.format_exc(), err=True)
        _end_workers(error)
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__} in {Path(place.filename).name}:{place.lineno}"
        note = f"Set {DEBUG}=1 for the traceback, which may quote reports."
        _say(MESSAGES.FAIL, f"Stopped by {text}. {note}", typer.colors.RED, err=True)
        raise typer.Exit(STOPPED) from None
    except KeyboardInterrupt as error:
        _end_workers(error)
        warn(hint)
        raise typer.Exit(INTERRUPTED) from None


def _end_workers(error: BaseException) -> None:
    """Let go of the generator of `nlp.pipe` in the frames of an error.

    That closes it and so ends its worker processes. Left to the garbage collector, it
    waits for them without end: their queues are gone by then.
    """
    traceback.clear_frames(error.__traceback__)
