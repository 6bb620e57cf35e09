"""Writes mesh_frames.json: golden frames of a mesh, by `python -m
tests.contract.vectors.frames.make_mesh_frames`.

As frames.json, with the directions `to_server`, `to_peer` and `peer`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from backend.wire import byzantine_messages, mesh_messages, messages, peer_messages
from backend.wire.mesh_codec import encode_mesh
from backend.wire.mesh_fields import Outer
from tests.contract.vectors import write
from tests.contract.vectors.frames.bad_frames import BAD_BYTES
from tests.contract.vectors.frames.make_frames import plain

PLACE = Path(__file__).parents[1] / "mesh_frames.json"
HASH, OTHER = "0123456789abcdef" * 4, "f" * 64
ONE, TWO = "0123456789abcdef", "fedcba9876543210"
KEY, SIGNATURE = bytes(range(7, 39)), bytes(range(64))
TOKEN = "AbCdEfGhIjKlMnOpQrStUv-_"  # noqa: S105 - an example.

OUTER = Outer(kind="nesterov", learning_rate=0.75, momentum=0.875)
SAID = byzantine_messages.Said(
    identity=KEY, phase="call-2", before=bytes(32), body=b"\1\2", signature=SIGNATURE
)
EARLIER = mesh_messages.Certificate(
    bundle=OTHER,
    run=HASH,
    round=6,
    group=1,
    weights=OTHER,
    survivors=[ONE, TWO],
    signatures=[
        mesh_messages.Signed(client=client, identity=KEY, signature=SIGNATURE) for client in (ONE, TWO)
    ],
)

TO_SERVER: dict[str, mesh_messages.PeerToServer] = {
    "enter from a browser": mesh_messages.Enter(
        token=TOKEN,
        kind="browser",
        backend="webgl",
        agent="minga-web/0.1.0",
        identity=KEY,
        ways=["webrtc", "relay"],
        address=None,
        round=0,
        holds=None,
        certificate=None,
    ),
    "enter from a peer that comes back": mesh_messages.Enter(
        token=TOKEN,
        kind="peer",
        backend="tensorflow",
        agent="minga-peer/0.1.0",
        identity=KEY,
        ways=["websocket", "webrtc", "relay"],
        address="ws://192.0.2.7:9000/",
        round=7,
        holds=HASH,
        certificate=mesh_messages.Certificate(
            bundle=OTHER,
            run=HASH,
            round=7,
            group=1,
            weights=HASH,
            survivors=[ONE, TWO],
            signatures=[mesh_messages.Signed(client=TWO, identity=KEY, signature=SIGNATURE)],
        ),
        chain=[EARLIER],
    ),
    "certified": mesh_messages.Certified(certificate=EARLIER),
    "ready": messages.Ready(backend="wasm", step_ms=163.25, examples=0),
    "trained": mesh_messages.Trained(
        round=8, base=HASH, examples=640, steps=20, loss=0.75, sums=[(96.5, 128.25)]
    ),
    "averaged": mesh_messages.Averaged(
        round=8,
        group=1,
        weights=OTHER,
        survivors=[0, 2, 3],
        fraction=0.875,
        seconds=1.5,
        signature=SIGNATURE,
    ),
    "failed": mesh_messages.Failed(round=8, group=1, reason="Two of at least three members are left."),
    "links": mesh_messages.Links(
        links=[
            mesh_messages.Measure(client=ONE, way="webrtc", seconds=0.0625, rate=2.5e6),
            mesh_messages.Measure(client=TWO, way="relay", seconds=0.25, rate=0.5),
        ]
    ),
    "a signal": mesh_messages.SignalTo(client=TWO, data=b"\x01\x02"),
    "a parcel": mesh_messages.RelayTo(client=TWO, data=bytes(range(256))),
    "evaluation": messages.Evaluation(round=7, version=7, examples=40, loss=0.75, sums=[(31.5, 40.5)]),
    "leave": messages.Leave(),
}
TO_PEER: dict[str, mesh_messages.ServerToPeer] = {
    "entered": mesh_messages.Entered(
        task="digits",
        client=ONE,
        bundle=HASH,
        run=OTHER,
        round=3,
        version=3,
        weights=OTHER,
        outer=OUTER,
        ice=[mesh_messages.IceServer(urls=["turn:192.0.2.1:3478"], username="minga", credential="secret")],
    ),
    "entered a mesh whose members check each other": mesh_messages.Entered(
        task="digits",
        client=ONE,
        bundle=HASH,
        run=OTHER,
        round=0,
        version=0,
        weights=OTHER,
        outer=OUTER,
        ice=[],
        byzantine=byzantine_messages.ByzantineRules(
            terms=byzantine_messages.ByzantineTerms(radius=0.5),
            bundle=HASH,
            run=OTHER,
            outer=OUTER,
            steps=10,
            batch_size=8,
            learning_rate=0.125,
            tolerance=byzantine_messages.WorkTolerance(distance=0.07, cosine=0.99, blame=0.3),
            shards=[messages.Shard(sha256=HASH, examples=100)],
        ),
    ),
    "members": mesh_messages.Members(
        epoch=12,
        members=[
            mesh_messages.Neighbour(
                client=ONE,
                identity=KEY,
                kind="peer",
                backend="tensorflow",
                ways=["websocket", "webrtc", "relay"],
                address="ws://192.0.2.7:9000/",
                round=3,
                holds=HASH,
            ),
            mesh_messages.Neighbour(
                client=TWO,
                identity=KEY,
                kind="browser",
                backend="wasm",
                ways=["webrtc", "relay"],
                address=None,
                round=0,
                holds=None,
            ),
        ],
    ),
    "nobody is here": mesh_messages.Members(epoch=0, members=[]),
    "group": mesh_messages.Group(
        round=4,
        group=0,
        members=[TWO, ONE],
        bounds=[0, 2565, 5130],
        exchange="butterfly",
        precision="float16",
        subject="changes",
        reducer="mean",
        least=2,
        most_weight=5000.5,
        patience=5.5,
        seconds=60.5,
    ),
    "a group that masks": mesh_messages.Group(
        round=4,
        group=2,
        members=[TWO, ONE, "a" * 16],
        bounds=[0, 1710, 3420, 5130],
        exchange="butterfly",
        precision="masked",
        subject="changes",
        reducer="mean",
        least=3,
        most_weight=5000.5,
        patience=5.5,
        seconds=60.5,
    ),
    "a full group of three that clips": mesh_messages.Group(
        round=4,
        group=1,
        members=[TWO, ONE, "a" * 16],
        bounds=[0, 5130],
        exchange="full",
        precision="int8",
        subject="weights",
        reducer="centered_clip",
        least=2,
        most_weight=0.5,
        patience=0.5,
        seconds=0.5,
    ),
    "a signal": mesh_messages.Signal(client=TWO, data=b"\x01\x02"),
    "a parcel": mesh_messages.Relay(client=TWO, data=bytes(range(256))),
    "deposit": mesh_messages.Deposit(round=3, weights=OTHER),
    "unreachable": mesh_messages.Unreachable(client=TWO),
    "abandoned": messages.Abandoned(round=4, reason="Nobody was left."),
    "closing": messages.Closing(code="idle", reason="No enter came within 10 seconds."),
}
OF: dict[str, int] = {"round": 4, "group": 1}
PEER: dict[str, peer_messages.PeerFrame] = {
    "beat": peer_messages.Beat(sent=12.5, echo=0.25, since=0.125),
    "pass on": peer_messages.Passing(client=TWO, data=b"\x01"),
    "passed on": peer_messages.Passed(client=ONE, data=b"\x01"),
    "fetch": peer_messages.Fetch(weights=HASH, offset=16000),
    "weights": peer_messages.Weights(weights=HASH, size=20520, offset=16000, data=memoryview(b"\0\1\2\3")),
    "no weights": peer_messages.Weights(weights=HASH, size=0, offset=0, data=memoryview(b"")),
    "unattended": peer_messages.Unattended(round=7, weights=HASH, steward=True, measures=False),
    "set out": peer_messages.SetOut(round=8, weights=HASH, measures=ONE),
    "set out without a measurement": peer_messages.SetOut(round=8, weights=HASH, measures=None),
    "attended": peer_messages.Attended(),
    "trained, for the steward": TO_SERVER["trained"],  # type: ignore[dict-item]  # One of both.
    "the steward's group": TO_PEER["group"],  # type: ignore[dict-item]  # One of both.
    "what a peer measured": TO_SERVER["evaluation"],  # type: ignore[dict-item]  # One of both.
    "begin": peer_messages.Begin(**OF, weight=640.5, commitments=[KEY, bytes(32)], key=b""),
    "begin with masks": peer_messages.Begin(**OF, weight=640.5, commitments=[], key=KEY),
    "piece": peer_messages.Piece(**OF, part=3, contributors=[], offset=0, data=memoryview(bytes(range(256)))),
    "masked piece": peer_messages.Piece(
        **OF, part=3, contributors=[0, 2, 5], offset=0, data=memoryview(b"\1")
    ),
    "mean": peer_messages.Mean(**OF, part=3, contributors=[0, 1, 3], offset=256, data=memoryview(b"\xff\0")),
    "piece of a ring": peer_messages.Piece(
        **OF, part=3, contributors=[0, 1], offset=0, data=memoryview(b"\1")
    ),
    "holds": peer_messages.Holds(**OF, view=2, step=1, held=(0, 1), parts=[KEY, b""], weights=[640.5, 0.0]),
    "ask": peer_messages.Ask(**OF, view=2, step=3),
    "complain": peer_messages.Complain(
        **OF, place=2, fault="unfit", reason="Its piece does not fit its commitment."
    ),
    "config": peer_messages.Config(
        **OF,
        view=2,
        step=3,
        alive=[0, 2],
        owners=[0, 0, 2],
        parts=[b"", KEY, b""],
        weights=[640.5, 0.0, 320.25],
    ),
    "give": peer_messages.Give(**OF, view=2, step=3, part=1, places=[0, 2]),
    "change": peer_messages.Change(**OF, view=3, held=(2, 3), parts=[KEY, b""], weights=[640.5, 0.0]),
    "decide": peer_messages.Decide(
        **OF,
        view=3,
        step=0,
        survivors=[0, 2],
        parts=[KEY, bytes(32)],
        contributors=[[0, 1, 2], [0, 2]],
        weights=[640.5, 0.5, 320.25],
    ),
    "give up": peer_messages.GiveUp(**OF, view=3, reason="Two of at least three members are left."),
    "attest": peer_messages.Attest(**OF, weights=HASH, signature=SIGNATURE),
    "evidence": byzantine_messages.TellEvidence(
        identity=KEY, digest=bytes(32), size=4, data=memoryview(b"\0\1\2\3")
    ),
    "evidence to fetch": byzantine_messages.TellEvidence(
        identity=KEY, digest=bytes(32), size=2**28, data=memoryview(b"")
    ),
    "say": byzantine_messages.Say(**OF, turn=1, said=SAID, passed_on=[]),
    "say, passed on": byzantine_messages.Say(
        **OF,
        turn=32,
        said=SAID,
        passed_on=[byzantine_messages.PassedOn(identity=KEY, signature=SIGNATURE)],
    ),
    "show": byzantine_messages.Show(**OF, digest=KEY, size=20520, offset=16000, data=memoryview(b"\0\1\2\3")),
    "ask for a state": byzantine_messages.AskState(after=3),
    "tell a state": byzantine_messages.TellState(
        state=b"\x80", attempt=(4, 1), turn=1, active=[ONE, TWO], verdicts=[SAID]
    ),
    "tell the first state": byzantine_messages.TellState(
        state=b"\x80", attempt=(0, 0), turn=0, active=[], verdicts=[]
    ),
}

BAD_TO_SERVER: dict[str, Any] = {
    "hello of another protocol": {"type": "hello"},
    "enter without a way": {
        **msgspec.to_builtins(TO_SERVER["enter from a browser"], builtin_types=(bytes,)),
        "ways": [],
    },
    "a chain of 33 certificates": {
        "type": "certified",
        "certificate": msgspec.to_builtins(EARLIER, builtin_types=(bytes,)),
        "chain": [msgspec.to_builtins(EARLIER, builtin_types=(bytes,))] * 33,
    },
    "an address that is no socket": {"type": "signal", "client": "x", "data": b"a"},
    "a signal without bytes": {"type": "signal", "client": ONE, "data": b""},
    "a signal too long": {"type": "signal", "client": ONE, "data": bytes(16 * 1024 + 1)},
    "a place beyond the last": {
        "type": "averaged",
        **OF,
        "weights": HASH,
        "survivors": [32],
        "fraction": 1.0,
        "seconds": 1.0,
        "signature": SIGNATURE,
    },
}
BAD_TO_PEER: dict[str, Any] = {
    "a group of one": {
        **msgspec.to_builtins(TO_PEER["group"], builtin_types=(bytes,)),
        "members": [ONE],
    },
    "an unknown exchange": {
        **msgspec.to_builtins(TO_PEER["group"], builtin_types=(bytes,)),
        "exchange": "barter",
    },
    "a negative bound": {
        **msgspec.to_builtins(TO_PEER["group"], builtin_types=(bytes,)),
        "bounds": [0, -1],
    },
    "members without an epoch": {"type": "members", "members": []},
}
HOLDS: dict[str, Any] = {"type": "holds", **OF, "view": 0, "step": 0, "held": [0, 0], "weights": []}
BAD_PEER: dict[str, Any] = {
    "a commitment of 31 bytes": {
        "type": "begin",
        **OF,
        "weight": 1.0,
        "commitments": [bytes(31)],
        "key": b"",
    },
    "a key of 33 bytes": {"type": "begin", **OF, "weight": 1.0, "commitments": [], "key": bytes(33)},
    "begin without a key": {"type": "begin", **OF, "weight": 1.0, "commitments": []},
    "a weight in words": {"type": "begin", **OF, "weight": "much", "commitments": [], "key": b""},
    "33 parts": {**HOLDS, "parts": [b""] * 33},
    "a digest of 33 bytes": {**HOLDS, "parts": [bytes(33)]},
    "one number for two": {"type": "change", **OF, "view": 1, "held": [0], "parts": [], "weights": []},
    "an unknown fault": {"type": "complain", **OF, "place": 0, "fault": "dull", "reason": ""},
    "a server's frame": {"type": "members", "epoch": 0, "members": []},
    "a steward in words": {
        "type": "unattended",
        "round": 7,
        "weights": HASH,
        "steward": "yes",
        "measures": False,
    },
    "evidence of no bytes": {
        **msgspec.to_builtins(PEER["evidence"], builtin_types=(bytes, memoryview)),
        "size": 0,
    },
    "turn 33": {
        **msgspec.to_builtins(PEER["say"], builtin_types=(bytes,)),
        "turn": 33,
    },
    "a phase in capitals": {
        **msgspec.to_builtins(PEER["say"], builtin_types=(bytes,)),
        "said": {**msgspec.to_builtins(SAID, builtin_types=(bytes,)), "phase": "Commit"},
    },
    "a piece of text": {"type": "piece", **OF, "part": 0, "contributors": [], "offset": 0, "data": "text"},
}


def frames() -> dict[str, list[dict[str, Any]]]:
    """The content of mesh_frames.json."""
    return {
        "to_server": [_good(name, message) for name, message in TO_SERVER.items()],
        "to_peer": [_good(name, message) for name, message in TO_PEER.items()],
        "peer": [_good(name, message) for name, message in PEER.items()],
        "bad_to_server": [*_bad(BAD_BYTES), *_bad(BAD_TO_SERVER)],
        "bad_to_peer": [*_bad(BAD_BYTES), *_bad(BAD_TO_PEER)],
        "bad_peer": [*_bad(BAD_BYTES), *_bad(BAD_PEER)],
    }


def _good(
    name: str, message: mesh_messages.PeerToServer | mesh_messages.ServerToPeer | peer_messages.PeerFrame
) -> dict[str, Any]:
    frame = encode_mesh(message)
    return {"name": name, "hex": frame.hex(), "value": plain(msgspec.msgpack.decode(frame))}


def _bad(entries: dict[str, Any]) -> list[dict[str, str]]:
    return [
        {"name": name, "hex": (value if isinstance(value, bytes) else msgspec.msgpack.encode(value)).hex()}
        for name, value in entries.items()
    ]


def files() -> dict[str, str]:
    """The content of each file."""
    return {PLACE.name: json.dumps(frames(), indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
