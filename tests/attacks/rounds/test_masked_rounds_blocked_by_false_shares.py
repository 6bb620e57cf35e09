"""One participant whose shares rebuild nothing ends every masked round that it is in, at no cost to itself.

Its update counts, so its secrets are needed to unmask the sum; that they cannot be rebuilt shows at the end.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from backend.peer.rounds.masking_secrets import NO_SHARE, RoundSecrets
from backend.protocols.secagg import member_events
from backend.wire.masked_messages import Keys
from tests.support.attacks.simulated_rounds import play

CLIENTS, LIAR = 7, 3


class SealsNonsense(RoundSecrets):
    """Seals what nobody can open."""

    def seal(self, request: member_events.SealShares) -> member_events.SharesSealed:
        """See RoundSecrets."""
        return replace(super().seal(request), sealed=[bytes(96) for _ in request.neighbours])


class SharesAnotherSecret(RoundSecrets):
    """Commits to one seed, and deals shares of another one."""

    def keys(self) -> Keys:
        """See RoundSecrets."""
        keys = super().keys()
        self._seed = bytes([*self._seed[:-1], self._seed[-1] ^ 1])
        return keys


class RevealsNonsense(RoundSecrets):
    """Deals true shares, and reveals false ones of everybody else's."""

    def reveal(self, request: member_events.MakeReveal) -> member_events.RevealMade:
        """See RoundSecrets."""
        revealed = super().reveal(request)
        return replace(revealed, shares=[bytes(32) for _ in revealed.shares])


class OpensNothing(RoundSecrets):
    """Deals true shares, and says that it could open nobody else's."""

    def reveal(self, request: member_events.MakeReveal) -> member_events.RevealMade:
        """See RoundSecrets."""
        revealed = super().reveal(request)
        return replace(revealed, shares=[NO_SHARE for _ in revealed.shares])


@pytest.mark.parametrize("program", [SealsNonsense, SharesAnotherSecret])
def test_who_shares_falsely_ends_one_round_and_is_kept_out(
    tmp_path: Path, program: type[RoundSecrets]
) -> None:
    rounds = play(tmp_path, CLIENTS, {LIAR: program}, rounds=3)
    assert [record.outcome for record in rounds[1:]] == ["version", "version"]
    assert rounds[0].refusals.get("false-shares") == 1


@pytest.mark.parametrize("program", [RevealsNonsense, OpensNothing])
def test_who_reveals_falsely_keeps_no_honest_client_out(tmp_path: Path, program: type[RoundSecrets]) -> None:
    """Five of seven true shares suffice."""
    liars = {LIAR: program, LIAR + 1: program}
    rounds = play(tmp_path, CLIENTS, liars, rounds=3, min_available_clients=CLIENTS)
    assert [record.outcome for record in rounds] == ["version"] * 3
    assert not any(record.refusals for record in rounds)
