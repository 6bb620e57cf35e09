"""Files from addresses that others chose, from a real server that does not always behave."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.download import DownloadRequest, fetch, public_address
from backend.errors import DataError, UnreachableError
from tests.support.environment.data_server import Elsewhere, elsewhere

CONTENT = bytes(range(256)) * 1000
NAMES = ("good", "gone", "busy", "moved", "longer", "endless", "short")


@pytest.fixture(scope="module")
def server() -> Iterator[Elsewhere]:
    files = {f"/{name}.npz": CONTENT for name in NAMES}
    faults: dict[str, Any] = {
        "gone": "missing",
        "busy": "away",
        "moved": "redirect",
        "longer": "longer",
        "endless": "endless",
        "short": "short",
    }
    with elsewhere(files, **faults) as server:
        yield server


def wanted(server: Elsewhere, name: str, **changes: Any) -> DownloadRequest:
    digest = hashlib.sha256(CONTENT).hexdigest()
    usual: dict[str, Any] = {"bytes": len(CONTENT), "sha256": digest, "private": True}
    return DownloadRequest(f"{server.origin}/{name}.npz", **(usual | changes))


def get(one: DownloadRequest, folder: Path) -> str:
    return fetch(one, folder / "file", lambda: False)


def test_a_file_comes_whole_and_says_how_far_it_is(server: Elsewhere, tmp_path: Path) -> None:
    lengths: list[int] = []
    digest = fetch(wanted(server, "good", sha256=None), tmp_path / "file", lambda: False, lengths.append)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert digest == hashlib.sha256(CONTENT).hexdigest()
    assert lengths == sorted(lengths)
    assert lengths[-1] == len(CONTENT)


@pytest.mark.parametrize(
    ("name", "changes", "told"),
    [
        ("good", {"sha256": "0" * 64}, "not the file that the task's owner declared"),
        ("good", {"bytes": 1000}, "longer than the 1,000 bytes that were announced"),
        ("longer", {}, "longer than the 256,000 bytes"),
        ("endless", {}, "longer than the 256,000 bytes"),
        ("gone", {}, "not public: .* answers 404"),
        ("moved", {}, "redirects to another address"),
        ("good", {"private": False}, "127.0.0.1, an address of a local network"),
    ],
)
def test_what_the_owner_has_to_mend_is_told(
    server: Elsewhere, tmp_path: Path, name: str, changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(DataError, match=told):
        get(wanted(server, name, **changes), tmp_path)


@pytest.mark.parametrize(
    ("name", "changes", "told"),
    [
        ("busy", {}, "answers 503"),
        ("short", {}, "broke off after 255,999 bytes"),
        ("endless", {"bytes": 1 << 30, "seconds": 0.0}, "is too slow"),
    ],
)
def test_what_may_be_better_later_is_told(
    server: Elsewhere, tmp_path: Path, name: str, changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(UnreachableError, match=told):
        get(wanted(server, name, **changes), tmp_path)


def test_nobody_at_the_address_is_told(tmp_path: Path) -> None:
    with elsewhere({}) as gone:
        origin = gone.origin
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1"):
        get(DownloadRequest(f"{origin}/file.npz", 10, private=True), tmp_path)


def test_a_place_that_speaks_no_tls_is_told(server: Elsewhere, tmp_path: Path) -> None:
    address = server.origin.replace("http", "https") + "/good.npz"
    with pytest.raises(UnreachableError, match="sent an invalid answer"):
        get(DownloadRequest(address, 10, private=True), tmp_path)


def test_who_has_enough_waits_no_longer(server: Elsewhere, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not fetched to its end"):
        fetch(wanted(server, "good"), tmp_path / "file", lambda: True)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "10.1.2.3",
        "192.168.1.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",  # noqa: S104 - not bound to.
        "224.0.0.1",
        "[::1]",
        "[fe80::1]",
        "[fd00::1]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b::808:808]",
        "[2002:7f00:1::]",
        "[2001:0:7f00:1::]",
        "2130706433",
    ],
)
def test_names_that_lead_into_a_local_network_are_refused(host: str) -> None:
    with pytest.raises(DataError, match="an address of a local network"):
        public_address(DownloadRequest(f"https://{host}/data.npz", 10))


def test_public_addresses_are_taken() -> None:
    assert public_address(DownloadRequest("https://192.0.43.8/data.npz", 10)) == "192.0.43.8"
