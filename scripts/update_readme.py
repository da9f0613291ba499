"""Run the Python blocks of README.md and write what they print below them.

The blocks run in order and share their names, as for a reader who types them in. What
a block prints stands in the `text` block that follows it.
"""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n.*?```\n)?", re.DOTALL)


def render(text: str) -> str:
    """The text with the output of each Python block as it is now."""
    names: dict[str, Any] = {"__name__": "__main__"}

    def run(match: "re.Match[str]") -> str:
        code = match[1]
        with redirect_stdout(io.StringIO()) as output:
            exec(compile(code, README.name, "exec"), names)
        printed = output.getvalue()
        shown = f"\n```text\n{printed}```\n" if printed else ""
        return f"```python\n{code}```\n{shown}"

    return BLOCK.sub(run, text)


if __name__ == "__main__":
    README.write_text(render(README.read_text("utf8")), "utf8")
