"""Assimilates a client's result into the model when it arrives, without waiting for other clients.

An assimilation is a pure function of (params, result, memory) that returns new params and new memory.
`params` is the server's flat float32 vector [P]. Values are processed block by block, as in
server_optimizers.py: temporary whole vectors would cost more than the arithmetic. Values too large for
float32 become infinite; the caller checks for that.

The change of a result is its weights minus its base. Where clients take plain steps of descent it is minus
their learning rate times g, the sum of the gradients of their steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from backend.numerics.aggregation.staleness import DISCOUNTS, versions_since
from backend.numerics.vectors import Vector, Vector64, blocks


@dataclass(frozen=True)
class ClientResult:
    """A client's result: `weights` [P], trained from the version `base` [P].

    `staleness` is the number of results assimilated since that version, `adopted` how many of them a
    `warm_start` adopted; `epoch` is the pass over all shards, from 1. `first` is the place of the first value
    in the model's vector: stores that hold it in shards assimilate part after part.
    """

    weights: Vector
    base: Vector
    staleness: int = 0
    epoch: int = 1
    adopted: int = 0
    first: int = 0


@dataclass(frozen=True)
class Memory:
    """The state of an assimilation: a vector, empty before the first result, and the number of results."""

    slot: Vector
    count: int = 0


Assimilate: TypeAlias = Callable[[Vector, ClientResult, Memory], tuple[Vector, Memory]]
# (params, weights, base, slot) of a block in float64 -> (what is added to the params, slot after).
Rule: TypeAlias = Callable[[Vector64, Vector64, Vector64, Vector64 | None], tuple[Vector64, Vector64 | None]]


def no_memory() -> Memory:
    """Returns the memory of every assimilation before its first result."""
    return Memory(np.zeros(0, np.float32))


def vc_asgd(alpha: float | None = None) -> Assimilate:
    """W <- alpha W + (1 - alpha) W_c (VC-ASGD: Atre, Jha, Rao 2021).

    Without `alpha` it is e / (e + 1) in epoch e, which the paper found best: with one result per epoch the
    weights are the mean of the initial weights and all results.
    """

    def assimilate(params: Vector, result: ClientResult, memory: Memory) -> tuple[Vector, Memory]:
        factor = result.epoch / (result.epoch + 1.0) if alpha is None else alpha
        return _by_blocks(lambda w, c, _b, s: ((1.0 - factor) * (c - w), s), params, result, memory)

    return assimilate


def downpour(
    learning_rate: float = 1.0, adagrad: float | None = None, trainable: int | None = None
) -> Assimilate:
    """W <- W + rate * change (Downpour SGD: Dean et al. 2012, section 4.1).

    With `adagrad`, their gamma, which has no default: W_i <- W_i + gamma change_i / sqrt(sum change_i^2), the
    sum over all results, this one included. Their equation has gradients; a change is a gradient times a rate
    that cancels out. The slot is the sum, float32 [P]. Of values from `trainable` on, which are statistics,
    the change is added. The client pushes every n_push steps and fetches every n_fetch steps: see `due`.
    """
    if adagrad is None:
        return _plain(lambda _w, c, b, s: (learning_rate * (c - b), s))

    def rule(
        _w: Vector64, c: Vector64, b: Vector64, slot: Vector64 | None
    ) -> tuple[Vector64, Vector64 | None]:
        change = c - b
        squares = change**2 + (0.0 if slot is None else slot)
        # Where all changes were 0 there is nothing to divide.
        return adagrad * change / np.sqrt(np.where(squares == 0.0, 1.0, squares)), squares

    return _plain(rule) if trainable is None else _of_gradients(rule, trainable, 1.0)


def easgd(alpha: float = 0.1) -> Assimilate:
    """W <- W + alpha (W_c - W) (asynchronous EASGD: Zhang, Choromanska, LeCun 2015, algorithm 1).

    The client continues from its own weights, moved towards W as it was by the same factor: see `elastic`.
    The paper has alpha = 0.9 / p for p clients: the default is for nine.
    """
    return _plain(lambda w, c, _b, s: (alpha * (c - w), s))


def dc_asgd(
    client_rate: float,
    learning_rate: float = 1.0,
    strength: float | None = None,
    decay: float | None = None,
    epsilon: float = 1e-7,
    trainable: int | None = None,
) -> Assimilate:
    """W <- W - eta (g + lambda g * g * (W - base)) (DC-ASGD: Zheng et al. 2017, equation 10).

    g is the sum of the gradients of the client's steps: minus the change over `client_rate`, the clients'
    learning rate. eta is `client_rate` times `learning_rate`. The second term compensates for the server's
    change since `base`: g * g estimates the diagonal of the Hessian. Without `decay` lambda is `strength`, by
    default 0.04 (their DC-ASGD-c). With it (DC-ASGD-a, section 6, where it is 0.95) lambda is strength /
    sqrt(m + epsilon), by default 2 / sqrt(m + 1e-7), and the slot m, float32 [P], is the moving average of
    g * g with the factor `decay`. Values from `trainable` on are statistics: only their change is added.
    """
    usual = 0.04 if decay is None else 2.0
    lambda_0 = usual if strength is None else strength

    def rule(
        w: Vector64, c: Vector64, b: Vector64, slot: Vector64 | None
    ) -> tuple[Vector64, Vector64 | None]:
        gradient = (b - c) / client_rate
        factor: Vector64 | float = lambda_0
        if decay is not None:
            slot = (0.0 if slot is None else decay * slot) + (1.0 - decay) * gradient**2
            factor = lambda_0 / np.sqrt(slot + epsilon)
        return -learning_rate * client_rate * (gradient + factor * gradient**2 * (w - b)), slot

    return _plain(rule) if trainable is None else _of_gradients(rule, trainable, learning_rate)


def fedasync(
    alpha: float = 0.6,
    discount: Literal["constant", "polynomial", "hinge"] = "polynomial",
    **settings: float,
) -> Assimilate:
    """W <- (1 - a) W + a W_c (FedAsync: Xie, Koyejo, Gupta 2019, algorithm 1).

    a is `alpha` times the discount of the staleness, which is 1 for a result of the newest model: the paper's
    s(t - tau). `alpha`, and the settings of the discounts, are defaults from its experiments.
    """
    discount_of = DISCOUNTS[discount](**settings)

    def assimilate(params: Vector, result: ClientResult, memory: Memory) -> tuple[Vector, Memory]:
        factor = alpha * discount_of(result.staleness)
        return _by_blocks(lambda w, c, _b, s: (factor * (c - w), s), params, result, memory)

    return assimilate


def fedbuff(buffer: int = 10, learning_rate: float = 1.0) -> Assimilate:
    """W <- W + rate * mean of s * change, every `buffer` results (FedBuff: Nguyen et al. 2022, algorithm 1).

    s = 1 / sqrt(1 + tau) as in their experiments, and tau counts versions: see `versions_since`. The slot is
    the sum so far, float32 [P].
    """

    def assimilate(params: Vector, result: ClientResult, memory: Memory) -> tuple[Vector, Memory]:
        tau = versions_since(memory.count, result.staleness, buffer) + result.adopted
        weight = 1.0 / math.sqrt(1.0 + tau)
        full = (memory.count + 1) % buffer == 0

        def rule(
            _w: Vector64, c: Vector64, b: Vector64, slot: Vector64 | None
        ) -> tuple[Vector64, Vector64 | None]:
            total = weight * (c - b) + (0.0 if slot is None else slot)
            zeros = np.zeros_like(total)
            return (learning_rate / buffer * total, zeros) if full else (zeros, total)

        return _by_blocks(rule, params, result, memory)

    return assimilate


def warm_start(after: Assimilate, results: int = 10) -> Assimilate:
    """Adopts the first `results` unchanged, W <- W_c, then applies `after` (Dean et al. 2012, section 4.1).

    One client has to make these results, each from the one before. `after` does not count them.
    """

    def assimilate(params: Vector, result: ClientResult, memory: Memory) -> tuple[Vector, Memory]:
        if memory.count < results:
            return result.weights.copy(), replace(memory, count=memory.count + 1)
        later = memory.count - results
        told = replace(result, adopted=min(results, max(0, result.staleness - later)))
        new_params, new_memory = after(params, told, replace(memory, count=later))
        return new_params, replace(new_memory, count=new_memory.count + results)

    return assimilate


def shifted(params: Vector, result: ClientResult, memory: Memory) -> tuple[Vector, Memory]:
    """W <- W + change, and no more: the memory neither changes nor counts it. It is not a client's result."""
    moved, _ = _by_blocks(lambda _w, c, b, _s: (c - b, None), params, result, memory)
    return moved, memory


