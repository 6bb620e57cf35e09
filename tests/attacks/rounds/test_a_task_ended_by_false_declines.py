"""One participant ends a masked task: it says that it had revealed shares for each version before.

The server once made every version that was declined so the next one unchanged, until none was left.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.errors import PeerError
from backend.peer.rounds.masking_secrets import RoundSecrets
from backend.protocols.secagg import member
from backend.protocols.secagg.member_events import SendMasked
from backend.wire.masked_messages import Decline, Keys
from tests.support.attacks.simulated_rounds import play

CLIENTS, LIARS = 7, (3, 5)


class Declines(RoundSecrets):
    """Makes no keys; what it says of that is below."""

    def keys(self) -> Keys:
        """See RoundSecrets."""
        raise PeerError("No.")


@pytest.fixture(autouse=True)
def false_declines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        member, "_decline", lambda number, _spent=False: SendMasked(Decline(round=number, spent=True))
    )


def test_others_go_on_without_who_declines_falsely(tmp_path: Path) -> None:
    """The first round opens for four clients, so it may need them."""
    rounds = play(tmp_path, CLIENTS, dict.fromkeys(LIARS, Declines), rounds=4)
    assert [record.outcome for record in rounds[1:]] == ["version"] * 3
    assert all(record.accepted for record in rounds[1:])


def test_where_it_is_needed_no_version_is_used_up(tmp_path: Path) -> None:
    """The task waits for another client; it does not end."""
    rounds = play(tmp_path, 4, {LIARS[0]: Declines}, rounds=9)
    assert [record.outcome for record in rounds] == ["abandoned"]


def test_no_version_is_used_up_after_a_restart_either(tmp_path: Path) -> None:
    rounds = play(tmp_path, 4, {LIARS[0]: Declines}, rounds=9, restarts=2)
    assert {record.outcome for record in rounds} == {"abandoned"}
