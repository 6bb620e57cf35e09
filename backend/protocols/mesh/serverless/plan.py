"""What a round without the server is, made of the last that the server gave. Pure functions."""

from __future__ import annotations

from msgspec.structs import replace

from backend.wire.mesh_messages import Certificate, Group
from backend.wire.messages import Evaluate, Train

# Groups of stewards are numbered from here on, so that no server numbers one so.
STEWARDS_GROUPS = 1 << 40
# Nobody follows a round whose number is so far beyond all that it heard of: one peer that lies about its
# rounds could use up all numbers that there are, for the server too, which goes on from what peers made.
MOST_AHEAD = 1 << 20
# Of a seed, from round to round: the golden ratio's fraction, in 32 bits (Knuth, TAOCP 3, 6.4).
_STRIDE = 0x9E3779B1
_SEEDS = 1 << 31


def next_plan(last: Train, number: int, weights: str, seconds: float) -> Train:
    """The plan of round `number` from `weights`, on the data of the `last` one, within `seconds`."""
    same = last.weights == weights
    version = last.version if same else last.version + 1
    # The schedule's position grows by as much in each version.
    past = last.past_steps if same or not last.version else last.past_steps * version // last.version
    seed = (last.seed + _STRIDE * (number - last.round)) % _SEEDS
    return replace(
        last,
        round=number,
        version=version,
        weights=weights,
        past_steps=past,
        seed=seed,
        seconds=seconds,
    )


def next_evaluation(last: Evaluate, plan: Train, seconds: float) -> Evaluate:
    """What measures the weights that `plan` begins with, on the data of the `last` one, within `seconds`."""
    return replace(last, round=plan.round, version=plan.version, weights=plan.weights, seconds=seconds)


def most_of(certificate: Certificate) -> int:
    """More than half of the survivors, and two at least."""
    return max(2, len(certificate.survivors) // 2 + 1)


def least_of(certificate: Certificate, last: Group, members: int) -> int:
    """So many of `members` must survive: more than half of them, and of those before; 3 where masks are."""
    return max(most_of(certificate), members // 2 + 1, 3 if last.precision == "masked" else 2)


def objection(order: Group, last: Group, certificate: Certificate, own: str) -> str | None:
    """Why a steward's order is not followed; None if it is what follows from the `last` one.

    Whether its bounds fit is looked at by who averages.
    """
    members = set(order.members)
    if order.group < STEWARDS_GROUPS or len(members) != len(order.members) or own not in members:
        return "It is not a group of this peer's."
    if not members <= set(certificate.survivors):
        return "It has members that are not among the last survivors."
    if order.least != least_of(certificate, last, len(members)):
        return "Too few of the last survivors would decide."
    same = replace(
        last,
        round=order.round,
        group=order.group,
        members=order.members,
        bounds=order.bounds,
        least=order.least,
        subject="changes",
    )
    return None if same == order else "It is not as groups of this task are."
