"""One client sends a well-formed lie: finite, within `max_update_norm`, opposite to what the others learned.

The mean follows it. A robust rule that bears one attacker stays among the updates of the others.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from backend.wire.messages import Accepted, Refused, Version
from tests.support.attacks.robust_rounds import cohort, moved, robust_server
from tests.support.tasks.tiny_task import SIZE

HONEST = np.random.default_rng(7).normal(0.1, 0.02, (6, SIZE)).astype(np.float32)
# Its norm is 47; the task takes 50.
LIE = np.full(SIZE, -15.0, np.float32)
UPDATES = [*HONEST[:3], LIE, *HONEST[3:]]
RULES = [
    'rule = "trimmed-mean"\nattackers = 1',
    'rule = "median"\nattackers = 1',
    'rule = "krum"\nattackers = 1',
    'rule = "multi-krum"\nattackers = 1\nbefore = ["nnm"]',
    'rule = "flame"\nattackers = 1',
    'rule = "geometric-median"\nattackers = 1\nbefore = [{ name = "bucketing", size = 2 }, "arc"]',
]


async def test_the_mean_follows_a_lie(tmp_path: Path) -> None:
    with robust_server(tmp_path, 7) as server:
        step = await moved(server, UPDATES)
    np.testing.assert_allclose(step, np.mean(UPDATES, axis=0), atol=1e-5)
    assert step.max() < -1.9  # Down, where all others went up.


@pytest.mark.parametrize("robust", RULES, ids=lambda text: text.replace("\n", ", "))
async def test_a_robust_rule_stays_among_the_others(robust: str, tmp_path: Path) -> None:
    with robust_server(tmp_path, 7, robust) as server:
        step = await moved(server, UPDATES)
        [recorded] = server.get("/api/tasks/tiny/rounds")["rounds"]
    assert recorded["rule"].endswith(robust.split('"')[1])
    assert "left_out" not in recorded  # For the owner alone.
    away = np.linalg.norm(step - HONEST.mean(axis=0))
    assert away < np.linalg.norm(HONEST - HONEST.mean(axis=0), axis=1).max() + 0.01


@pytest.mark.parametrize("counted_once", [True, False], ids=["with distinct", "without"])
async def test_three_copies_of_an_update_do_not_decide_for_it(counted_once: bool, tmp_path: Path) -> None:
    """With its copies it is four of nine updates, and a trimmed mean for three false ones is nearly it."""
    robust = 'rule = "trimmed-mean"\nattackers = 3' + ('\nbefore = ["distinct"]' if counted_once else "")
    with robust_server(tmp_path, 9, robust) as server:
        moved_by = await moved(server, [*[HONEST[0]] * 3, *HONEST])
    away = np.linalg.norm(moved_by - HONEST.mean(axis=0))
    copied = np.linalg.norm(HONEST[0] - HONEST.mean(axis=0))
    assert away < 1e-5 if counted_once else away > 0.5 * copied


async def test_not_a_number_is_refused_before_the_rule_sees_it(tmp_path: Path) -> None:
    with robust_server(tmp_path, 5, 'rule = "krum"\nattackers = 1', min_available_clients=6) as server:
        async with cohort(server, 6) as members:
            (liar, plan), *others = members
            refused = await liar.deliver(plan, np.where(np.arange(SIZE) == 3, np.nan, HONEST[0]))
            assert isinstance(refused, Refused)
            assert refused.code == "not-finite"
            for (client, plan), update in zip(others, HONEST, strict=False):
                assert isinstance(await client.deliver(plan, update), Accepted)
            assert (await others[0][0].next(Version)).accepted == 5


async def test_a_claim_of_many_examples_counts_no_more_than_one_of_few(tmp_path: Path) -> None:
    robust = 'rule = "mean"\nattackers = 0\nbefore = [{ name = "static-clip", limit = 40.0 }]'
    with robust_server(tmp_path, 2, robust) as server:
        step = await moved(server, [np.full(SIZE, value, np.float32) for value in (1.0, 3.0)], [1, 10])
    np.testing.assert_allclose(step, 2.0, rtol=1e-6)
