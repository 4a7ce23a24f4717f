"""A progress bar for long calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(title: str, count: int, *, shown: bool) -> Iterator[Callable[[], None]]:
    """A bar of `count` pieces of work while the context lasts; call what it gives after each piece."""
    if not shown:
        yield lambda: None
        return
    from rich.progress import Progress  # loaded here: most runs show no bar, and it takes a twentieth of a second

    with Progress(transient=True) as bar:
        task = bar.add_task(title, total=count)
        yield lambda: bar.advance(task)
