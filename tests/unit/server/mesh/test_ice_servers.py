from __future__ import annotations

import base64
import hashlib
import hmac
from pathlib import Path

import pytest

from backend.errors import SettingsError
from backend.server.mesh.ice_servers import IceServers
from backend.settings import read_settings

STUN, TURN = "stun:stun.example.org:3478", "turn:turn.example.org:3478?transport=udp"
ANN = "0123456789abcdef"
SECRET = IceServers((TURN,), "minga", "sesame", "north-wind")


def test_every_peer_gets_a_turn_password_of_its_own_from_the_secret() -> None:
    [server] = SECRET.servers(ANN, 1_000.9)
    assert server.username == f"87400:{ANN}"
    digest = hmac.digest(b"north-wind", server.username.encode(), hashlib.sha1)
    assert server.credential == base64.b64encode(digest).decode()


def test_stun_servers_get_no_password() -> None:
    stun, turn = IceServers((TURN, STUN), "minga", "sesame").servers(ANN, 0.0)
    assert (stun.urls, stun.username, stun.credential) == ([STUN], "", "")
    assert (turn.urls, turn.username, turn.credential) == ([TURN], "minga", "sesame")


def test_no_password_is_shown_where_the_settings_are() -> None:
    assert "sesame" not in repr(SECRET)
    assert "north-wind" not in repr(SECRET)


def test_settings_take_the_servers_and_the_password_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("sesame\n")
    environment = {
        "MINGA_ICE_SERVERS": f"{STUN}, {TURN}",
        "MINGA_TURN_USERNAME": "minga",
        "MINGA_TURN_PASSWORD_FILE": str(tmp_path / "password"),
    }
    assert read_settings({}, environment).ice == IceServers((STUN, TURN), "minga", "sesame")


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"MINGA_ICE_SERVERS": "stun.example.org"}, "give addresses such as stun:"),
        ({"MINGA_ICE_SERVERS": ",".join([STUN] * 9)}, "9 addresses; 8 are the most"),
        ({"MINGA_ICE_SERVERS": TURN}, "needs a password"),
        ({"MINGA_TURN_SECRET_FILE": "/nowhere/at/all"}, "secret in /nowhere/at/all cannot be read"),
    ],
)
def test_servers_that_cannot_help_are_refused(environment: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        read_settings({}, environment)
