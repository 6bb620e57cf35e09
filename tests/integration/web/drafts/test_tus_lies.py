"""Uploads by tus that lie: about their version, length, name, place, type or owner."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.web.draft_client import PIECE, TUS, Drafter, metadata
from tests.support.web.server_process import Server
from tests.support.web.visitors import Visitor, owner, program

CONTENT = b"a,b\n" + b"1,2\n" * 1000
SIZE = str(len(CONTENT))
NINE = {"Upload_Length": "9"}
NAMED = metadata(filename="d.csv")


def offset_of(drafter: Drafter, url: str) -> int:
    return int(drafter.send("HEAD", url, **TUS).headers["upload-offset"])


@pytest.mark.parametrize("version", [None, "0.2.2", "1.0", "1.0.0, 2.0.0", ""])
def test_another_version_of_tus_changes_nothing(bob: Drafter, draft: str, version: str | None) -> None:
    url = bob.announce(draft, "data", "d.csv", len(CONTENT))
    said = {} if version is None else {"Tus_Resumable": version}
    lengths = {"Upload_Length": SIZE, **NAMED}
    answers = [
        bob.send("POST", f"{draft}/files/data", **said, **lengths),
        bob.send("HEAD", url, **said),
        bob.send("PATCH", url, b"abc", **{**PIECE, "Tus_Resumable": version or "", "Upload_Offset": "0"}),
        bob.send("DELETE", url, **said),
    ]
    assert {(answer.status, answer.headers["tus-version"]) for answer in answers} == {(412, "1.0.0")}
    assert offset_of(bob, url) == 0


LYING: list[tuple[str, dict[str, str], int, str]] = [
    ("no length", NAMED, 400, "Upload-Length is missing"),
    ("a deferred length", {**NAMED, "Upload_Defer_Length": "1"}, 400, "Upload-Length is missing"),
    ("a length below zero", {**NAMED, "Upload_Length": "-1"}, 400, "whole number"),
    ("a length with a sign", {**NAMED, "Upload_Length": "+9"}, 400, "whole number"),
    ("a length that is no number", {**NAMED, "Upload_Length": "1e3"}, 400, "whole number"),
    ("a length of other digits", {**NAMED, "Upload_Length": "\xb2"}, 400, "whole number"),
    ("a vast length", {**NAMED, "Upload_Length": "9" * 400}, 400, "whole number"),
    ("no bytes", {**NAMED, "Upload_Length": "0"}, 422, "is empty"),
    ("ten gigabytes", {**NAMED, "Upload_Length": str(10 << 30)}, 413, "the limit is 1 MiB"),
    ("no name", NINE, 422, "has no name"),
    ("a name that is a path", {**NINE, **metadata(filename="../")}, 422, "has no name"),
    ("invisible names", {**NINE, **metadata(filename="\0\x1b")}, 422, "has no name"),
    ("a pickle", {**NINE, **metadata(filename="m.pkl")}, 422, "never opened"),
    (
        "a hash that is a path",
        {**NINE, **metadata(filename="d.csv", sha256="../../etc")},
        400,
        "64 lower-case",
    ),
    ("no base64", {**NINE, "Upload_Metadata": "filename d.csv"}, 400, "UTF-8 in base64"),
    ("half of base64", {**NINE, "Upload_Metadata": "filename ZC5jc3"}, 400, "UTF-8 in base64"),
    ("no UTF-8", {**NINE, "Upload_Metadata": "filename /w=="}, 400, "UTF-8 in base64"),
    ("letters beyond ASCII", {**NINE, "Upload_Metadata": "f\xefle ZC5jc3Y="}, 400, "UTF-8 in base64"),
    (
        "a key twice",
        {**NINE, "Upload_Metadata": "filename ZC5jc3Y=,filename ZC5jc3Y="},
        400,
        "different keys",
    ),
    ("no key", {**NINE, "Upload_Metadata": "filename ZC5jc3Y=, "}, 400, "UTF-8 in base64"),
    ("spaces without end", {**NINE, "Upload_Metadata": f"filename{' ' * 8000}ZC5jc3Y="}, 400, "in base64"),
    ("commas alone", {**NINE, "Upload_Metadata": ",,,"}, 400, "UTF-8 in base64"),
    ("two values", {**NINE, "Upload_Metadata": "filename ZC5jc3Y= ZC5jc3Y="}, 400, "UTF-8 in base64"),
]


@pytest.fixture(scope="module")
def shared(bob: Drafter) -> str:
    """One draft for all requests that change nothing."""
    return bob.begin("shared")


@pytest.mark.parametrize(("headers", "status", "sentence"), [c[1:] for c in LYING], ids=[c[0] for c in LYING])
def test_an_announcement_that_lies_begins_nothing(
    bob: Drafter, shared: str, headers: dict[str, str], status: int, sentence: str
) -> None:
    answer = bob.send("POST", f"{shared}/files/data", **TUS, **headers)
    assert (answer.status, answer.json["error"]["message"].find(sentence) >= 0) == (status, True), answer.text
    shown = bob.send("GET", shared).json
    assert (shown["files"], shown["uploads"]) == ({}, {})


def test_a_path_in_a_name_is_left_out(bob: Drafter, draft: str) -> None:
    for name in ("../../etc/d.csv", "C:\\windows\\d.csv", "/d.csv"):
        bob.upload(draft, "data", name, CONTENT)
        assert bob.send("GET", draft).json["files"]["data"]["name"] == "d.csv"


PLACES: list[tuple[dict[str, str], int, str]] = [
    ({}, 400, "Upload-Offset is missing"),
    ({"Upload_Offset": "-1"}, 400, "whole number"),
    ({"Upload_Offset": "9" * 40}, 400, "whole number"),
    ({"Upload_Offset": "0x4"}, 400, "whole number"),
    ({"Upload_Offset": "3"}, 409, "Byte 4 was expected, not 3"),
    ({"Upload_Offset": "5"}, 409, "Byte 4 was expected, not 5"),
    ({"Upload_Offset": SIZE}, 409, "Byte 4 was expected"),
    (
        {"Upload_Offset": "4", "Content_Type": "application/octet-stream"},
        415,
        "application/offset+octet-stream",
    ),
    ({"Upload_Offset": "4", "Content_Type": "text/plain"}, 415, "offset+octet-stream"),
]


@pytest.mark.parametrize(("headers", "status", "sentence"), PLACES)
def test_a_piece_at_a_wrong_place_or_of_another_type_changes_nothing(
    bob: Drafter, draft: str, headers: dict[str, str], status: int, sentence: str
) -> None:
    url = bob.announce(draft, "data", "d.csv", len(CONTENT))
    bob.piece(url, 0, CONTENT[:4])
    answer = bob.send("PATCH", url, b"1,2\n", **{**PIECE, **headers})
    assert (answer.status, sentence in answer.text) == (status, True), answer.text
    assert offset_of(bob, url) == 4


def test_bytes_beyond_the_length_discard_the_upload(bob: Drafter, draft: str) -> None:
    url = bob.announce(draft, "data", "d.csv", 8)
    answer = bob.piece(url, 0, CONTENT)
    assert (answer.status, "and more arrived" in answer.text) == (422, True)
    # Nothing of it becomes the draft's file.
    assert bob.send("GET", draft).json["files"] == {}


def test_an_upload_of_another_owner_is_not_found(
    server: Server, ann: Visitor, bob: Drafter, draft: str
) -> None:
    url = bob.announce(draft, "data", "d.csv", len(CONTENT))
    eve = Drafter(program(owner(ann, "eve"), "create"))
    for drafter, status in ((eve, 404), (Drafter(Visitor(server.url)), 401)):
        answers = [
            drafter.send("HEAD", url, **TUS),
            drafter.piece(url, 0, CONTENT),
            drafter.send("DELETE", url, **TUS),
            drafter.send("POST", f"{draft}/files/data", **TUS, Upload_Length=SIZE, **NAMED),
        ]
        assert {answer.status for answer in answers} == {status}
    assert offset_of(bob, url) == 0
    # Neither is one's own at another draft, of another kind, or by a name that leads elsewhere.
    own, last = eve.begin("own"), url.rpartition("/")[2]
    for other in (f"{own}/files/data/{last}", f"{own}/files/secret/{last}", f"{own}/files/data/..%2F{last}"):
        assert eve.piece(other, 0, CONTENT).status == 404
    assert bob.piece(url.replace("/data/", "/model/"), 0, CONTENT).status == 404


def test_pages_of_other_sites_upload_nothing(ann: Visitor) -> None:
    draft = f"/api/drafts/{ann.ask('POST', '/api/drafts', {'name': 'theirs'}, 201)['id']}"
    headers: dict[str, Any] = {**TUS, "Upload_Length": "9", **NAMED}
    for site in ({"Origin": "https://elsewhere.example"}, {"Sec_Fetch_Site": "cross-site"}):
        ann.ask("POST", f"{draft}/files/data", None, 403, **headers, **site)
