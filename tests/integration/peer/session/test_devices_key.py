"""The key of a volunteer's devices: in its file, and at a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.errors import PeerError
from backend.peer.session.devices_key import FILE, read_devices_key, stored_devices_key
from backend.wire.client_id import client_id
from tests.support.peer.peer_process import joined
from tests.support.web.server_process import running
from tests.support.web.visitors import Visitor

ALONE = ("--set", "digits.coordination.min_available_clients=1", "--set", "digits.coordination.gather=0")


def test_a_machine_keeps_its_key_from_others(tmp_path: Path) -> None:
    key = stored_devices_key(tmp_path / "minga")
    assert stored_devices_key(tmp_path / "minga") == key
    assert (tmp_path / "minga" / FILE).stat().st_mode & 0o077 == 0
    assert stored_devices_key(tmp_path / "other") != key


@pytest.mark.parametrize("text", ["", "minga_devices_", "0123456789abcdef", "minga_devices_" + "é" * 43])
def test_a_file_without_a_key_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "key").write_text(text, "utf-8")
    with pytest.raises(PeerError):
        read_devices_key(tmp_path / "key")
    with pytest.raises(PeerError):
        read_devices_key(tmp_path / "nothing")


@pytest.mark.tensorflow
def test_two_peers_and_a_browser_are_devices_of_one_volunteer(digits: Path, tmp_path: Path) -> None:
    key = stored_devices_key(tmp_path)
    words = ("--key", str(tmp_path / FILE))
    with running(digits, tmp_path / "data", *ALONE, "--set", "digits.coordination.rounds=1000") as server:
        browser = Visitor(server.url)
        browser.ask("PUT", "/api/devices", {"key": key, "token": "b" * 43})
        clients = [client_id("b" * 43)]
        for name in ("one", "two"):
            with joined(tmp_path / name, server.url, *words, "--name", name) as peer:
                assert peer.expect("linked-device")["devices"] == len(clients) + 1
                clients.append(peer.expect("connected")["client"])
                peer.expect("accepted")
                assert peer.stop() == 0
                assert key not in peer.end()[1]
            assert not [news for news in peer.seen if key in str(news)]
        listed = browser.ask("POST", "/api/devices", {"key": key})["devices"]
    assert [(device["client"], device["name"]) for device in listed] == list(
        zip(clients, ["", "one", "two"], strict=True)
    )
