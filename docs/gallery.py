"""The gallery: every example is run, and its page shows what it says, what it printed, and a picture of what it left.

An example that leaves a `run` is shown in motion, one that leaves a `world` and a `state` in that state. An example is
run again when its text, or the library, has changed.
"""

import contextlib
import hashlib
import io
import os
import runpy
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pliant as pl


def build_gallery(examples: Path, folder: Path) -> None:
    """Write a page for each of the `examples`, and one that lists them, into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = sorted(examples.glob("*.py"))
    for path in paths:
        page = folder / f"{path.stem}.md"
        stamp = f"<!-- {_digest(path)} -->"
        if not page.exists() or not page.read_text(encoding="utf-8").startswith(stamp):
            page.write_text(f"{stamp}\n{_page(path, folder)}", encoding="utf-8")
    head = "# Gallery\n\nEach example ends in a check, and the tests run them all.\n\n"
    names = "\n".join(path.stem for path in paths)
    (folder / "index.md").write_text(f"{head}```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n", encoding="utf-8")


def _page(path: Path, folder: Path) -> str:
    source = path.read_text(encoding="utf-8")
    printed, left = _run(path)
    picture = _picture(left, folder / f"{path.stem}.png", path.stem)
    shown = f"![{path.stem}]({picture.name})\n\n" if picture else ""
    words = (left.get("__doc__") or "").strip()
    code = source.split('"""', 2)[2].strip() if source.startswith('"""') else source
    title = path.stem.replace("_", " ").capitalize()
    output = f"It prints:\n\n```text\n{printed.strip()}\n```\n" if printed.strip() else ""
    return f"# {title}\n\n{words}\n\n{shown}```python\n{code}\n```\n\n{output}"


def _run(path: Path) -> tuple[str, dict[str, Any]]:
    """What the example printed, and its names afterwards; it runs in a folder of its own."""
    before, printed = Path.cwd(), io.StringIO()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        try:
            with contextlib.redirect_stdout(printed):
                left = runpy.run_path(str(path), run_name="__main__")
        finally:
            os.chdir(before)
    return printed.getvalue(), left


def _picture(left: dict[str, Any], path: Path, title: str) -> Path | None:
    """A picture of the run, the state or the solution that the example left; None where it left none of them."""
    words = title.replace("_", " ").capitalize()
    if isinstance(left.get("run"), pl.Run):
        return pl.export(left["run"], path, title=words)
    if isinstance(left.get("state"), pl.State) and isinstance(left.get("info"), pl.StepInfo):
        world, still = left["info"].world, _Still(left["state"], left["info"])
        return pl.export(pl.simulate(world, still, until=still.dt), path, title=words, poses=2)
    if isinstance(left.get("sol"), pl.hybrid.Solution):
        return _curves(left["sol"], path)
    return None


@dataclass(frozen=True)
class _Still:
    """A stepper that goes to a known state."""

    state: pl.State
    info: pl.StepInfo
    dt: float = 1.0

    def __call__(self, world: pl.World, state: pl.State, controls: Any) -> tuple[pl.State, pl.StepInfo]:
        return replace(self.state, time=state.time + self.dt), self.info


def _curves(sol: Any, path: Path) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, values, label in zip(figure.subplots(2, 1, sharex=True), (sol.q, sol.lam), ("q", "λ"), strict=True):
        axes.plot(sol.times, values)
        axes.set_ylabel(label)
    axes.set_xlabel("time (s)")
    figure.savefig(path, dpi=100)
    return path


def _digest(path: Path) -> str:
    text = path.read_bytes() + pl.__version__.encode() + Path(__file__).read_bytes()
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()[:12]
