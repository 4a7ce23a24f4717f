"""The server of the viewer against hostile clients: bare sockets and WebSockets, on this machine only."""

import asyncio
import http.client
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import msgspec
import numpy as np
import pytest

import pliant as pl
from pliant.viewer import guarded_server
from pliant.viewer.admission import Admission, is_loopback
from pliant.viewer.client_messages import Allowance
from pliant.viewer.live import open_viewer, thing_of
from pliant.viewer.viewer import LOOPBACK
from scenes import swinging_bar

viser = pytest.importorskip("viser")
client = pytest.importorskip("websockets.asyncio.client")
closed = pytest.importorskip("websockets.exceptions").ConnectionClosed
rejected = pytest.importorskip("websockets.exceptions").InvalidStatus
PROTOCOL = f"viser-v{viser.__version__}"
CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": (1.0, 0.0, 0.0, 0.0), "position": (1.0, 1.0, 1.0), "fov": 0.8, "near": 0.01,
    "far": 100.0, "image_height": 400, "image_width": 600, "look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0),
}  # fmt: skip


def run(work):
    """``asyncio.run(work)`` in a thread of its own: browsers of other tests leave a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


@pytest.fixture(scope="module")
def viewer():
    scene, _, _ = swinging_bar()
    with open_viewer(thing_of(scene), port=0) as opened:
        yield opened


def goes_on(viewer, seconds=20.0):
    """The simulation makes more steps, and a page can be loaded."""
    end, begun = time.monotonic() + seconds, viewer.subject.time
    while viewer.subject.time < begun + 0.05:
        assert time.monotonic() < end, "the simulation stands still"
        assert viewer.error is None
        viewer.play()
        time.sleep(0.01)
    assert answer(viewer)[0] == 200


def answer(viewer, path="/", **headers):
    """Status, headers and text of a request."""
    connection = http.client.HTTPConnection(LOOPBACK, viewer.port, timeout=20)
    try:
        connection.putrequest("GET", path, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Host": f"localhost:{viewer.port}", **headers}.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        got = connection.getresponse()
        return got.status, got.headers, got.read()
    finally:
        connection.close()


def connected(viewer, **options):
    return client.connect(
        f"ws://{LOOPBACK}:{viewer.port}",
        **{"subprotocols": [PROTOCOL], "max_size": None, "open_timeout": 20, **options},
    )


def spoken(viewer, *messages, patience=0.3, **options):
    """Why the server ended a connection that sent `messages`; None where it did not within `patience` s."""

    async def speak():
        async with connected(viewer, **options) as page:
            try:
                for message in messages:
                    await page.send(message)
                async with asyncio.timeout(patience):
                    while True:
                        await page.recv()
            except TimeoutError:
                return None
            except closed as end:
                return end.rcvd

    return run(speak())


def packed(**message):
    return msgspec.msgpack.encode(message)


def test_a_page_is_served_only_under_the_names_of_this_machine(viewer):
    """DNS rebinding: another site's name points at this machine."""
    port = viewer.port
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", "localhost"):
        assert answer(viewer, Host=host)[0] == 200, host
    for host in (f"evil.example:{port}", "evil.example", "localhost.evil.example", "", f"192.168.0.3:{port}", "[::1"):
        assert answer(viewer, Host=host)[0] == 403, host


def test_requests_of_other_pages_are_refused(viewer):
    own = f"http://localhost:{viewer.port}"
    assert answer(viewer, Origin=own)[0] == 200
    for origin in ("http://evil.example", "null", "http://localhost:1", f"{own}.evil.example", "file://"):
        assert answer(viewer, Origin=origin)[0] == 403, origin
        with pytest.raises(rejected, match="403"):
            spoken(viewer, origin=origin)
    assert spoken(viewer, origin=f"http://{LOOPBACK}:{viewer.port}") is None
    with pytest.raises(rejected, match="400"):
        spoken(viewer, subprotocols=["viser-v0.0.1"])


