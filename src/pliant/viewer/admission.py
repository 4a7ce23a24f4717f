"""Which requests the viewer's web server answers.

Any page that a browser shows can send requests to servers of this machine. So the names that a request calls its
server by, and the page that it comes from, must be the viewer's own; otherwise another site could drive the simulation,
directly or by pointing its own name at this machine (DNS rebinding). Where others than this machine can connect, the
address contains a token: it is the page's cookie afterwards, and nothing is answered without it.
"""

from __future__ import annotations

import hmac
import http
import ipaddress
import secrets
from typing import Any
from urllib.parse import parse_qsl, urlsplit

TOKEN = "token"
"""Name of the token among the parameters of an address."""
_HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'self'",  # no other site shows the page in a frame of its own
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # the address may contain the token
    "X-Content-Type-Options": "nosniff",
}


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Admission:
    """What is asked of requests to a server on `host`; `token` is None where only this machine can connect."""

    def __init__(self, host: str) -> None:
        self._host = host
        self.token = None if is_loopback(host) else secrets.token_urlsafe(24)

    def refusal(self, request: Any) -> tuple[http.HTTPStatus, str] | None:
        """Why a request of the `websockets` library is not answered, None where it is."""
        hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return http.HTTPStatus.FORBIDDEN, "this server is not called by that name; open the address it printed"
        if any(origin not in (f"http://{hosts[0]}", f"https://{hosts[0]}") for origin in origins):
            return http.HTTPStatus.FORBIDDEN, "requests of other pages are not answered"
        parameters = dict(parse_qsl(urlsplit(request.path).query, keep_blank_values=True))
        given = parameters.pop(TOKEN, None)
        if parameters:  # some would have the page connect to another server
            return http.HTTPStatus.BAD_REQUEST, "the address of the viewer has no such parameters"
        if self.token is not None and not self._knows(given, request.headers.get_all("Cookie")):
            return http.HTTPStatus.FORBIDDEN, "open the whole address that the viewer printed, with its token"
        return None

    def headers(self, request: Any) -> dict[str, str]:
        """Headers of an answer; the first one to an address with the token makes it the page's cookie."""
        if self.token is None or TOKEN not in urlsplit(request.path).query:
            return _HEADERS
        return {**_HEADERS, "Set-Cookie": f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"}

    @property
    def _cookie(self) -> str:
        assert self.token is not None
        return f"pliant-{self.token[:6]}"  # cookies are shared by all ports of a machine

    def _is_ours(self, host: str) -> bool:
        if self.token is not None:
            return True  # whatever this machine is called: who has the token was given the address
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name == self._host.lower() or is_loopback(name)

    def _knows(self, given: str | None, cookies: list[str]) -> bool:
        assert self.token is not None
        pairs = (pair.strip().partition("=") for line in cookies for pair in line.split(";"))
        candidates = [value for name, _, value in pairs if name == self._cookie]
        candidates += [] if given is None else [given]
        return any(hmac.compare_digest(one.encode(), self.token.encode()) for one in candidates)
