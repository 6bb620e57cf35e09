"""Every recipe against its paper's equations, each written down here again in a few lines of numpy.

The equations are the papers', in their letters: `w` the server's weights, `g` the sum of the gradients of a
client's steps, `t` the number of the server's version. None of them reads the code under test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import get_args

import numpy as np

from backend.formats.task_file.units import (
    AssimilationChoice,
    Easgd,
    TrustTable,
    Units,
    name_of,
    settings_of,
)
from backend.numerics.aggregation.asynchronous import (
    ASSIMILATIONS,
    Assimilate,
    ClientResult,
    elastic,
    no_memory,
    warm_start,
)
from backend.numerics.vectors import Vector, Vector64
from backend.server.units.work_generator import start_of
from backend.stores.parameters.memory import MemoryParameters

TOLERANCE = 1e-6
# The clients' learning rate, and the steps of one unit.
ETA, STEPS, RESULTS, SIZE = 0.005, 3, 40, 30


@dataclass(frozen=True)
class Upload:
    """The sum `g` of the gradients of a unit's steps, from the weights after `begun` uploads."""

    g: Vector64
    begun: int
    epoch: int = 1


def start() -> Vector64:
    return 0.1 * np.random.default_rng(1).normal(size=SIZE)


def uploads(count: int = RESULTS) -> list[Upload]:
    """Of clients of different speeds; no gradient is close to zero, where rules that divide are unstable."""
    dice = np.random.default_rng(2)
    signs, sizes = dice.choice([-1.0, 1.0], (count, SIZE)), dice.uniform(0.5, 1.5, (count, SIZE))
    delays = dice.integers(0, 12, count)
    return [
        Upload(STEPS * signs[k] * sizes[k], max(0, k - int(delays[k])), 1 + k // 10) for k in range(count)
    ]


def ours(recipe: Assimilate, some: Sequence[Upload]) -> list[Vector]:
    """The weights after each upload, as the server computes them."""
    store, seen = MemoryParameters(), [start().astype(np.float32)]
    store.begin(seen[0], no_memory(), 0)
    for number, one in enumerate(some):
        base = seen[one.begun]
        result = ClientResult((base - ETA * one.g).astype(np.float32), base, epoch=one.epoch)
        seen.append(store.assimilate(recipe, result, one.begun, f"result {number}").weights)
    return seen[1:]


def distance(found: Sequence[Vector | Vector64], wanted: Sequence[Vector | Vector64]) -> float:
    """The largest difference of any value after any upload."""
    assert len(found) == len(wanted)
    return max(float(np.abs(a - b).max()) for a, b in zip(found, wanted, strict=True))


def fedbuff(
    some: Sequence[Upload], size: int = 10, eta_g: float = 1.0, warm: int = 0, counts_results: bool = False
) -> list[Vector64]:
    """Nguyen et al. 2022, algorithm 1, with the factor 1 / sqrt(1 + tau); Delta = -eta g, K = `size`.

    tau is the number t of the server's version now minus that of the version which the client downloaded.
    Each of the `warm` first results is the next version. If it `counts_results`, t rises with every result:
    a wrong rule.
    """
    w, t, total, k = start(), 0, np.zeros(SIZE), 0
    versions = [(w, t)]
    for one in some:
        downloaded, t_client = versions[one.begun]
        if len(versions) <= warm:
            w, t = downloaded - ETA * one.g, t + 1
        else:
            total, k = total - ETA * one.g / np.sqrt(1 + t - t_client), k + 1
            t += counts_results
            if k == size:
                w, t, total, k = w + eta_g * total / size, t + (not counts_results), np.zeros(SIZE), 0
        versions.append((w, t))
    return [w for w, _ in versions[1:]]


def test_fedbuff_is_that_of_its_paper() -> None:
    for size, eta_g in ((10, 1.0), (3, 0.5), (1, 1.0)):
        found = ours(ASSIMILATIONS["fedbuff"](buffer=size, learning_rate=eta_g), uploads())
        assert distance(found, fedbuff(uploads(), size, eta_g)) <= TOLERANCE
    assert distance(ours(ASSIMILATIONS["fedbuff"](), uploads()), fedbuff(uploads())) <= TOLERANCE


def test_fedbuff_counts_each_result_of_a_warm_start_as_a_version() -> None:
    found = ours(warm_start(ASSIMILATIONS["fedbuff"](buffer=4), 6), uploads())
    assert distance(found, fedbuff(uploads(), 4, warm=6)) <= TOLERANCE


def test_the_reference_tells_fedbuff_from_a_rule_that_counts_results_as_staleness() -> None:
    assert distance(fedbuff(uploads(), counts_results=True), fedbuff(uploads())) > 100 * TOLERANCE


def test_ten_results_of_one_model_that_change_it_by_one_move_it_by_one() -> None:
    ones = [Upload(np.full(SIZE, -1.0 / ETA), 0)] * 10
    moved = ours(ASSIMILATIONS["fedbuff"](buffer=10), ones)[-1] - start()
    np.testing.assert_allclose(moved, 1.0, atol=TOLERANCE)
    # Each discounted by the results before it, they would move it by half.
    counted = fedbuff(ones, counts_results=True)[-1] - start()
    np.testing.assert_allclose(counted, 0.502, atol=1e-3)


def dc_asgd(
    some: Sequence[Upload], lambda_0: float = 0.04, m: float | None = None, g_of: float = 1.0
) -> list[Vector64]:
    """Zheng et al. 2017, equation 10; with `m` lambda is lambda_0 / sqrt(MeanSquare + 1e-7), section 6.

    `g_of` is what the gradient is multiplied by where the correction is worked out: 1, or a wrong rule.
    """
    w, mean_square = start(), np.zeros(SIZE)
    backup = [w]
    for one in some:
        g, lambda_t = g_of * one.g, np.full(SIZE, lambda_0)
        if m is not None:
            mean_square = m * mean_square + (1 - m) * g * g
            lambda_t = lambda_0 / np.sqrt(mean_square + 1e-7)
        w = w - ETA / g_of * (g + lambda_t * g * g * (w - backup[one.begun]))
        backup.append(w)
    return backup[1:]


def test_dc_asgd_is_that_of_its_paper() -> None:
    make = partial(ASSIMILATIONS["dc-asgd"], client_rate=ETA)
    for settings, wanted in (
        ({}, dc_asgd(uploads())),
        ({"strength": 0.3}, dc_asgd(uploads(), 0.3)),
        ({"decay": 0.95}, dc_asgd(uploads(), 2.0, 0.95)),
        ({"decay": 0.0, "strength": 1.5}, dc_asgd(uploads(), 1.5, 0.0)),
    ):
        assert distance(ours(make(**settings), uploads()), wanted) <= TOLERANCE


def test_the_reference_tells_dc_asgd_from_a_rule_whose_gradient_is_times_the_learning_rate() -> None:
    assert distance(dc_asgd(uploads(), g_of=ETA), dc_asgd(uploads())) > 100 * TOLERANCE
    right, wrong = dc_asgd(uploads(), 2.0, 0.95), dc_asgd(uploads(), 0.04, 0.95, ETA)
    assert distance(wrong, right) > 100 * TOLERANCE


def test_the_correction_of_dc_asgd_is_not_weakened_by_the_learning_rate() -> None:
    # The second of two results of one version; only the correction tells it from plain descent.
    two = [Upload(one.g, 0) for one in uploads(2)]
    descent = start() - ETA * (two[0].g + two[1].g)
    corrections = [np.abs(found[-1] - descent) for found in (dc_asgd(two), dc_asgd(two, g_of=ETA))]
    np.testing.assert_allclose(corrections[0], 200 * corrections[1], rtol=1e-6)
    found = ours(ASSIMILATIONS["dc-asgd"](client_rate=ETA), two)[-1]
    np.testing.assert_allclose(np.abs(found - descent), corrections[0], rtol=1e-2)


def downpour(some: Sequence[Upload], eta: float = ETA, gamma: float | None = None) -> list[Vector64]:
    """Dean et al. 2012, section 4.1: w - eta g, where g are a replica's accrued gradients.

    With `gamma`, Adagrad: the rate of value i is gamma over the root of the sum of all g_i^2 so far.
    """
    w, squares, seen = start(), np.zeros(SIZE), []
    for one in some:
        squares = squares + one.g**2
        rates = eta if gamma is None else gamma / np.sqrt(squares)
        w = w - rates * one.g
        seen.append(w)
    return seen


def test_downpour_is_that_of_its_paper() -> None:
    assert distance(ours(ASSIMILATIONS["downpour"](), uploads()), downpour(uploads())) <= TOLERANCE
    halved = ours(ASSIMILATIONS["downpour"](learning_rate=0.5), uploads())
    assert distance(halved, downpour(uploads(), 0.5 * ETA)) <= TOLERANCE


def test_downpour_with_adagrad_is_that_of_its_paper() -> None:
    found = ours(ASSIMILATIONS["downpour"](adagrad=0.02), uploads())
    assert distance(found, downpour(uploads(), gamma=0.02)) <= TOLERANCE
    assert distance(downpour(uploads()), downpour(uploads(), gamma=0.02)) > 100 * TOLERANCE


def vc_asgd(some: Sequence[Upload], alpha: float | None = None) -> list[Vector64]:
    """Atre, Jha, Rao 2021: W_s <- alpha W_s + (1 - alpha) W_c; their best alpha is e / (1 + e) in epoch e."""
    w_s = [start()]
    for one in some:
        w_c = w_s[one.begun] - ETA * one.g
        share = one.epoch / (1 + one.epoch) if alpha is None else alpha
        w_s.append(share * w_s[-1] + (1 - share) * w_c)
    return w_s[1:]


def fedasync(some: Sequence[Upload], s: Callable[[int], float], alpha: float = 0.6) -> list[Vector64]:
    """Xie, Koyejo, Gupta 2019, algorithm 1: (1 - alpha_t) x_(t-1) + alpha_t x_new with alpha_t = alpha s."""
    x = [start()]
    for t, one in enumerate(some):
        alpha_t = alpha * s(t - one.begun)
        x.append((1 - alpha_t) * x[-1] + alpha_t * (x[one.begun] - ETA * one.g))
    return x[1:]


def easgd(gradients: Sequence[Vector64], alpha: float) -> tuple[Vector64, Vector64]:
    """Zhang, Choromanska, LeCun 2015, algorithm 1, of one client: x and the center x~ after each period."""
    x, center = start(), start()
    for g in gradients:
        x = x - ETA * g
        x, center = x - alpha * (x - center), center + alpha * (x - center)
    return x, center


def test_vc_asgd_is_that_of_its_paper() -> None:
    for alpha in (None, 0.7, 0.95, 0.999):
        found = ours(ASSIMILATIONS["vc-asgd"](alpha=alpha), uploads())
        assert distance(found, vc_asgd(uploads(), alpha)) <= TOLERANCE


def test_fedasync_is_that_of_its_paper() -> None:
    by_default = fedasync(uploads(), lambda u: (u + 1) ** -0.5)
    assert distance(ours(ASSIMILATIONS["fedasync"](), uploads()), by_default) <= TOLERANCE
    hinge = fedasync(uploads(), lambda u: 1.0 if u <= 4 else 1 / (10 * (u - 4) + 1))
    assert distance(ours(ASSIMILATIONS["fedasync"](discount="hinge"), uploads()), hinge) <= TOLERANCE
    constant = fedasync(uploads(), lambda _: 1.0, 0.9)
    found = ours(ASSIMILATIONS["fedasync"](alpha=0.9, discount="constant"), uploads())
    assert distance(found, constant) <= TOLERANCE


def test_easgd_is_that_of_its_paper_on_both_sides() -> None:
    units = Units(epochs=1, assimilation=Easgd(alpha=0.2), trust=TrustTable(replicas=1, spot_checks=0.0))
    start_word, elasticity = start_of(units, 1, has_own=True)
    assert start_word == "elastic"
    recipe, memory = ASSIMILATIONS["easgd"](**settings_of(units.assimilation)), no_memory()
    gradients = [one.g for one in uploads()]
    client = center = start().astype(np.float32)
    for g in gradients:
        trained = (client - ETA * g).astype(np.float32)
        center, memory = recipe(center, ClientResult(trained, center), memory)
        # The client is given the center that holds its result.
        client = elastic(trained, center, elasticity)
    x, wanted = easgd(gradients, 0.2)
    assert distance([client, center], [x, wanted]) <= TOLERANCE
    # Drawn by alpha itself to that center, it would stay too far away.
    assert np.abs(elastic(trained, center, 0.2) - x).max() > 100 * TOLERANCE


def test_every_recipe_has_a_reference() -> None:
    here = {"vc-asgd", "downpour", "easgd", "dc-asgd", "fedasync", "fedbuff"}
    assert set(ASSIMILATIONS) == here


def test_the_defaults_of_the_task_file_are_those_of_the_recipes() -> None:
    for choice in get_args(AssimilationChoice):
        given, known = settings_of(choice()), signature(ASSIMILATIONS[name_of(choice())]).parameters
        assert {key: known[key].default for key in given} == given
