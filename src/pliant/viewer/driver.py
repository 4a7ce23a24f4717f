"""Which browser drives: the first that uses a control, until it disconnects or another one takes over; others watch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from html import escape
from typing import Any

Act = Callable[[Any], None]


class Driver:
    """Restricts the controls of a server to one browser. `current` is its identifier, None while nobody drives."""

    def __init__(self, server: Any) -> None:
        self.current: int | None = None
        self._server = server
        self._lock = threading.RLock()
        self._accepted: dict[int, tuple[Any, Any]] = {}
        self._notes: dict[int, tuple[Any, Any]] = {}
        server.on_client_connect(self._connected)
        server.on_client_disconnect(self._left)

    def allows(self, event: Any) -> bool:
        """Whether an event is accepted: its browser drives, or becomes the driver. Events of the program always are."""
        client_id = event.client_id
        if client_id is None:
            return True
        with self._lock:
            if self.current is None:
                self._set(client_id)
            return bool(self.current == client_id)

    def guard(self, handle: Any, act: Act | None = None) -> Any:
        """Let only the driver change `handle`; `act(event)` is called after every accepted change."""
        self._accept(handle, handle.value)

        def changed(event: Any) -> None:
            if not self.allows(event):
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
        button.on_click(lambda event: act(event) if self.allows(event) else self._refuse(event))
        return button

    def trigger(self, command: Any, act: Act) -> Any:
        """Let only the driver call `command` by its key."""
        command.on_trigger(lambda event: act(event) if self.allows(event) else self._refuse(event))
        return command

    def guard_gizmo(self, gizmo: Any, act: Act | None = None) -> Any:
        """Let only the driver drag `gizmo`; `value` is then its accepted position (3,) m."""
        self._accept(gizmo, tuple(gizmo.position))

        def moved(event: Any) -> None:
            if self.allows(event):
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
        """Move a guarded gizmo to `position` (3,) m."""
        accepted = tuple(float(x) for x in position)
        self._accept(gizmo, accepted)
        gizmo.position = accepted

    def set(self, handle: Any, value: Any) -> None:
        """Set a guarded control without calling its `act`."""
        self._accept(handle, value)
        handle.value = value

    def value(self, handle: Any) -> Any:
        """The accepted value of a guarded control, or position (3,) m of a guarded gizmo."""
        return self._accepted[id(handle)][1]

    def drop_removed(self) -> None:
        """Forget guarded controls that were removed from the panel."""
        self._accepted = {key: pair for key, pair in self._accepted.items() if not pair[0]._impl.removed}

    def take_over(self, client_id: int) -> None:
        """Make the browser `client_id` the driver."""
        with self._lock:
            self._set(client_id)

    def _accept(self, handle: Any, value: Any) -> None:
        self._accepted[id(handle)] = (handle, value)

    def _set(self, client_id: int | None) -> None:
        self.current = client_id
        self._announce()

    def _refuse(self, event: Any) -> None:
        if event.client is not None:
            event.client.add_notification(
                f"Browser {self.current} drives", "You are watching; “Take over” is at the top of the panel.",
                auto_close_seconds=4.0, color="orange",
            )  # fmt: skip

    def _connected(self, client: Any) -> None:
        with self._lock:
            note = client.gui.add_html("", order=-20.0, visible=False)
            button = client.gui.add_button("Take over", icon="steering-wheel", order=-19.0, visible=False)
            button.on_click(lambda event: self.take_over(client.client_id))
            self._notes[client.client_id] = (note, button)
            self._announce()

    def _left(self, client: Any) -> None:
        with self._lock:
            self._notes.pop(client.client_id, None)
            self._set(None if self.current == client.client_id else self.current)

    def _announce(self) -> None:
        """Show in every browser who drives, where there are several."""
        several = len(self._notes) > 1
        for client_id, (note, button) in self._notes.items():
            if self.current is None:
                text = f"You are browser {client_id} of {len(self._notes)}; whoever touches a control first drives."
            elif self.current == client_id:
                text = f"You (browser {client_id}) drive; {len(self._notes) - 1} watching."
            else:
                text = f"Browser {self.current} drives; you (browser {client_id}) are watching."
            note.content = f'<div role="status" class="pliant-note">{escape(text)}</div>'
            note.visible = several
            button.visible = several and self.current not in (None, client_id)
