"""How the tests run the programs of scripts/."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parent.parent / "scripts"


def script(name):
    return runpy.run_path(str(SCRIPTS / name))


def run(name, *arguments, **environment):
    known = {key: value for key, value in os.environ.items() if key != "MCSE_DATA"}
    return subprocess.run(
        [sys.executable, str(SCRIPTS / name), *arguments],
        capture_output=True,
        text=True,
        env={**known, **environment},
        check=False,
    )


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf8")