ASSIMILATIONS: dict[str, Callable[..., Assimilate]] = {
    "vc-asgd": vc_asgd,
    "downpour": downpour,
    "easgd": easgd,
    "dc-asgd": dc_asgd,
    "fedasync": fedasync,
    "fedbuff": fedbuff,
}


def elastic(weights: Vector, params: Vector, alpha: float = 0.1) -> Vector:
    """Returns W_c - alpha (W_c - W), float32 [P], from which a client of EASGD continues.

    W is without its result. With alpha / (1 - alpha) W may be the model that a server without other clients
    made of it.
    """
    moved = np.empty_like(weights)
    for part in blocks(len(weights)):
        client = weights[part].astype(np.float64)
        moved[part] = client - alpha * (client - params[part])
    return moved


def due(step: int, every: int) -> bool:
    """Whether a client of Downpour pushes (every n_push steps) or fetches (every n_fetch) after `step`."""
    return step % every == 0


def may_begin(clock: int, clocks: Collection[int], bound: int) -> bool:
    """Whether a client that did `clock` units may begin the next (stale-synchronous: Ho et al. 2013).

    `clocks` are those of all participants: no client gets more than `bound` units ahead of the slowest.
    """
    return clock - min(clocks, default=clock) < bound


def _plain(rule: Rule) -> Assimilate:
    return lambda params, result, memory: _by_blocks(rule, params, result, memory)


