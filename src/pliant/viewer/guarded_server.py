"""viser's server with a guard before it: requests are admitted, messages checked, connections and their rate bounded.

viser serves with ``websockets.asyncio.server.serve``, whose hooks it does not hand on. While it starts, that function
is replaced by one which passes the hooks of `Guard`; a viser that starts otherwise is refused.
"""

from __future__ import annotations

import asyncio
import http
import io
import logging
from collections.abc import Awaitable, Callable
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from threading import Lock
from typing import Any

from pliant.core.errors import PliantError
from pliant.core.extras import extra
from pliant.viewer.admission import Admission
from pliant.viewer.client_messages import Allowance, complaint

BROWSERS = 16
"""Pages that can watch at a time."""
CONNECTIONS = 64
"""Connections at a time, of pages and requests."""
LARGEST_MESSAGE = 16 * 2**20
"""Size of a message of a browser, bytes: a picture of its page."""
MESSAGES = (100.0, 300.0)
"""Messages of one browser: per second, and at once after a pause. Dragging sends about 60 a second."""
ALL_MESSAGES = (300.0, 600.0)
"""Those of all browsers together."""
BYTES = (2.0 * 2**20, 2.0 * LARGEST_MESSAGE)
"""Bytes of one browser: per second, and at once after a pause."""

_log = logging.getLogger("pliant.viewer")
_log.addHandler(logging.NullHandler())
_log.propagate = False  # what hostile clients send is no news to the person at the terminal
_starting = Lock()


class Guard:
    """The hooks of one server."""

    def __init__(self, host: str) -> None:
        self.admission = Admission(host)
        self.viser: Any = None
        self.connections: set[Any] = set()
        self.browsers = 0
        self.served = False
        self._all_messages = Allowance(*ALL_MESSAGES)
        self._decode = import_module("msgspec.msgpack").decode
        self._protocol = f"viser-v{import_module('viser').__version__}"

    def serve(self, usual: Callable[..., Any], handler: Any, *given: Any, **options: Any) -> Any:
        """What viser starts in place of ``serve(handler, …)``."""
        self.served = True
        asyncio.get_running_loop().set_exception_handler(lambda _, context: _log.debug("%s", context))
        options |= {
            "process_request": partial(self._answer, options["process_request"]),
            "create_connection": partial(_connection_class(), self),
            "max_size": LARGEST_MESSAGE,
            "open_timeout": 5.0,
            "ping_interval": 10.0,
            "ping_timeout": 20.0,  # who does not read for that long is sent away
            "close_timeout": 2.0,
            "server_header": None,
            "logger": _log,
        }
        return usual(partial(self._handle, handler), *given, **options)

    def _answer(self, page: Callable[..., Any], connection: Any, request: Any) -> Any:
        """The answer to a request; None begins a WebSocket."""
        refusal = self.admission.refusal(request)
        upgrade = request.headers.get("Upgrade", "").lower() == "websocket"
        if refusal is None and upgrade:
            protocols = ",".join(request.headers.get_all("Sec-WebSocket-Protocol"))
            if self._protocol not in protocols.replace(" ", "").split(","):
                refusal = http.HTTPStatus.BAD_REQUEST, "only pages of this viewer can connect; load the page again"
            elif self.browsers >= BROWSERS:
                refusal = http.HTTPStatus.SERVICE_UNAVAILABLE, f"{BROWSERS} pages watch already; close one"
        if refusal is not None:
            return connection.respond(refusal[0], refusal[1] + "\n")
        if upgrade:
            return None
        try:
            answer = page(connection, request)
        except Exception as error:  # such as a path that no file can have
            _log.debug("request of %r", request.path, exc_info=error)
            answer = connection.respond(http.HTTPStatus.NOT_FOUND, "NOT FOUND\n")
        for name, value in self.admission.headers(request).items():
            answer.headers[name] = value
        return answer

    async def _handle(self, handler: Callable[[Any], Awaitable[None]], connection: Any) -> None:
        """One WebSocket, from its opening to its end."""
        if self.browsers >= BROWSERS:  # several were admitted at once
            await connection.close(1013, f"{BROWSERS} pages watch already")
            return
        self.browsers += 1
        try:
            await handler(connection)
        except Exception as error:  # whatever a client does, the server goes on
            _log.debug("a connection ended", exc_info=error)
        finally:
            self.browsers -= 1

    async def checked(self, connection: Any, content: Any) -> bool:
        """Whether a message is handed to viser; waits where there are too many, and ends hostile connections."""
        delay = max(
            connection.messages.delay(1.0), self._all_messages.delay(1.0), connection.bytes.delay(float(len(content)))
        )
        if delay > 0.0:
            await asyncio.sleep(min(delay, 5.0))
        wrong = complaint(content, self._decode, partial(self._control, connection))
        if wrong is not None:
            _log.debug("refused a message: %s", wrong)
            await connection.close(1008, wrong)
        return wrong is None

    def _control(self, connection: Any, uuid: str) -> Any:
        """The control of the panel, or of the connected page alone, that a message names."""
        found = self.viser.gui._gui_input_handle_from_uuid.get(uuid) if self.viser is not None else None
        if found is None and self.viser is not None:
            for client in self.viser.get_clients().values():
                found = found or client.gui._gui_input_handle_from_uuid.get(uuid)
        return found


def _connection_class() -> Any:
    """The connections of a guarded server; a function, since `websockets` comes with viser."""
    base = import_module("websockets.asyncio.server").ServerConnection

    class GuardedConnection(base):  # type: ignore[misc, valid-type]
        def __init__(self, guard: Guard, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            self._guard = guard
            self.messages, self.bytes = Allowance(*MESSAGES), Allowance(*BYTES)

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self._guard.connections) < CONNECTIONS:
                self._guard.connections.add(self)
            else:
                transport.abort()

        def connection_lost(self, error: Exception | None) -> None:
            self._guard.connections.discard(self)
            super().connection_lost(error)

        async def recv(self, decode: bool | None = None) -> Any:
            while True:
                content = await super().recv(decode)
                if await self._guard.checked(self, content):
                    return content

    return GuardedConnection


def start_server(host: str, port: int, title: str) -> tuple[Any, Guard]:
    """A web server of viser at `port` of `host`, and its guard."""
    viser = extra("viser", "the viewer needs viser, which is not installed", "viewer")
    guard = Guard(host)
    module: Any = import_module("websockets.asyncio.server")
    with _starting, redirect_stdout(io.StringIO()):  # it greets, whatever `verbose` says
        usual = module.serve

        def serve(handler: Any, *given: Any, **options: Any) -> Any:
            ours = handler.__module__.startswith("viser.")
            return guard.serve(usual, handler, *given, **options) if ours else usual(handler, *given, **options)

        module.serve = serve
        try:
            guard.viser = viser.ViserServer(host=host, port=port, label=title, verbose=False)
        finally:
            module.serve = usual
    if not guard.served:
        guard.viser.stop()
        raise PliantError(
            f"viser {viser.__version__} starts its server in another way than the one that Pliant can guard; "
            "install viser 1.1: pip install 'viser>=1.1,<1.2'"
        )
    return guard.viser, guard
