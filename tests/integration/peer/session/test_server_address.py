from __future__ import annotations

import pytest

from backend.errors import PeerError
from backend.peer.session.server_address import ServerAddress, parse_address


@pytest.mark.parametrize(
    ("address", "root", "task"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000", None),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000", None),
        ("127.0.0.1:8000", "http://127.0.0.1:8000", None),
        ("https://example.org/tasks/digits", "https://example.org", "digits"),
        ("https://example.org/tasks/digits/train?backend=wasm", "https://example.org", "digits"),
        ("https://example.org/minga/tasks/digits/", "https://example.org/minga", "digits"),
        ("http://[::1]:8000/tasks/digits", "http://[::1]:8000", "digits"),
    ],
)
def test_an_address_gives_root_and_task(address: str, root: str, task: str | None) -> None:
    assert parse_address(address) == ServerAddress(root, task)


@pytest.mark.parametrize(
    "address", ["ftp://example.org", "http://", "http://example.org:99999", "http://[::1", ""]
)
def test_what_is_no_address_is_refused_with_an_example(address: str) -> None:
    with pytest.raises(PeerError, match=r"write it like http://127\.0\.0\.1:8000"):
        parse_address(address)


def test_the_socket_is_encrypted_where_the_site_is() -> None:
    assert parse_address("https://a.org").socket("digits") == "wss://a.org/api/tasks/digits/socket"
    assert parse_address("a.org").socket("digits") == "ws://a.org/api/tasks/digits/socket"
