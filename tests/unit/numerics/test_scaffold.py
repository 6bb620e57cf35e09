"""SCAFFOLD's control variates against the formulas of the paper, written down plainly."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.numerics.scaffold import ControlChanges, control_change


def test_the_change_is_option_two_of_the_paper() -> None:
    generator = np.random.default_rng(1)
    own, server, start, end = generator.normal(size=(4, 50)).astype(np.float32)
    steps, rate = 7, 0.05
    wanted = own - server + (start - end) / (steps * rate)
    change = control_change(server, end - start, steps, rate)
    assert change.dtype == np.float32
    np.testing.assert_allclose(own + change, wanted, rtol=1e-4, atol=1e-4)


def test_after_plain_gradient_descent_the_own_variate_is_the_mean_gradient() -> None:
    """Karimireddy et al. 2020, section 4: with c = c_i = 0, c_i+ is the mean of the gradients seen."""
    gradients = np.random.default_rng(2).normal(size=(5, 20)).astype(np.float32)
    update = -0.1 * gradients.sum(axis=0, dtype=np.float32)
    change = control_change(np.zeros(20, np.float32), update, 5, 0.1)
    np.testing.assert_allclose(change, gradients.mean(axis=0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [3, 200_000])
def test_the_servers_variate_stays_the_mean_of_all_clients_own_while_clients_come(size: int) -> None:
    generator = np.random.default_rng(3)
    server = np.zeros(size, np.float32)
    own: dict[str, NDArray[np.float32]] = {}
    for cohort in (["a", "b"], ["b"], ["a", "c"], ["d"]):
        changes, before = ControlChanges(server, 0.1), len(own)
        for number, client in enumerate(cohort):
            steps = 3 + number
            update = generator.normal(size=size + 2).astype(np.float32)
            changes.add(update, steps)
            change = control_change(server, update[:size], steps, 0.1)
            own[client] = own.get(client, np.zeros(size, np.float32)) + change
        server = changes.next_server(before, len(own))
        np.testing.assert_allclose(server, np.mean(list(own.values()), axis=0), rtol=1e-4, atol=1e-5)
