"""Uploads by tus 1.0 over HTTP: pieces, cuts, two writers at once, drafts that are deleted meanwhile."""

from __future__ import annotations

import hashlib
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.draft_client import TUS, Drafter, metadata
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, program

CONTENT = b"a,b\n" + b"1,2\n" * 1000
SIZE = str(len(CONTENT))
NAMED = metadata(filename="d.csv")


def offset_of(drafter: Drafter, url: str) -> int:
    return int(drafter.send("HEAD", url, **TUS).headers["upload-offset"])


def test_a_server_says_what_of_tus_it_speaks(server: Server, draft: str) -> None:
    told = Drafter(Visitor(server.url)).send("OPTIONS", f"{draft}/files/data")
    named = {key: value for key, value in told.headers.items() if key.startswith("tus-")}
    assert (told.status, named) == (
        204,
        {
            "tus-resumable": "1.0.0",
            "tus-version": "1.0.0",
            "tus-extension": "creation,termination",
            "tus-max-size": str(1 << 20),
        },
    )


def test_a_file_comes_in_pieces(bob: Drafter, draft: str) -> None:
    said = metadata(filename="my d.csv", sha256=hashlib.sha256(CONTENT).hexdigest(), filetype="text/csv")
    made = bob.send("POST", f"{draft}/files/data", **TUS, Upload_Length=SIZE, **said)
    url = made.headers["location"]
    assert (made.status, made.text) == (201, "")
    assert bob.piece(url, 0, CONTENT[:1500]).headers["upload-offset"] == "1500"
    head = bob.send("HEAD", url, **TUS)
    told = [head.headers[name] for name in ("upload-offset", "upload-length", "cache-control")]
    assert (head.status, told) == (200, ["1500", SIZE, "no-store"])
    assert head.headers["upload-metadata"] == said["Upload_Metadata"]
    # The same piece again, as after an answer that got lost: told where to go on.
    again = bob.piece(url, 0, CONTENT[:1500])
    assert (again.status, "Byte 1500 was expected" in again.text) == (409, True)
    assert bob.piece(url, 1500, CONTENT[1500:]).headers["upload-offset"] == SIZE
    shown = bob.send("GET", draft).json
    assert shown["files"]["data"]["name"] == "my d.csv"
    assert shown["files"]["data"]["sha256"] == hashlib.sha256(CONTENT).hexdigest()
    states = {item["key"]: item["state"] for item in shown["checklist"]}
    assert (states["data-file"], states["model-file"], states["convert"]) == ("done", "todo", "todo")
    # A client that lost the last answer asks at the same URL.
    last = bob.send("HEAD", url, **TUS).headers
    assert (last["upload-offset"], last["upload-length"]) == (SIZE, SIZE)
    assert last["upload-metadata"] == said["Upload_Metadata"]


def test_every_answer_names_the_version(bob: Drafter, draft: str) -> None:
    url = bob.announce(draft, "data", "d.csv", len(CONTENT))
    answers = [
        bob.send("HEAD", url, **TUS),
        bob.piece(url, 7, b"abc"),
        bob.piece(url, 0, b"abc"),
        bob.send("POST", f"{draft}/files/data", **TUS),
        bob.send("DELETE", url, **TUS),
        bob.send("HEAD", url, **TUS),
    ]
    assert [answer.status for answer in answers] == [200, 409, 204, 400, 204, 404]
    assert {answer.headers["tus-resumable"] for answer in answers} == {"1.0.0"}
    assert "upload-offset" not in answers[-1].headers


def test_a_replaced_upload_takes_no_more_bytes(bob: Drafter, draft: str) -> None:
    first = bob.announce(draft, "data", "d.csv", len(CONTENT))
    bob.piece(first, 0, CONTENT[:8])
    second = bob.announce(draft, "data", "d.csv", len(CONTENT))
    assert (bob.piece(first, 8, CONTENT[8:]).status, bob.send("HEAD", first, **TUS).status) == (404, 404)
    assert offset_of(bob, second) == 0


def open_piece(bob: Drafter, url: str, offset: int, content: bytes, length: int | None) -> socket.socket:
    """Sends the head of a piece and some of its bytes; without `length` in chunks."""
    host, port = bob.visitor.host.split(":")
    made = socket.create_connection((host, int(port)), timeout=PATIENCE)
    body = content if length is not None else b"%x\r\n%s\r\n" % (len(content), content)
    how = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    lines = (
        f"PATCH {url} HTTP/1.1",
        f"Host: {bob.visitor.host}",
        f"Authorization: Bearer {bob.visitor.token}",
        f"Upload-Offset: {offset}",
        "Tus-Resumable: 1.0.0",
        "Content-Type: application/offset+octet-stream",
        how,
    )
    made.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    return made


