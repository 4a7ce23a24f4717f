"""The snippets of the documents: run them, and draw the pictures with which the tutorials end.

Python blocks of a page run one after the other in one namespace. In tutorials and recipes, lines of `bash` blocks that
begin with `pliant` run too, in the same folder. `python docs/snippets.py [PAGE …]` runs the tutorials, or those named,
and writes their pictures to docs/images/tutorials.
"""

import os
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)
DOCS = Path(__file__).resolve().parent
PICTURES = DOCS / "images" / "tutorials"


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """Language, text and first line of every Python block of `page`, and of the commands of tutorials and recipes."""
    text = page.read_text(encoding="utf-8")
    taught = page.parent.name in ("tutorials", "recipes")
    found = [(each.group(1), each.group(2), text.count("\n", 0, each.start(2))) for each in BLOCK.finditer(text)]
    return [block for block in found if block[0] == "python" or taught]


def run_page(page: Path) -> dict[str, Any]:
    """Run the blocks of `page` in the present folder; returns the names that they leave."""
    names: dict[str, Any] = {"__name__": "snippet"}
    for language, text, line in blocks(page):
        if language == "python":
            exec(compile("\n" * line + text, str(page), "exec"), names)
        else:
            for command in text.splitlines():
                _run_command(command, page)
    return names


def needed(page: Path) -> list[str]:
    """Packages beyond Pliant's own that a page says it needs, in a comment ``<!-- needs: NAME -->``."""
    return re.findall(r"<!-- needs: (\w+) -->", page.read_text(encoding="utf-8"))


def pictures(page: Path) -> list[str]:
    """Names of the pictures that the code of a tutorial makes as .png; the page shows them as .webp."""
    shown = re.findall(r"\]\(\.\./images/tutorials/([\w-]+)\.webp\)", page.read_text(encoding="utf-8"))
    return [f"{name}.png" for name in shown]


def _run_command(command: str, page: Path) -> None:
    """Run a line that begins with `pliant` in this process; others, such as `pip install`, are for the reader."""
    words = shlex.split(command, comments=True)
    if not words or words[0] != "pliant":
        return
    from typer.testing import CliRunner

    from pliant.cli.app import app

    result = CliRunner().invoke(app, words[1:], catch_exceptions=False)
    if result.exit_code != 0:
        raise RuntimeError(f"{page.name}: `{command}` ended with exit code {result.exit_code}:\n{result.output}")


def _keep(picture: Path) -> None:
    """Copy a picture as .webp, a tenth of its size."""
    from PIL import Image

    Image.open(picture).convert("RGB").save(PICTURES / f"{picture.stem}.webp", quality=88, method=6)


def main(names: list[str]) -> None:
    """Run the tutorials and keep their pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for page in sorted((DOCS / "tutorials").glob("*.md")):
        if names and page.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            run_page(page)
            for name in pictures(page):
                _keep(Path(name))
            os.chdir(DOCS)


if __name__ == "__main__":
    main(sys.argv[1:])