def test_no_other_site_frames_the_page_or_learns_its_address(viewer):
    _, headers, page = answer(viewer)
    assert b"<html" in page
    assert headers["Content-Security-Policy"] == "frame-ancestors 'self'"
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("query", ["?websocket=ws://evil.example", "?playbackPath=http://evil.example/a", "?token"])
def test_an_address_cannot_send_the_page_elsewhere(viewer, query):
    """viser's page takes the server that it obeys from its address."""
    assert answer(viewer, f"/{query}")[0] == (200 if query == "?token" else 400)


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd", "/..\\..\\a",
        "/%2e%2e%5c%2e%2e%5cetc", "/index.html/../../../_viser.py", "/%00", "/" + 3000 * "a", "/assets/", "/.",
    ],
)  # fmt: skip
def test_only_files_of_the_page_are_served(viewer, path):
    status, _, text = answer(viewer, path)
    assert status == 404 or (status == 200 and b"<html" in text)
    assert b"root:" not in text


GARBAGE = {
    "text": "hello",
    "nothing": b"",
    "random bytes": np.random.default_rng(1).bytes(4000),
    "a list": msgspec.msgpack.encode([1, 2]),
    "deep": b"\x91" * 100_000 + b"\xc0",
    "huge announced": b"\xdd\xff\xff\xff\xff",
    "no type": packed(uuid="a"),
    "unknown type": packed(type="NoSuchMessage"),
    "a message of the server": packed(type="RunJavascriptMessage", source="alert(1)"),
    "a public tunnel": packed(type="ShareUrlRequest"),
    "an upload": packed(type="FileTransferStartUpload", source_component_uuid="a", transfer_uuid="b", filename="c",
                        mime_type="d", part_count=10**9, size_bytes=10**12),
    "a camera at NaN": packed(**{**CAMERA, "position": (float("nan"), 0.0, 0.0)}),
    "a huge whole number": packed(**{**CAMERA, "image_width": 2**63}),
}  # fmt: skip


def test_garbage_ends_the_connection_and_nothing_else(viewer, capfd):
    for name, content in GARBAGE.items():
        end = spoken(viewer, content, patience=10)
        assert end is not None, name
        assert end.code in (1007, 1008), name
    goes_on(viewer)
    assert capfd.readouterr().err == ""


def test_controls_take_only_values_that_they_can_have(viewer):
    """viser would set any attribute to any value."""
    (slider,) = next(iter(viewer.inputs.sliders.values()))
    held = slider.value
    wrong = [
        {"value": "x"}, {"value": 1e9}, {"value": slider.min - 1.0}, {"value": float("nan")}, {"value": [1.0]},
        {"value": None}, {"value": True}, {"removed": True}, {"update_cb": []}, {"value": 0.0, "is_button": True}, {},
    ]  # fmt: skip
    for updates in wrong:
        message = packed(type="GuiUpdateMessage", uuid=slider._impl.uuid, updates=updates)
        end = spoken(viewer, message, patience=10)
        assert end is not None, updates
        assert slider.value == held
    menu = viewer.appearance.mode
    message = packed(type="GuiUpdateMessage", uuid=menu._impl.uuid, updates={"value": "no such"})
    assert spoken(viewer, message, patience=10) is not None
    good = 0.5 * (slider.min + slider.max)
    assert spoken(viewer, packed(type="GuiUpdateMessage", uuid=slider._impl.uuid, updates={"value": good})) is None
    until(lambda: slider.value == pytest.approx(good))
    goes_on(viewer)


def handshake(viewer):
    """A socket that has become a WebSocket, without a library that would answer for it."""
    plain = socket.create_connection((LOOPBACK, viewer.port), timeout=20)
    plain.sendall(
        f"GET / HTTP/1.1\r\nHost: localhost:{viewer.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Protocol: {PROTOCOL}\r\n\r\n".encode()
    )
    assert plain.recv(12) == b"HTTP/1.1 101"
    return plain


def test_a_message_that_is_too_large_is_not_read(viewer):
    """Of 100 MB, announced at the head of the message."""
    plain = handshake(viewer)
    begun = time.monotonic()
    with plain, suppress(ConnectionError):
        plain.sendall(b"\x82\xff" + (100 * 2**20).to_bytes(8, "big") + bytes(4 + 2**16))
        while plain.recv(2**16):
            pass
    assert time.monotonic() - begun < 10.0
    goes_on(viewer)


def test_a_client_that_leaves_within_a_message_takes_nothing_with_it(viewer):
    for part in (b"\x82", b"\x82\xfe\xff", b"\x82\xff\x00\x00\x00\x00\x00\x10\x00\x00abcdgarbage", b"\x02\x80abcd"):
        plain = handshake(viewer)
        plain.sendall(part)
        plain.close()
    goes_on(viewer)


