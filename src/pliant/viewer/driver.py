"""Who drives: several browsers may watch, and the first to touch a control has them until it leaves or another takes
over. What the others do to the controls is undone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from html import escape
from typing import Any

Act = Callable[[Any], None]


class Driver:
    """Guards the controls of a server. `current` is the number of the browser that drives, None where none does."""

    def __init__(self, server: Any) -> None:
        self.current: int | None = None
        self._server = server
        self._lock = threading.RLock()
        self._accepted: dict[int, tuple[Any, Any]] = {}
        self._notes: dict[int, tuple[Any, Any]] = {}
        server.on_client_connect(self._come)
        server.on_client_disconnect(self._go)

    def may(self, event: Any) -> bool:
        """Whether what a browser did counts: it drives, or nobody did and now it does. What the program does counts."""
        client_id = event.client_id
        if client_id is None:
            return True
        with self._lock:
            if self.current is None:
                self._set(client_id)
            return bool(self.current == client_id)

    def guard(self, handle: Any, act: Act | None = None) -> Any:
        """Let only the driver change `handle`; `act(event)` follows every change that counts."""
        self._accept(handle, handle.value)

        def changed(event: Any) -> None:
            if not self.may(event):
                handle.value = self.value(handle)
                self._refuse(event)
            elif handle.value != self.value(handle):
                self._accept(handle, handle.value)
                if act is not None:
                    act(event)

        handle.on_update(changed)
        return handle

    def press(self, button: Any, act: Act) -> Any:
        """Let only the driver press `button`."""
        button.on_click(lambda event: act(event) if self.may(event) else self._refuse(event))
        return button

    def hold(self, gizmo: Any, act: Act | None = None) -> Any:
        """Let only the driver drag `gizmo`; `place` is where the driver left it."""
        self._accept(gizmo, tuple(gizmo.position))

        def moved(event: Any) -> None:
            if self.may(event):
                self._accept(gizmo, tuple(gizmo.position))
                if act is not None:
                    act(event)
            else:
                gizmo.position = self.value(gizmo)
                if event.phase == "start":
                    self._refuse(event)

        gizmo.on_update(moved)
        return gizmo

    def move(self, gizmo: Any, position: Any) -> None:
        """Put a guarded gizmo somewhere, (3,) m."""
        place = tuple(float(x) for x in position)
        self._accept(gizmo, place)
        gizmo.position = place

    def set(self, handle: Any, value: Any) -> None:
        """Give a guarded control a value without what follows a change of it."""
        self._accept(handle, value)
        handle.value = value

    def value(self, handle: Any) -> Any:
        """The value of a guarded control, or the position (3,) m of a guarded gizmo, that the driver gave it."""
        return self._accepted[id(handle)][1]

    def forget(self) -> None:
        """Drop the controls that were guarded so far and have been removed."""
        kept = {key: pair for key, pair in self._accepted.items() if not pair[0]._impl.removed}
        self._accepted = kept

    def take(self, client_id: int) -> None:
        """Let browser `number` drive from now on."""
        with self._lock:
            self._set(client_id)

    def _accept(self, handle: Any, value: Any) -> None:
        self._accepted[id(handle)] = (handle, value)

    def _set(self, client_id: int | None) -> None:
        self.current = client_id
        self._say()

    def _refuse(self, event: Any) -> None:
        if event.client is not None:
            event.client.add_notification(
                f"Browser {self.current} drives", "You are watching; “Take over” is at the top of the panel.",
                auto_close_seconds=4.0, color="orange",
            )  # fmt: skip

    def _come(self, client: Any) -> None:
        with self._lock:
            note = client.gui.add_html("", order=-20.0, visible=False)
            button = client.gui.add_button("Take over", icon="steering-wheel", order=-19.0, visible=False)
            button.on_click(lambda event: self.take(client.client_id))
            self._notes[client.client_id] = (note, button)
            self._say()

    def _go(self, client: Any) -> None:
        with self._lock:
            self._notes.pop(client.client_id, None)
            self._set(None if self.current == client.client_id else self.current)

    def _say(self) -> None:
        """Tell every browser who drives, where there are several."""
        several = len(self._notes) > 1
        for client_id, (note, button) in self._notes.items():
            if self.current is None:
                text = f"You are browser {client_id} of {len(self._notes)}; whoever touches a control first drives."
            elif self.current == client_id:
                text = f"You (browser {client_id}) drive; {len(self._notes) - 1} watching."
            else:
                text = f"Browser {self.current} drives; you (browser {client_id}) are watching."
            note.content = f'<div style="margin:.2em 1em .4em;font-size:.85em;opacity:.8">{escape(text)}</div>'
            note.visible = several
            button.visible = several and self.current not in (None, client_id)
