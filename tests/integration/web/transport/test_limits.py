"""Visitors who drip, flood, fall silent or come in crowds are told why and let go; nobody else is touched."""

from __future__ import annotations

import json
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from websockets.frames import Frame, Opcode

from backend.wire.codec import encode
from backend.wire.messages import Chunk, Hello, Leave, Offer, Welcome
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.raw_client import Raw
from tests.support.web.server_process import Server, running

SECONDS, HEAD_BYTES, LONGEST = 2, 4096, 200 * 1024
LIMITS = {
    "MINGA_REQUEST_SECONDS": SECONDS,
    "MINGA_KEEP_ALIVE_SECONDS": 60,
    "MINGA_MAX_HEAD_BYTES": HEAD_BYTES,
    "MINGA_MAX_CONNECTIONS_PER_ADDRESS": 6,
    "MINGA_JOINS_PER_MINUTE": 20,
    "MINGA_REQUESTS_PER_MINUTE": 600,
    "MINGA_IDLE_SECONDS": SECONDS,
    "MINGA_STALL_SECONDS": SECONDS,
    # A whole message may take four seconds more.
    "MINGA_MIN_BYTES_PER_SECOND": LONGEST // 4,
    "MINGA_MAX_MESSAGE_BYTES": LONGEST,
    "MINGA_MAX_QUEUED_BYTES": 65536,
    "MINGA_FRAMES_PER_SECOND": 20,
    "MINGA_PINGS_PER_SECOND": 5,
}
LARGE = 3_000_000


