"""Writes byzantine_states.json: `python -m tests.contract.vectors.mesh.make_byzantine_states`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from backend.crypto.client_keys import identity_key
from backend.crypto.statements import NOTHING_BEFORE, TurnOfRound, say
from backend.protocols.mesh.byzantine.adoption import adopted, encode_state, is_proven
from backend.protocols.mesh.byzantine.drawn_work import agreed_plan, plan_of
from backend.protocols.mesh.byzantine.first_state import first_state, rules_digest
from backend.protocols.mesh.byzantine.membership import MeshMembership, Newcomer, SeatedMember
from backend.protocols.mesh.byzantine.roles import basis_of
from backend.protocols.mesh.byzantine.state import AgreedState, CheckedWork, UnableMember, WorkCase
from backend.wire.byzantine_bodies import VerdictBody, encode_body
from backend.wire.byzantine_messages import ByzantineRules, ByzantineTerms, Said, TellState, WorkTolerance
from backend.wire.mesh_codec import encode_mesh
from backend.wire.mesh_fields import Outer
from backend.wire.messages import Shard
from tests.contract.vectors import write

TASK, RUN = "digits", "ab" * 32
PRIVATE = {f"{number:016x}": bytes([number]) * 32 for number in range(1, 6)}
CLIENTS = {client: identity_key(private) for client, private in PRIVATE.items()}
WEIGHTS = bytes([3] * 32)
RULES = ByzantineRules(
    terms=ByzantineTerms(radius=2.0, patience=4.5),
    bundle="cd" * 32,
    run=RUN,
    outer=Outer(kind="nesterov", learning_rate=1.0, momentum=0.9),
    steps=10,
    batch_size=8,
    learning_rate=0.05,
    tolerance=WorkTolerance(distance=0.07, cosine=0.99, blame=0.15),
    shards=[Shard(sha256=f"{number:02x}" * 32, examples=100 + number) for number in range(20)],
)
MEASURED = replace(RULES, terms=ByzantineTerms(), tolerance=None, shards=RULES.shards[:1])


def founded(rules: ByzantineRules) -> AgreedState:
    """The first state, of the first four clients."""
    return first_state(rules, WEIGHTS, dict(list(CLIENTS.items())[:4]))


def crowded() -> AgreedState:
    """A state with something in each of its lists."""
    one, two, *_, last = CLIENTS
    seats = [SeatedMember(client, key, (3, 300)) for client, key in CLIENTS.items() if client != last]
    newcomers = (Newcomer(last, CLIENTS[last], 70_000, (0, 2)),)
    return replace(
        founded(RULES),
        round=70_001,
        radius=0.25,
        membership=MeshMembership(tuple(seats), newcomers, (bytes([9] * 32),)),
        works=(CheckedWork(one, bytes([5] * 32)),),
        court=(WorkCase(two, 70_000, one), WorkCase(last, 70_000, one, two)),
        doubtful=(WorkCase(one, 70_000, ""),),
        suspected=(WorkCase(last, 70_001, one),),
        unable=(UnableMember(one, 69_990), UnableMember(two, 70_001)),
    )


def told(before: AgreedState, state: AgreedState, signers: Sequence[str], turn: int = 1) -> TellState:
    """The frame that tells a state, which these clients signed as the next one."""
    attempt, active = (state.round, 0), before.membership.present(state.round)
    basis = basis_of(before, attempt, active)
    of_round = TurnOfRound(TASK, RUN, state.round, turn, basis)
    body = encode_body(VerdictBody(state.digest()))
    verdicts = [say(PRIVATE[one], of_round, "verdict", NOTHING_BEFORE, body) for one in signers]
    said = [Said(one.identity, one.phase, one.before, one.body, one.signature) for one in verdicts]
    return TellState(encode_state(state), attempt, turn, list(active), said)


def adoption(
    name: str,
    frames: Mapping[str, TellState],
    own: AgreedState | None,
    wanted: bytes | None = None,
    identities: Mapping[str, bytes] = CLIENTS,
) -> dict[str, Any]:
    """What a member that knows `own` adopts of `frames`, by client."""
    found = adopted(TASK, RUN, rules_digest(RULES), own, frames, identities, wanted)
    return {
        "name": name,
        "own": encode_state(own).hex() if own else None,
        "wanted": wanted.hex() if wanted else None,
        "identities": {client: key.hex() for client, key in identities.items()},
        "told": {client: encode_mesh(frame).hex() for client, frame in frames.items()},
        "proven": {
            client: own is not None
            and is_proven(TASK, RUN, own, msgspec.msgpack.decode(frame.state, type=AgreedState), frame)
            for client, frame in frames.items()
        },
        "adopted": found[0].digest().hex() if found else None,
    }


def adoptions() -> list[dict[str, Any]]:
    """Frames that can be believed, and others."""
    one, two, three, four, five = CLIENTS
    first = founded(RULES)
    second = replace(first, round=1, weights=bytes([4] * 32), before=first.digest())
    third = replace(second, round=2, before=second.digest())
    others = replace(second, rules=bytes(32))
    signed = told(first, second, [one, two, three])
    few = told(first, second, [one, two])
    # Anybody can make up a state in which all seats are its own.
    seats = (SeatedMember(five, CLIENTS[five]),)
    made_up = replace(third, round=99, membership=MeshMembership(seats, (), tuple(sorted(CLIENTS.values()))))
    stranger = told(made_up, replace(made_up, round=100, before=made_up.digest()), [five])
    return [
        adoption("made up by a stranger for a member", {five: stranger}, first),
        adoption("more than half signed", {five: signed}, first),
        adoption("half signed", {five: few}, first),
        adoption("one signed twice", {five: told(first, second, [one, one, two])}, first),
        adoption("a stranger signed", {five: told(first, second, [one, two, five])}, first),
        adoption("signed in another turn", {five: replace(signed, turn=2)}, first),
        adoption("signed in another attempt", {five: replace(signed, attempt=(1, 1))}, first),
        adoption("half signed one that is known to be agreed", {five: few}, first, second.digest()),
        adoption("one farther ahead is told by more than half", dict.fromkeys((one, two, three), few), None),
        adoption("one farther ahead is told by half", dict.fromkeys((one, two), few), None),
        adoption("tellers have other keys", dict.fromkeys((one, two, three), few), None, identities={}),
        adoption("an older one", {one: signed, two: signed, three: signed}, third),
        adoption(
            "the newer one of two",
            {one: signed, two: told(second, third, [one, two, three])},
            first,
            third.digest(),
        ),
        adoption("one of other rules", {five: told(first, others, [one, two, four])}, first),
    ]


def described(rules: ByzantineRules) -> dict[str, Any]:
    """Rules, their first state, and two plans of its round."""
    state = founded(rules)
    agreed = agreed_plan(rules, state.round + 1, state.weights)
    plans = {client: plan_of(agreed, rules.shards, state.coin, client) for client in list(CLIENTS)[:2]}
    return {
        "rules": msgspec.to_builtins(rules),
        "digest": rules_digest(rules).hex(),
        "weights": WEIGHTS.hex(),
        "founders": {client: key.hex() for client, key in list(CLIENTS.items())[:4]},
        "first": encode_state(state).hex(),
        "first_digest": state.digest().hex(),
        "plans": {client: msgspec.to_builtins(plan) for client, plan in plans.items()},
    }


def files() -> dict[str, str]:
    """The golden file and its content."""
    golden = {
        "task": TASK,
        "run": RUN,
        "meshes": [described(RULES), described(MEASURED)],
        "crowded": {"state": encode_state(crowded()).hex(), "digest": crowded().digest().hex()},
        "adoptions": adoptions(),
    }
    return {"byzantine_states.json": json.dumps(golden, indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
