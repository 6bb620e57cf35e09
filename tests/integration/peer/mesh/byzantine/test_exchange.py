"""A Byzantine round over real links: the same bits for all, and no minority of liars changes that."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from backend.errors import GroupError
from backend.peer.mesh.byzantine import exchange
from backend.peer.mesh.byzantine.exchange import ByzantineExchange, show_of
from backend.protocols.mesh.byzantine import round_events as events
from backend.protocols.mesh.byzantine.adoption import is_proven
from backend.protocols.mesh.byzantine.evidence.building import EvidenceBuilder
from backend.protocols.mesh.byzantine.roles import roles_of
from tests.support.peer.byzantine_groups import (
    byzantine_peers,
    identities_of,
    order_of,
    play,
    rules_of,
    same,
    start_of,
    updates_of,
)
from tests.support.peer.linked_peers import TASK


@pytest.mark.parametrize("short", [0, 1 << 30], ids=["on other threads", "at once"])
async def test_four_members_agree_on_the_same_bits_twice_and_prove_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: int
) -> None:
    for name in ("_SHORT", "_SHORT_VECTOR"):
        monkeypatch.setattr(exchange, name, short)
    async with byzantine_peers(tmp_path, 4) as members:
        rules = rules_of()
        state, weights = start_of(members, rules)
        outcome = same(await play(members, rules, state, (weights, b"")))
        assert outcome.state.round == 1
        assert outcome.state.weights == hashlib.sha256(outcome.weights).digest()
        assert is_proven(TASK, rules.run, state, outcome.state, outcome.proof)
        moved, mean = np.frombuffer(outcome.weights, "<f4"), np.mean(updates_of(4), axis=0)
        # Nesterov's first step: rate times (1 + momentum) of the mean, which no radius cuts here.
        assert np.allclose(moved, 0.5 * 1.9 * mean, atol=1e-6)
        assert len(roles_of(outcome.state, 1).audits) == 1
        second = same(await play(members, rules, outcome.state, (outcome.weights, outcome.slots)))
        assert second.state.round == 2
        assert is_proven(TASK, rules.run, outcome.state, second.state, second.proof)


async def test_a_radius_to_be_measured_is_measured_in_a_round_that_leaves_the_weights(tmp_path: Path) -> None:
    async with byzantine_peers(tmp_path, 3) as members:
        rules = rules_of(radius=None)
        state, weights = start_of(members, rules)
        outcome = same(await play(members, rules, state, (weights, b"")))
        assert (outcome.weights, outcome.slots) == (weights, b"")
        # Each update is 0.003 per value away from the common one.
        assert 0.001 < outcome.state.radius < 0.005


class WrongMean(ByzantineExchange):
    """Makes another mean of its part than its pieces give."""

    async def _make_mean(self, job: Callable[[], bytes]) -> None:
        def moved() -> bytes:
            return (np.frombuffer(job(), "<f4") + np.float32(0.5)).tobytes()

        await super()._make_mean(moved)


class WrongNumbers(ByzantineExchange):
    """Says that its products are others."""

    async def _answer(self, job: Callable[[], events.RoundEvent]) -> None:
        def changed() -> events.RoundEvent:
            event = job()
            if isinstance(event, events.MeansChecked):
                return replace(event, products=[one + 0.25 for one in event.products])
            return event

        await super()._answer(changed)


class KeepsPieces(ByzantineExchange):
    """Sends nothing of its vector to anybody."""

    def _perform(self, effect: events.RoundEffect) -> None:
        if not isinstance(effect, events.SendBytes):
            super()._perform(effect)


async def _convicted(folder: Path, liar: type[ByzantineExchange], why: str) -> None:
    async with byzantine_peers(folder, 4) as members:
        rules = rules_of(patience=1.5)
        state, weights = start_of(members, rules)
        *ended, _ = await play(members, rules, state, (weights, b""), {3: liar})
        outcome, client = same(ended), members[3].own.client
        assert client not in outcome.state.membership.present(2)
        assert all((client, why) in member.removed for member in members[:3])
        is_banned = identities_of(members)[client] in outcome.state.membership.banned
        assert is_banned == why.startswith("wrong")
        for member in members[:3] if is_banned else ():
            builder = EvidenceBuilder(TASK, rules.run, client, identities_of(members)[client])
            said, find = member.convicting[client], member.contents.find_digest
            built = builder.removed("wrong-mean" if why == "wrong-mean" else "wrong-check", said, find)
            assert built is not None
        moved, mean = np.frombuffer(outcome.weights, "<f4"), np.mean(updates_of(4)[:3], axis=0)
        assert np.allclose(moved, 0.5 * 1.9 * mean, atol=1e-6)


async def test_an_owner_that_makes_a_wrong_mean_is_banned_and_its_mean_never_counts(tmp_path: Path) -> None:
    await _convicted(tmp_path, WrongMean, "wrong-mean")


async def test_a_member_that_says_wrong_numbers_is_banned(tmp_path: Path) -> None:
    await _convicted(tmp_path, WrongNumbers, "wrong-check")


async def test_a_member_that_keeps_its_pieces_rests_and_is_not_banned(tmp_path: Path) -> None:
    await _convicted(tmp_path, KeepsPieces, "absent")


async def test_a_member_that_is_gone_is_gone_on_without(tmp_path: Path) -> None:
    async with byzantine_peers(tmp_path, 4) as members:
        rules = rules_of(patience=1.0, seconds=3.0)
        state, weights = start_of(members, rules)
        await members[3].links.close()
        *ended, _ = await play(members, rules, state, (weights, b""))
        outcome = same(ended)
        assert not outcome.state.membership.banned
        assert members[3].own.client not in outcome.state.membership.present(2)


async def test_a_member_whose_links_end_within_a_round_is_gone_on_without(tmp_path: Path) -> None:
    async with byzantine_peers(tmp_path, 4) as members:
        rules = rules_of(patience=1.0, seconds=3.0)
        state, weights = start_of(members, rules)

        class Leaves(ByzantineExchange):
            async def _make_mean(self, job: Callable[[], bytes]) -> None:
                await members[3].links.close()
                await super()._make_mean(job)

        *ended, last = await play(members, rules, state, (weights, b""), {3: Leaves})
        outcome = same(ended)
        assert isinstance(last, GroupError)
        assert not outcome.state.membership.banned


async def test_the_link_to_a_member_that_sends_bad_bytes_ends_after_the_third_time(tmp_path: Path) -> None:
    async with byzantine_peers(tmp_path, 4) as members:
        rules = rules_of(patience=1.0, seconds=3.0)
        state, weights = start_of(members, rules)
        honest, liar = members[0], members[3]

        class BadBytes(ByzantineExchange):
            def _perform(self, effect: events.RoundEffect) -> None:
                if isinstance(effect, events.SendBytes):
                    for digest in (bytes([number]) * 32 for number in range(3)):
                        frame = show_of(order_of(members, 1), digest, 4)(0, memoryview(b"liar"))
                        liar.links.send(honest.own.client, frame)
                else:
                    super()._perform(effect)

        *ended, _ = await play(members, rules, state, (weights, b""), {3: BadBytes})
        outcome = same(ended)
        assert not outcome.state.membership.banned
        down = [one for one in honest.log if one[:2] == ("down", liar.own.client)]
        assert down
        assert down[0][2] == "it sends other bytes than it names"