def serving(folder: Path, **more: object) -> Iterator[Server]:
    write_task(folder / "tasks" / "tiny")
    write_task(folder / "tasks" / "large", more=LARGE)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**LIMITS, **more}.items():
            patch.setenv(name, str(value))
        with running(folder / "tasks", folder / "data", "--log-level", "error") as running_server:
            yield running_server
            assert running_server.process.poll() is None, "the server died"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from serving(tmp_path_factory.mktemp("limits"))


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that takes this machine for a reverse proxy, and any number of messages."""
    folder = tmp_path_factory.mktemp("proxied")
    more = {"MINGA_FRAMES_PER_SECOND": 10**6, "MINGA_KEEP_ALIVE_SECONDS": 1}
    yield from serving(folder, MINGA_TRUSTED_PROXIES="127.0.0.1", **more)


def connect(server: Server, source: str = "127.0.0.1") -> socket.socket:
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE, source_address=(source, 0))


def read(connection: socket.socket) -> bytes:
    """Everything until the server closes."""
    received = b""
    with suppress(ConnectionResetError):
        while data := connection.recv(65536):
            received += data
    return received


def hello() -> bytes:
    return encode(
        Hello(
            token=secrets.token_urlsafe(24),
            kind="peer",
            backend="numpy",
            agent="test",
            aggregation=["open"],
            min_masked=0,
        )
    )


def joined(server: Server, source: str, headers: str = "") -> Raw:
    """A client that said hello and was welcomed."""
    client = Raw(server.url, source=source, headers=headers)
    client.send(hello())
    client.hear_message(Welcome)
    return client


def told(client: Raw) -> tuple[str, str, int]:
    """Code and sentence of the closing frame, and the close code."""
    closing, code = client.last_words()
    assert closing is not None
    return closing.code, closing.reason, code


# Requests.


def drip(connection: socket.socket) -> None:
    """One header after the other, without an end."""
    while True:
        connection.sendall(b"X-More: 1\r\n")
        time.sleep(0.1)


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: x\r\n",
        b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1",
        b"GET /api/tasks/tiny/socket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n",
    ],
    ids=["nothing", "half a head", "half a body", "half a handshake"],
)
def test_half_a_request_ends_in_time(server: Server, start: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(start)
        answer = read(connection)
    assert b" 408 " in answer or b" 405 " in answer


def test_a_head_that_drips_ends_in_time(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            drip(connection)
    assert server.get("/api/tasks")["tasks"]


def test_an_endless_head_is_refused_at_its_limit(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * HEAD_BYTES)
        assert b" 431 " in read(connection)


def test_requests_that_come_whole_share_a_connection(server: Server) -> None:
    with connect(server) as connection:
        for _ in range(3):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = b""
            while not answer.endswith(b"ok"):
                answer += connection.recv(4096)
            time.sleep(SECONDS / 2)


def test_a_connection_stays_open_between_requests_as_long_as_the_operator_wants(
    server: Server, proxied: Server
) -> None:
    with connect(server) as patient, connect(proxied) as hasty:
        for connection in (patient, hasty):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b" 200 " in read(hasty)
        assert b" 200 " in patient.recv(65536)
        patient.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b" 200 " in patient.recv(65536)


@pytest.mark.parametrize("pause", [60.0, 0.2], ids=["not at all", "too little"])
def test_who_asks_for_much_and_does_not_read_it_is_let_go(server: Server, pause: float) -> None:
    with connect(server) as connection:
        weights = server.get("/api/tasks/large")["weights"]
        connection.sendall(f"GET /blobs/{weights} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert gone(server, connection, pause), "the server still waits"


def gone(server: Server, connection: socket.socket, pause: float) -> bool:
    """Whether the server drops the connection in time; a little is read from it after each `pause`."""
    mine, next_byte = connection.getsockname(), time.monotonic() + pause
    for _ in range(3000):
        if time.monotonic() > next_byte:
            connection.recv(2048)
            next_byte += pause
        if not established(server, mine[1]):
            return True
        time.sleep(0.1)
    return False


def established(server: Server, port: int) -> bool:
    """Whether the server's side of the connection from `port` of this machine is open."""
    here = int(server.url.rpartition(":")[2])
    ends = [line.split()[1:4] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(
        local.endswith(f":{here:04X}") and remote.endswith(f":{port:04X}") and state == "01"
        for local, remote, state in ends
    )


# Crowds.


def test_one_address_has_so_many_connections_and_is_told_beyond(server: Server) -> None:
    crowd, elsewhere = "127.0.0.10", "127.0.0.11"
    with ExitStack() as stack:
        clients = [stack.enter_context(joined(server, crowd)) for _ in range(6)]
        code, reason, number = told(stack.enter_context(Raw(server.url, source=crowd)))
        assert (code, number) == ("busy", 4013)
        assert "network address" in reason
        with connect(server, crowd) as connection:
            connection.sendall(b"GET /api/tasks HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = read(connection)
        assert b" 503 " in answer
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "busy"
        with connect(server, crowd) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n")
            assert b"<h1" in read(connection)
        stack.enter_context(joined(server, elsewhere))
        clients[0].send(encode(Leave()))
        clients[0].socket.close()
        for _ in range(3000):
            with connect(server, crowd) as connection:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                if b" 200 " in read(connection):
                    break
            time.sleep(0.05)
        else:
            pytest.fail("a place that became free is not given away")


def test_those_behind_a_trusted_proxy_are_counted_apart(proxied: Server) -> None:
    with ExitStack() as stack:
        for number in range(8):
            header = f"X-Forwarded-For: 198.51.100.{number}\r\n"
            stack.enter_context(joined(proxied, "127.0.0.1", header))
        spoofed = "X-Forwarded-For: 192.0.2.{}, 2001:db8::{}\r\n"
        for number in range(6):
            stack.enter_context(joined(proxied, "127.0.0.1", spoofed.format(number, number)))
        assert told(stack.enter_context(Raw(proxied.url, headers=spoofed.format(9, 9))))[0] == "busy"


def test_the_header_of_an_untrusted_proxy_is_ignored(server: Server) -> None:
    with ExitStack() as stack:
        for number in range(6):
            header = f"X-Forwarded-For: 198.51.100.{number}\r\n"
            stack.enter_context(joined(server, "127.0.0.12", header))
        last = stack.enter_context(
            Raw(server.url, source="127.0.0.12", headers="X-Forwarded-For: 198.51.100.99\r\n")
        )
        assert told(last)[0] == "busy"


def test_a_flood_of_requests_is_told_to_wait(server: Server) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with connect(server, "127.0.0.15") as connection, suppress(OSError):
        answer = b""
        while b" 429 " not in answer:
            connection.sendall(request)
            answer = connection.recv(65536)
        answer += read(connection)
    assert b" 429 " in answer
    assert b"600 a minute" in answer
    assert b"connection: close" in answer.lower()
    with connect(server, "127.0.0.16") as connection:
        connection.sendall(request)
        assert b" 200 " in connection.recv(65536)


def test_a_flood_of_joins_is_told_to_wait(server: Server) -> None:
    codes = []
    for _ in range(24):
        with Raw(server.url, source="127.0.0.13") as client:
            client.send(hello())
            client.send(b"", Opcode.CLOSE)
            codes.append(client.last_words())
    refused = [(closing, code) for closing, code in codes if closing is not None]
    assert 3 <= len(refused) <= 4
    assert {(closing.code, code) for closing, code in refused} == {("too-fast", 4029)}
    assert "20 a minute" in refused[0][0].reason
    joined(server, "127.0.0.14").socket.close()


# Sockets.


def test_a_flood_of_pings_is_ended(server: Server) -> None:
    with joined(server, "127.0.0.20") as client:
        with suppress(OSError):
            for _ in range(200):
                client.send(b"x" * 125, Opcode.PING)
        assert told(client) == (
            "too-fast",
            "Pings and pongs come too fast; 5 a second are the most here.",
            4029,
        )


def test_a_flood_of_messages_is_ended(server: Server) -> None:
    offer = encode(Offer(round=77, version=0, examples=1, steps=1, loss=0.0, sums=[], size=4))
    with joined(server, "127.0.0.21") as client:
        with suppress(OSError):
            for _ in range(400):
                client.send(offer)
        assert told(client) == ("too-fast", "Messages come too fast; 20 a second are the most here.", 4029)


def test_an_empty_message_is_sent_back_so_that_pages_see_whether_the_server_is_there(server: Server) -> None:
    with joined(server, "127.0.0.25") as client:
        client.send(b"")
        while (heard := client.hear()) != (Opcode.BINARY, b""):
            assert heard is not None


def test_a_flood_of_empty_messages_is_ended(server: Server) -> None:
    with joined(server, "127.0.0.26") as client:
        with suppress(OSError):
            for _ in range(400):
                client.send(b"")
        assert told(client) == ("too-fast", "Messages come too fast; 20 a second are the most here.", 4029)


def test_a_message_that_drips_is_ended_in_time(server: Server) -> None:
    with joined(server, "127.0.0.22") as client:
        frame = Frame(Opcode.BINARY, bytes(100_000)).serialize(mask=True)
        assert not client.drip(frame, seconds=20)
        code, reason, number = told(client)
        assert (code, number) == ("too-slow", 4028)
        assert "within 6 seconds" in reason


def test_who_is_silent_is_let_go(server: Server) -> None:
    with joined(server, "127.0.0.23") as client:
        assert told(client) == (
            "idle",
            f"Nothing arrived from you for {SECONDS} seconds. Connect again.",
            4008,
        )


def test_a_slow_upload_is_a_sign_of_life(server: Server) -> None:
    with joined(server, "127.0.0.24") as client:
        chunk = encode(Chunk(round=9, offset=0, data=memoryview(bytes(190_000))))
        frame = Frame(Opcode.BINARY, chunk).serialize(mask=True)
        assert client.drip(frame[:80], seconds=20, pause=2 * SECONDS / 80)
        client.socket.sendall(frame[80:])
        client.send(b"end")
        assert told(client)[0] == "bad-frame"


def test_who_makes_the_server_talk_and_does_not_listen_is_let_go(proxied: Server) -> None:
    offer = encode(Offer(round=77, version=0, examples=1, steps=1, loss=0.0, sums=[], size=4))
    frames = Frame(Opcode.BINARY, offer).serialize(mask=True) * 100
    with joined(proxied, "127.0.0.1") as client, suppress(OSError):
        for _ in range(10_000):
            client.socket.sendall(frames)
    for _ in range(3000):
        if not proxied.get("/api/tasks/tiny")["participants"]:
            break
        time.sleep(0.1)
    else:
        pytest.fail("the client is still there")


def test_the_longest_message_is_the_operators_choice(server: Server) -> None:
    with Raw(server.url, source="127.0.0.27") as client:
        client.send(hello())
        welcome = client.hear_message(Welcome)
        assert isinstance(welcome, Welcome)
        assert welcome.chunk_bytes + 1024 == LONGEST
        client.send(encode(Chunk(round=9, offset=0, data=memoryview(bytes(welcome.chunk_bytes)))))
        client.send(bytes(LONGEST + 1))
        code, reason, number = told(client)
        assert (code, number) == ("too-long", 1009)
        assert str(LONGEST) in reason


def test_compression_is_not_taken(server: Server) -> None:
    extension = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
    with Raw(server.url, source="127.0.0.26", headers=extension) as client:
        assert b"sec-websocket-extensions" not in client.head.lower()
        client.socket.sendall(b"\xc2" + Frame(Opcode.BINARY, b"squeezed").serialize(mask=True)[1:])
        code, reason, number = told(client)
        assert (code, number) == ("bad-frame", 1002)
        assert "cannot continue" in reason


def test_after_all_that_others_are_served(server: Server) -> None:
    assert {task["name"] for task in server.get("/api/tasks")["tasks"]} == {"tiny", "large"}
    joined(server, "127.0.0.30").socket.close()
