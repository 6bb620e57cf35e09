"""What attackers of a hosted training see of a round, and when they send."""

from __future__ import annotations

import asyncio

import numpy as np

from backend.lab.attacks.attack import AttackedRound, UpdateAttack, UpdateRows
from backend.lab.attacks.blind_attacks import stale_replay
from backend.lab.attacks.informed_attacks import inner_product
from backend.lab.socket_lab.attacked_cohort import AttackedCohort
from backend.numerics.vectors import Vector

UPDATES = np.random.default_rng(1).standard_normal((4, 6)).astype(np.float32)


async def all_sent(cohort: AttackedCohort, version: int, updates: UpdateRows = UPDATES) -> list[Vector]:
    return await asyncio.gather(
        *(cohort.sent(client, version, update) for client, update in enumerate(updates))
    )


async def test_attackers_see_the_honest_updates_of_the_round() -> None:
    sent = await all_sent(AttackedCohort(4, 1, inner_product()), 0)
    np.testing.assert_allclose(sent[0], -2 * UPDATES[1:].mean(axis=0), rtol=1e-5)
    for update, own in zip(sent[1:], UPDATES[1:], strict=True):
        np.testing.assert_array_equal(update, own)


async def test_attackers_wait_for_all_others_and_honest_clients_for_nobody() -> None:
    cohort = AttackedCohort(4, 2, inner_product())
    attackers = [asyncio.create_task(cohort.sent(client, 0, UPDATES[client])) for client in (0, 1)]
    await cohort.sent(2, 0, UPDATES[2])
    await asyncio.sleep(0)
    assert not any(one.done() for one in attackers)
    await cohort.sent(3, 0, UPDATES[3])
    first, second = await asyncio.gather(*attackers)
    np.testing.assert_array_equal(first, second)


async def test_an_update_that_is_asked_for_again_is_forged_once() -> None:
    rounds: list[AttackedRound] = []

    def forge(known: AttackedRound) -> UpdateRows:
        rounds.append(known)
        return -known.own

    cohort = AttackedCohort(4, 1, UpdateAttack("counted", forge))
    await all_sent(cohort, 3)
    # The round was abandoned, and the refused attacker trains the same version again.
    np.testing.assert_array_equal(await cohort.sent(0, 3, UPDATES[0]), -UPDATES[0])
    assert [known.number for known in rounds] == [3]


async def test_attackers_remember_their_own_updates_as_long_as_their_attack_needs() -> None:
    cohort = AttackedCohort(4, 1, stale_replay(delay=2))
    sent = [(await all_sent(cohort, version, UPDATES + version))[0] for version in range(4)]
    for version, earlier in enumerate((0, 0, 0, 1)):
        np.testing.assert_array_equal(sent[version], UPDATES[0] + earlier)


async def test_without_an_attack_on_updates_everybody_sends_what_they_trained() -> None:
    cohort = AttackedCohort(4, 1, None)
    np.testing.assert_array_equal(await cohort.sent(0, 0, UPDATES[0]), UPDATES[0])
