"""Keys of the studio: each calls what a button does, "?" lists them, and the page gets names for screen readers."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from importlib.resources import files
from typing import Any

from pliant.viewer.driver import Driver

Act = Callable[[Any], None]
CAMERA_KEYS = (("← ↑ ↓ →", "turn the view"), ("W A S D Q E", "move the view"))
"""Keys of the page itself."""
PAGE_KEYS = (
    ("Tab", "next control; Shift+Tab the one before"),
    ("Esc", "leave a text field, where keys are text; close this list"),
    ("Ctrl+K", "find a command by its name"),
)
_ALL = "cmd/ctrl+alt+shift"


def page_aids() -> str:
    """The style and script that a page gets as hidden HTML: background, visible focus, names for screen readers."""
    folder = files("pliant.viewer")
    style = (folder / "studio.css").read_text(encoding="utf-8")
    script = (folder / "studio.js").read_text(encoding="utf-8")
    # scripts in HTML that is set later are not run by browsers, handlers of images are
    return f'<style>{style}</style><img hidden alt="" src="data:," onerror="{escape(script)}">'


class Shortcuts:
    """Commands of a `server` with their keys; `driver` restricts those that change something to one browser."""

    def __init__(self, server: Any, driver: Driver) -> None:
        self._gui, self._driver = server.gui, driver
        self.listed: list[tuple[str, str]] = []
        self._gui.add_html(page_aids(), order=1000.0)
        self.add("?", "list of keys", lambda event: self.show(event.client), guarded=False)

    def add(self, key: str, text: str, act: Act, *, guarded: bool = True) -> Any:
        """Let `key` call `act(event)`; `text` says what it does."""
        self.listed.append((key, text))
        modifier = "shift" if key == "?" else None
        handle = self._gui.add_command(text[:1].upper() + text[1:], hotkey=key, modifier=modifier)
        if guarded:
            self._driver.trigger(handle, act)
        else:
            handle.on_trigger(act)
        return handle

    def add_themes(self, dark: Callable[[bool], None]) -> None:
        """Let browsers ask for dark and light pages by themselves: `dark(True)`, `dark(False)`."""
        for key, wanted in (("U", True), ("I", False)):
            words = f"{'Dark' if wanted else 'Light'} page, as this browser prefers"
            handle = self._gui.add_command(words, hotkey=key, modifier=_ALL)
            handle.on_trigger(lambda event, wanted=wanted: dark(wanted))

    def show(self, client: Any) -> None:
        """Show the list of keys to `client`."""
        if client is None:
            return
        modal = client.gui.add_modal("Keys")
        with modal:
            client.gui.add_html(self.html())
            client.gui.add_button("Close").on_click(lambda _: modal.close())

    def html(self) -> str:
        """The list of keys as a table."""
        rows = "".join(
            f"<tr><th scope='row'><kbd>{escape(key)}</kbd></th><td>{escape(text)}</td></tr>"
            for key, text in (*self.listed, *CAMERA_KEYS, *PAGE_KEYS)
        )
        return f'<table class="pliant-table pliant-keys">{rows}</table>'
