"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[Path | None, typer.Option(help="File for the result as JSON; - for standard output.")]
Port = Annotated[int | None, typer.Option(help="Port; 0 for any free one. Without it, the first free from 8080.")]
NoOpen = Annotated[bool, typer.Option("--no-open", "--no-browser", help="Do not open a browser.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="NAME=VALUE for a parameter of the file: a plain value assigned at its top level."),
]
On = Annotated[
    str | None, typer.Option(help="Compute on a cluster: dask://HOST:PORT or ray://HOST:PORT (extra cluster).")
]


def _version(wanted: bool) -> None:
    if wanted:
        from pliant import __version__

        typer.echo(f"pliant {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
]
