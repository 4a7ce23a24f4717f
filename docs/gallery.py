"""The gallery: every example is run; its page shows what it says, what it printed, and a picture of what it left.

The picture opens the page of the run, which plays in the browser: the `run` that the example left, or else the states
of the last world that it stepped. An example is run again when its text, or the library, has changed.
"""

import contextlib
import hashlib
import io
import os
import runpy
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pliant as pl

RUNS = "gallery-runs"
"""Folder of the site with pictures and pages of the runs."""
MOST_STATES = 60
"""States of a run that the gallery collected itself: enough for a film of a few seconds."""


def build_gallery(examples: Path, made: Path) -> None:
    """Write a page for each of the `examples` and one that lists them, and pictures and pages of runs, into `made`."""
    folder, shown = made / "gallery", made / "runs" / RUNS
    for place in (folder, shown):
        place.mkdir(parents=True, exist_ok=True)
    paths = sorted(examples.glob("*.py"))
    for path in paths:
        page = folder / f"{path.stem}.md"
        stamp = f"<!-- {_digest(path)} -->"
        if not page.exists() or not page.read_text(encoding="utf-8").startswith(stamp):
            page.write_text(f"{stamp}\n{_page(path, shown)}", encoding="utf-8")
    head = "# Gallery\n\nA picture opens the run, to be played and turned; the name opens the code that made it.\n"
    head += "Each example ends in a check, and the tests run them all.\n\n"
    cards = "\n".join(_card(path, shown) for path in paths)
    names = "\n".join(path.stem for path in paths)
    tree = f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    (folder / "index.md").write_text(f'{head}<div class="cards">\n{cards}\n</div>\n\n{tree}', encoding="utf-8")


def _card(path: Path, shown: Path) -> str:
    """A thumbnail that opens the run, with the title and the first sentence of the example."""
    picture = f'<img src="../../{RUNS}/{path.stem}.png" alt="{_title(path)}" loading="lazy">'
    opened = f"../../{RUNS}/{path.stem}.html" if (shown / f"{path.stem}.html").exists() else f"{path.stem}.html"
    top = f'<a href="{opened}">{picture}</a>' if (shown / f"{path.stem}.png").exists() else ""
    words = escape(path.read_text(encoding="utf-8").split('"""')[1].strip().split("\n\n")[0].replace("\n", " "))
    name = f'<a href="{path.stem}.html"><strong>{_title(path)}</strong></a>'
    return f'<div class="card">{top}{name}<span class="words">{words}</span></div>'


def _page(path: Path, shown: Path) -> str:
    source = path.read_text(encoding="utf-8")
    printed, left, steps = _run(path)
    top = _picture(left, steps, shown, path)
    words = (left.get("__doc__") or "").strip()
    code = source.split('"""', 2)[2].strip() if source.startswith('"""') else source
    output = f"It prints:\n\n```text\n{printed.strip()}\n```\n" if printed.strip() else ""
    return f"# {_title(path)}\n\n{words}\n\n{top}```python\n{code}\n```\n\n{output}"


def _title(path: Path) -> str:
    return path.stem.replace("_", " ").capitalize()


def _run(path: Path) -> tuple[str, dict[str, Any], list[Any]]:
    """What the example printed, its names afterwards, and its last steps; it runs in a folder of its own."""
    before, printed = Path.cwd(), io.StringIO()
    with tempfile.TemporaryDirectory() as place, _watched() as steps:
        os.chdir(place)
        try:
            with contextlib.redirect_stdout(printed):
                left = runpy.run_path(str(path), run_name="__main__")
        finally:
            os.chdir(before)
    return printed.getvalue(), left, steps


@contextlib.contextmanager
def _watched() -> Iterator[list[Any]]:
    """Collects (start, state, info) of every step of the world that was stepped last."""
    steps: list[Any] = []
    originals = {kind: kind.__call__ for kind in (pl.ImplicitEuler, pl.QuasiStatic)}

    def watching(original: Any) -> Any:
        def call(self: Any, world: Any, state: Any, controls: Any = None) -> Any:
            after, info = original(self, world, state, controls)
            if steps and steps[-1][1] is not state:
                steps.clear()  # another world, or a new beginning
            steps.append((state, after, info))
            return after, info

        return call

    for kind, original in originals.items():
        kind.__call__ = watching(original)  # type: ignore[method-assign]
    try:
        yield steps
    finally:
        for kind, original in originals.items():
            kind.__call__ = original  # type: ignore[method-assign]


def _picture(left: dict[str, Any], steps: list[Any], shown: Path, path: Path) -> str:
    """Write picture and page of what the example did; the HTML that shows them."""
    picture, page = shown / f"{path.stem}.png", shown / f"{path.stem}.html"
    image = f'<img src="../../{RUNS}/{picture.name}" alt="{_title(path)}">'
    run = left.get("run")
    for solution in (left.get("sol"), run):
        if isinstance(solution, pl.hybrid.Solution):
            _curves(solution, picture)
            return f"<p>{image}</p>\n\n"
    if not isinstance(run, pl.Run):
        if not steps:
            return ""
        kept = steps[:: 1 + len(steps) // MOST_STATES]
        run = pl.Run.of([kept[0][0], *(state for _, state, _ in kept)], [info for *_, info in kept], interval=0.04)
    pl.export(run, picture, title=_title(path))
    pl.export(run, page, title=_title(path))
    opened = f"../../{RUNS}/{page.name}"
    return f'<p><a href="{opened}">{image}</a></p>\n\n<p><a href="{opened}">Play this run in the browser</a></p>\n\n'


def _curves(sol: Any, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.4), layout="constrained")
    for axes, values, label in zip(figure.subplots(2, 1, sharex=True), (sol.q, sol.lam), ("q", "λ"), strict=True):
        axes.plot(sol.times, values)
        axes.set_ylabel(label)
    axes.set_xlabel("time (s)")
    figure.savefig(path, dpi=100)


def _digest(path: Path) -> str:
    text = path.read_bytes() + pl.__version__.encode() + Path(__file__).read_bytes()
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()[:12]