def wait_until_received(bob: Drafter, url: str, whole: bool) -> None:
    """Sends pieces of no bytes until the one before is being received, or has ended."""
    end = time.monotonic() + PATIENCE
    while ("already being received" in bob.piece(url, 8, b"").text) == whole:
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("length", [len(CONTENT), None], ids=["announced", "in chunks"])
def test_of_a_piece_that_stops_in_the_middle_what_came_counts(
    bob: Drafter, draft: str, length: int | None
) -> None:
    url = bob.announce(draft, "data", "d.csv", len(CONTENT))
    with open_piece(bob, url, 0, CONTENT[:8], length):
        wait_until_received(bob, url, whole=False)
    wait_until_received(bob, url, whole=True)
    assert offset_of(bob, url) == 8
    assert bob.piece(url, 8, CONTENT[8:]).status == 204
    assert bob.send("GET", draft).json["files"]["data"]["sha256"] == hashlib.sha256(CONTENT).hexdigest()


def test_of_two_writers_one_is_refused(bob: Drafter, draft: str) -> None:
    url = bob.announce(draft, "data", "d.csv", len(CONTENT))
    assert bob.piece(url, 0, CONTENT[:8]).status == 204
    with open_piece(bob, url, 8, CONTENT[8:16], len(CONTENT) - 8) as first:
        wait_until_received(bob, url, whole=False)
        assert bob.piece(url, 8, CONTENT[8:]).status == 409
        # Nor is the upload discarded or replaced under the hands of the first.
        assert bob.send("DELETE", url, **TUS).status == 409
        again = bob.send("POST", f"{draft}/files/data", **TUS, Upload_Length=SIZE, **NAMED)
        assert again.status == 409
        first.sendall(CONTENT[16:])
        assert first.recv(1 << 10).startswith(b"HTTP/1.1 204")
    assert bob.send("GET", draft).json["files"]["data"]["sha256"] == hashlib.sha256(CONTENT).hexdigest()


def test_many_writers_at_the_same_byte_write_it_once(bob: Drafter, draft: str) -> None:
    url = bob.announce(draft, "data", "d.csv", len(CONTENT))
    statuses: list[int] = []
    writers = [
        threading.Thread(target=lambda: statuses.append(bob.piece(url, 0, CONTENT[:2000]).status))
        for _ in range(8)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(statuses) == [204] + [409] * 7
    bob.piece(url, 2000, CONTENT[2000:])
    assert bob.send("GET", draft).json["files"]["data"]["sha256"] == hashlib.sha256(CONTENT).hexdigest()


@pytest.mark.parametrize(
    "rest", [b"8\r\n1,2\n1,2\n\r\n0\r\n\r\n", b"0\r\n\r\n"], ids=["more", "nothing more"]
)
def test_a_piece_for_a_draft_that_was_deleted_meanwhile_is_refused(
    bob: Drafter, draft: str, rest: bytes
) -> None:
    url = bob.announce(draft, "data", "d.csv", len(CONTENT))
    assert bob.piece(url, 0, CONTENT[:8]).status == 204
    with open_piece(bob, url, 8, CONTENT[8:16], None) as upload:
        wait_until_received(bob, url, whole=False)
        assert bob.send("DELETE", draft).status == 204
        upload.sendall(rest)
        assert upload.recv(1 << 10).startswith(b"HTTP/1.1 404")
    assert bob.send("HEAD", url, **TUS).status == 404


def test_a_server_killed_after_the_last_byte_keeps_the_file_and_goes_on(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    content = b"a,b,class\n" + b"1,2,x\n3,4,y\n" * 10
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        bob = Drafter(program(operator(server), "create"))
        draft = bob.begin("cats")
        bob.send("PATCH", draft, {"onward": True})
        url = bob.announce(draft, "data", "d.csv", len(content))
        bob.piece(url, 0, content[:50])
        server.stop(signal.SIGKILL)
        # Its last write before the kill.
        (part,) = (tmp_path / "data" / "drafts").glob("*/data.part")
        part.write_bytes(content)
        server.start()
        bob = Drafter(Visitor(server.url, bob.visitor.token))
        assert offset_of(bob, url) == len(content)
        shown = bob.send("GET", draft).json
        assert (shown["files"]["data"]["bytes"], shown["uploads"]) == (len(content), {})
        assert bob.ended(draft, "look")["state"] == "done"