def test_clients_that_never_read_do_not_hold_the_others_up(viewer):
    slow = [handshake(viewer) for _ in range(5)]
    try:
        for plain in slow:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            message = msgspec.msgpack.encode(CAMERA)
            plain.sendall(b"\x82\xfe" + len(message).to_bytes(2, "big") + bytes(4) + message)
        goes_on(viewer)
        assert spoken(viewer, packed(**CAMERA)) is None, "others are served"
    finally:
        for plain in slow:
            plain.close()


def test_many_connections_are_bounded(viewer):
    """200 clients at once, most of which say nothing: some are sent away, the simulation goes on, files stay free."""
    plain = []
    try:
        for _ in range(200):
            with socket.socket() as one:
                one.settimeout(5)
                one.connect((LOOPBACK, viewer.port))
                plain.append(one.dup())
        time.sleep(0.3)
        assert len(viewer.guard.connections) <= guarded_server.CONNECTIONS
    finally:
        for one in plain:
            one.close()
    until_free(viewer)
    goes_on(viewer)


def until(condition):
    end = time.monotonic() + 20.0
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def until_free(viewer):
    until(lambda: len(viewer.guard.connections) <= 4 and not viewer.guard.browsers)


def test_more_pages_than_are_served_are_sent_away(viewer, monkeypatch):
    monkeypatch.setattr(guarded_server, "BROWSERS", 3)
    until_free(viewer)

    async def crowd():
        async with connected(viewer), connected(viewer), connected(viewer):
            with pytest.raises(rejected, match="503"):
                async with connected(viewer):
                    pass

    run(crowd())
    until_free(viewer)
    goes_on(viewer)


def test_a_flood_of_messages_waits_its_turn(viewer):
    """Messages beyond the allowance are taken slowly; the simulation has the processor meanwhile."""
    allowed = Allowance(rate=100.0, most=10.0)
    delays = [allowed.delay(1.0) for _ in range(30)]
    assert delays[9] == 0.0
    assert delays[-1] == pytest.approx(0.2, abs=0.05)
    stop = threading.Event()

    async def flood():
        message = msgspec.msgpack.encode(CAMERA)
        async with connected(viewer) as page:
            while not stop.is_set():
                await asyncio.wait([asyncio.create_task(page.send(message))], timeout=0.2)
            page.transport.abort()

    flooding = threading.Thread(target=lambda: asyncio.run(flood()))
    flooding.start()
    try:
        goes_on(viewer)
        goes_on(viewer)
    finally:
        stop.set()
        flooding.join(timeout=20)
    assert not flooding.is_alive()


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.3.2.1", True), ("0.0.0.0", False), ("::", False),
     ("192.168.0.3", False), ("robot.example", False)],
)  # fmt: skip
def test_only_this_machine_needs_no_token(host, loopback):
    assert is_loopback(host) is loopback
    assert (Admission(host).token is None) is loopback


def test_beyond_this_machine_the_address_has_a_token(viewer, monkeypatch):
    """The server still listens on the loopback address here; it is asked as one that all can reach."""
    monkeypatch.setattr(viewer.guard, "admission", Admission("0.0.0.0"))
    token = viewer.guard.admission.token
    assert len(token) >= 32
    assert viewer.url.endswith(f"/?token={token}")
    assert answer(viewer)[0] == 403
    assert answer(viewer, f"/?token={token[:-1]}")[0] == 403
    assert answer(viewer, "/?token=")[0] == 403
    status, headers, _ = answer(viewer, f"/?token={token}")
    assert status == 200
    cookie = headers["Set-Cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=Strict"))
    pair = cookie.partition(";")[0]
    assert answer(viewer, Cookie=f"other=1; {pair}")[0] == 200
    assert answer(viewer, Cookie=pair[:-1])[0] == 403
    with pytest.raises(rejected, match="403"):
        spoken(viewer)
    with pytest.raises(rejected, match="403"):
        spoken(viewer, additional_headers={"Cookie": pair}, origin="http://evil.example")
    assert spoken(viewer, additional_headers={"Cookie": pair}) is None


def test_a_viser_that_cannot_be_guarded_is_refused(monkeypatch):
    monkeypatch.setattr(guarded_server.Guard, "serve", lambda self, usual, *given, **options: usual(*given, **options))
    with pytest.raises(pl.PliantError, match=r"viser>=1\.1"):
        guarded_server.start_server(LOOPBACK, 0, "test")
