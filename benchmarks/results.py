"""Fills docs/results.md: every part between "output of: COMMAND" and "end of output" is what that command prints.

    python -m benchmarks.results [--only TEXT]

`make bench-all` runs it. Tables stand as they are, other text as a listing; of pytest what the tests print. With
`--only` the commands that contain TEXT run. Where a command fails, its part stays and the exit status says so.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "results.md"
PART = re.compile(r"(<!-- output of: (?P<command>.+?) -->\n).*?(<!-- end of output -->)", re.DOTALL)
_CAPTURED = re.compile(r"^-+ Captured stdout call -+$")
_TEST = re.compile(r"^_+ (?:\w+\.)?test_(?P<name>[^\[]+?)(?:\[.*\])? _+$")
_RULE = re.compile(r"^[-_=]{3,} .* [-_=]{3,}$|^[-_=]{10,}$|^\d+ (?:passed|failed)\b.* in ")


def filled(page: str, outputs: dict[str, str]) -> str:
    """`page` with the parts of the commands in `outputs` replaced."""

    def part(match: re.Match[str]) -> str:
        command = match["command"]
        return f"{match[1]}\n{outputs[command]}\n\n{match[3]}" if command in outputs else match[0]

    return PART.sub(part, page)


def commands(page: str) -> list[str]:
    """The commands of a page, each once, in its order."""
    return list(dict.fromkeys(match["command"] for match in PART.finditer(page)))


def as_markdown(command: str, printed: str) -> str:
    """What a command printed, as it stands on the page."""
    lines = printed.splitlines()
    if "pytest" in command:
        lines = list(printed_by_tests(lines))
    text = "\n".join(lines).strip()
    return text if any(line.startswith("|") for line in lines) else f"```text\n{text}\n```"


def printed_by_tests(lines: Iterable[str]) -> Iterable[str]:
    """What tests printed, each line behind the name of its test, of the output of ``pytest -rP``."""
    title, inside = "", False
    for line in lines:
        if _CAPTURED.match(line):
            inside = True
        elif named := _TEST.match(line):
            title, inside = named["name"].replace("_", " "), False
        elif _RULE.match(line):
            inside = False
        elif inside and line.strip():
            yield f"{title}: {line}"


def run(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command with this Python."""
    first, *rest = shlex.split(command)
    own = {"python": [sys.executable], "pliant": [sys.executable, "-m", "pliant"]}
    return subprocess.run([*own.get(first, [first]), *rest], stdout=subprocess.PIPE, text=True, check=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="run the commands that contain this text")
    options = parser.parse_args()
    failed = []
    for command in commands(PAGE.read_text()):
        if options.only not in command:
            continue
        print(f"{command} …", flush=True)
        done = run(command)
        if done.returncode:
            failed.append(command)
        else:  # written after each command: a run that is ended keeps what it has
            PAGE.write_text(filled(PAGE.read_text(), {command: as_markdown(command, done.stdout)}))
    if failed:
        sys.exit(f"failed, their parts of {PAGE.name} are as they were: {', '.join(failed)}")


if __name__ == "__main__":
    main()
