from __future__ import annotations

import pytest

from backend.errors import PeerError
from backend.peer.mesh.listening import Listening
from backend.peer.session.server_address import Choice, ServerAddress, parse_address


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


@pytest.mark.parametrize(
    ("address", "reach", "in_lan"),
    [
        ("https://example.org", "public", "lan"),
        ("http://box.local:8000", "public", "lan"),
        ("http://192.168.1.4:8000", "lan", "lan"),
        ("http://[fd00::1]:8000", "lan", "lan"),
        ("http://127.0.0.1:8000", "host", "host"),
        ("localhost:8000", "host", "host"),
    ],
)
def test_other_peers_lead_as_far_as_the_server_or_its_task(address: str, reach: str, in_lan: str) -> None:
    server = parse_address(address)
    assert server.reach(Choice("digits", "decentralized")) == reach
    assert server.reach(Choice("digits", "decentralized", lan=True)) == in_lan


def test_a_peer_listens_where_others_connect() -> None:
    Listening("0.0.0.0", 9000, "ws://peer.example.org:9000").check("public")  # noqa: S104 - not bound to.
    Listening("192.168.1.4", 9000).check("lan")
    for listening in (Listening("192.168.1.4", 9000), Listening("127.0.0.1", 9000, "wss://[::1]:9000")):
        with pytest.raises(PeerError, match="Give one with --address"):
            listening.check("public")


def test_the_socket_is_encrypted_where_the_site_is() -> None:
    assert parse_address("https://a.org").socket("digits") == "wss://a.org/api/tasks/digits/socket"
    assert parse_address("a.org").socket("digits") == "ws://a.org/api/tasks/digits/socket"
