"""A model from which clients were taken out is the one in which their updates were zero from the start."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from backend.numerics.aggregation import asynchronous, mixing
from backend.numerics.aggregation.asynchronous import (
    Assimilate,
    ClientResult,
    Memory,
    downpour,
    fedasync,
    no_memory,
    shifted,
    vc_asgd,
)
from backend.numerics.aggregation.contributions import Contributions
from backend.numerics.aggregation.mixing import Arrival, Mixing
from backend.numerics.vectors import Vector

SIZE = 6
CLIENTS = 4
LIE = 1000.0
RECIPES: dict[str, tuple[Assimilate, Mixing]] = {
    "vc-asgd": (vc_asgd(0.8), mixing.vc_asgd(0.8)),
    "vc-asgd by epoch": (vc_asgd(), mixing.vc_asgd()),
    "downpour": (downpour(0.7), mixing.downpour(0.7)),
    "fedasync": (fedasync(0.6), mixing.fedasync(0.6)),
    "warm start": (
        asynchronous.warm_start(vc_asgd(0.5), 4),
        mixing.warm_start(mixing.vc_asgd(0.5), 4),
    ),
    "warm downpour": (
        asynchronous.warm_start(downpour(), 3),
        mixing.warm_start(mixing.downpour(), 3),
    ),
}


@dataclass
class Made:
    """How a version was made: of a result, or of a shift if `update` is None."""

    base: int = 0
    epoch: int = 1
    client: str | None = None
    update: Vector | None = None
    refuted: bool = False


@dataclass
class Play:
    """A model, its contributions, and what made each version after the first."""

    recipe: Assimilate
    mixing: Mixing
    seed: int
    weights: list[Vector] = field(default_factory=lambda: [np.zeros(SIZE, np.float32)])
    memory: Memory = field(default_factory=no_memory)
    made: list[Made] = field(default_factory=list)
    oldest: int = 0
    # Numbers of the results of each client that are unproven.
    unproven: dict[str, list[int]] = field(default_factory=dict)
    kept: Contributions = field(default_factory=lambda: Contributions(SIZE))

    def __post_init__(self) -> None:
        self.dice = np.random.default_rng(self.seed)

    @property
    def newest(self) -> int:
        """The number of the newest version."""
        return len(self.weights) - 1

    def blend(self, client: str | None, base: int, length: float = 1.0) -> None:
        """Blends a result of a client, or of a trusted one, from a base in use."""
        update = (length * self.dice.standard_normal(SIZE)).astype(np.float32)
        made = Made(base, 1 + self.newest // 4, client, update)
        mix = self.mixing(Arrival(self.newest - base, made.epoch, self.memory.count))
        correction = self.kept.correction(base)
        start = self.weights[base] if correction is None else self.weights[base] - correction
        self._apply(made, start)
        if client is not None:
            self.unproven.setdefault(client, []).append(len(self.made) - 1)
        self.kept.blended(self.newest, base, mix, client, None if client is None else update)

    def take_out(self, client: str) -> None:
        """Subtracts what a client contributed and has not proven."""
        share = self.kept.share(client, self.newest)
        change = np.zeros(SIZE, np.float32) if share is None else -share
        moved, _ = shifted(self.weights[-1], ClientResult(change, np.zeros_like(change)), self.memory)
        self.weights.append(moved)
        self.made.append(Made())
        for number in self.unproven.pop(client, []):
            self.made[number].refuted = True
        self.kept.taken_out(self.newest, client)
        assert self.kept.share(client, self.newest) is None
        assert client not in self.kept.clients

    def prove(self, client: str) -> None:
        """Trusts what a client contributed."""
        self.unproven.pop(client, None)
        self.kept.proven(client)

    def settle(self, oldest: int) -> None:
        """Gives up the bases before `oldest`."""
        self.oldest = oldest
        self.kept.bases_in_use(oldest)
        assert self.kept.clients <= self.unproven.keys()

    def replay(self) -> Vector:
        """Returns the model in which what was refuted changed nothing, made from the start."""
        weights, memory = [self.weights[0]], no_memory()
        for number, made in enumerate(self.made):
            if made.update is None:
                weights.append(weights[-1])
                continue
            start = weights[made.base]
            end = start if made.refuted else start + made.update
            result = ClientResult(end, start, number - made.base, made.epoch)
            after, memory = self.recipe(weights[-1], result, memory)
            weights.append(after)
        return weights[-1]

    def rounding(self) -> float:
        """Returns a bound of what float32 rounds off in all versions."""
        most = max(float(np.abs(weights).max()) for weights in self.weights)
        return 4.0 * (self.newest + 1) * float(np.finfo(np.float32).eps) * max(1.0, most)

    def _apply(self, made: Made, start: Vector) -> None:
        assert made.update is not None
        result = ClientResult(start + made.update, start, self.newest - made.base, made.epoch)
        after, self.memory = self.recipe(self.weights[-1], result, self.memory)
        self.weights.append(after)
        self.made.append(made)


# A kind of step, and two numbers that choose among the clients and bases.
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["blend"] * 10 + ["trusted"] * 2 + ["take out", "prove", "settle", "settle"]),
        st.integers(0, CLIENTS - 1),
        st.floats(0.0, 1.0),
    ),
    max_size=60,
)


@given(st.sampled_from(sorted(RECIPES)), STEPS, st.integers(0, 2**32 - 1))
def test_the_model_is_that_of_clients_who_trained_nothing(
    name: str, steps: list[tuple[str, int, float]], seed: int
) -> None:
    play = Play(*RECIPES[name], seed)
    for kind, number, where in steps:
        client = f"client {number}"
        # Most bases are new ones, as those of real clients.
        base = play.newest - int((play.newest - play.oldest) * where**2)
        match kind:
            case "blend":
                play.blend(client, base, LIE if number == 0 else 1.0)
            case "trusted":
                play.blend(None, base)
            case "take out":
                play.take_out(client)
            case "prove":
                play.prove(client)
            case _:
                play.settle(base)
    event(f"{sum(made.refuted for made in play.made) > 0=}")
    np.testing.assert_allclose(play.weights[-1], play.replay(), rtol=0.0, atol=play.rounding())


@given(st.sampled_from(sorted(RECIPES)), STEPS, st.integers(0, 2**32 - 1))
def test_shares_are_those_of_a_model_without_rounding(
    name: str, steps: list[tuple[str, int, float]], seed: int
) -> None:
    """The difference of two models, one of which has the updates of a single client only, is its share."""
    kept, mixes, oldest = Contributions(1), RECIPES[name][1], 0
    dice = np.random.default_rng(seed)
    exact = {f"client {number}": [0.0] for number in range(CLIENTS)}
    total = 0.0
    for newest, (_, number, where) in enumerate(steps):
        client = f"client {number}"
        base = newest - int((newest - oldest) * where**2)
        update = dice.standard_normal(1).astype(np.float32)
        mix = mixes(Arrival(newest - base, 1 + newest // 4, newest))
        kept.blended(newest + 1, base, mix, client, update)
        for name_of, versions in exact.items():
            own = mix.gain * float(update[0]) if name_of == client else 0.0
            versions.append((1.0 - mix.pull) * versions[-1] + mix.pull * versions[base] + own)
        total += abs(mix.gain * float(update[0]))
        if where > 0.8:
            oldest = base
            kept.bases_in_use(oldest)
    for client, versions in exact.items():
        share = kept.share(client, len(versions) - 1)
        assert (0.0 if share is None else share[0]) == pytest.approx(versions[-1], abs=1e-6 * (1.0 + total))


@pytest.mark.parametrize("name", sorted(RECIPES))
@pytest.mark.parametrize("seed", range(10))
def test_of_a_lie_a_thousand_times_as_long_nearly_nothing_is_left(name: str, seed: int) -> None:
    play = Play(*RECIPES[name], seed)
    for number in range(60):
        # The lie is blended early, spreads through the bases, and is settled before it is refuted.
        lies = number == 6
        base = play.newest - int(play.dice.integers(0, min(5, play.newest - play.oldest) + 1))
        play.blend("liar" if lies else "honest", base, LIE if lies else 1.0)
        if number == 45:
            play.settle(play.newest - 4)
    play.take_out("liar")
    for _ in range(10):
        play.blend("honest", play.newest - int(play.dice.integers(0, 9)))
    assert float(np.linalg.norm(play.weights[-1] - play.replay())) < 1e-3 * np.sqrt(SIZE)