def _of_gradients(rule: Rule, trainable: int, state_rate: float) -> Assimilate:
    """Applies `rule` to the model's values before `trainable`; to others adds their change * `state_rate`."""

    def assimilate(params: Vector, result: ClientResult, memory: Memory) -> tuple[Vector, Memory]:
        moved, after = _by_blocks(rule, params, result, memory)
        state = slice(min(max(0, trainable - result.first), len(params)), None)
        base = result.base[state].astype(np.float64)
        moved[state] = params[state] + state_rate * (result.weights[state] - base)
        return moved, after

    return assimilate


def _by_blocks(rule: Rule, params: Vector, result: ClientResult, memory: Memory) -> tuple[Vector, Memory]:
    """Applies `rule` to all values. Raises ValueError if the vectors differ in length."""
    if not len(params) == len(result.weights) == len(result.base):
        raise ValueError(
            f"Vectors of {len(params)}, {len(result.weights)} and {len(result.base)} values belong to "
            "different models."
        )
    moved, slots = np.empty(len(params), np.float32), []
    with np.errstate(over="ignore", invalid="ignore"):
        for part in blocks(len(params)):
            old, weights, base = (
                vector[part].astype(np.float64) for vector in (params, result.weights, result.base)
            )
            before = memory.slot[part].astype(np.float64) if len(memory.slot) else None
            change, after = rule(old, weights, base, before)
            moved[part] = old + change
            if after is not None:
                slots.append(after.astype(np.float32))
    slot = np.concatenate(slots) if slots else memory.slot
    return moved, Memory(slot, memory.count + 1)
