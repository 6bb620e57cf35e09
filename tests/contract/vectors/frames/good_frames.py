"""Frames of minga.1 that must be read, by name: of clients and of the server."""

from __future__ import annotations

from backend.wire import messages
from backend.wire.masked_messages import Member

HASH, OTHER = "0123456789abcdef" * 4, "f" * 64
KEY = bytes(range(7, 39))
TOKEN = "AbCdEfGhIjKlMnOpQrStUv-_"  # noqa: S105 - an example.

CLIENT: dict[str, messages.ClientFrame] = {
    "hello from a browser": messages.Hello(
        token=TOKEN,
        kind="browser",
        backend="webgl",
        agent="minga-web/0.1.0",
        aggregation=["open"],
        min_masked=0,
    ),
    "hello from a peer": messages.Hello(
        token=TOKEN,
        kind="peer",
        backend="tensorflow",
        agent="minga-peer/0.1.0",
        aggregation=["open"],
        min_masked=0,
    ),
    "ready": messages.Ready(backend="wasm", step_ms=163.25, examples=0),
    "offer": messages.Offer(
        round=7,
        version=6,
        examples=128,
        steps=4,
        loss=0.625,
        sums=[(96.5, 128.25), (-0.5, 1e-3)],
        size=20520,
    ),
    "offer of a model without metrics": messages.Offer(
        round=2**33, version=2**53 - 1, examples=1, steps=1, loss=1.5, sums=[], size=4
    ),
    "chunk": messages.Chunk(round=7, offset=262144, data=memoryview(bytes(range(256)))),
    "ready with own examples": messages.Ready(backend="webgpu", step_ms=7.5, examples=2000),
    "ready with a program": messages.Ready(backend="exact", step_ms=3.0, examples=0, program="5e" * 32),
    "evaluation": messages.Evaluation(round=7, version=7, examples=40, loss=0.75, sums=[(31.0, 40.0)]),
    "evaluation without examples": messages.Evaluation(round=7, version=7, examples=0, loss=0.0, sums=[]),
    "leave": messages.Leave(),
    "hello of one who wants to be one of eight": messages.Hello(
        token=TOKEN,
        kind="peer",
        backend="tensorflow",
        agent="x",
        aggregation=["masked", "open"],
        min_masked=8,
    ),
    "keys": messages.Keys(
        round=7,
        mask_key=KEY,
        share_key=KEY[::-1],
        seed_hash=KEY,
        identity=bytes(32),
        signature=KEY + KEY[::-1],
    ),
    "shares": messages.Shares(round=7, sealed=[bytes(range(80)), b"x"]),
    "vouch": messages.ConsistencySignature(round=7, signature=KEY + KEY),
    "reveal": messages.Reveal(round=7, shares=[KEY, KEY[::-1]]),
    "decline": messages.Decline(round=7, spent=True),
}

SERVER: dict[str, messages.ServerFrame] = {
    "welcome": messages.Welcome(
        task="digits",
        client="0123456789abcdef",
        bundle=HASH,
        run=HASH[::-1],
        chunk_bytes=262144,
        aggregation="open",
        masking=None,
        privacy=None,
        probation=3,
    ),
    "welcome to a private task": messages.Welcome(
        task="digits",
        client="0123456789abcdef",
        bundle=HASH,
        run=HASH[::-1],
        chunk_bytes=262144,
        aggregation="masked",
        masking=messages.AggregationTerms(clip=1.0, min_clients=8, server="active"),
        privacy=messages.PrivacyTerms(
            mechanism="distributed", clip=1.0, noise=4.245, delta=1e-5, microbatch=0, visits=0
        ),
    ),
    "train": messages.Train(
        round=7,
        version=6,
        weights=HASH,
        epochs=1,
        steps=0,
        batch_size=32,
        learning_rate=0.003,
        past_steps=96,
        seed=2147483647,
        proximal_mu=0.0,
        control=None,
        masking=None,
        privacy=None,
        shards=[messages.Shard(sha256=HASH, examples=64), messages.Shard(sha256=OTHER, examples=32)],
        seconds=59.5,
    ),
    "train by steps on own examples, with FedProx and SCAFFOLD": messages.Train(
        round=8,
        version=7,
        weights=HASH,
        epochs=0,
        steps=50,
        batch_size=16,
        learning_rate=0.05,
        past_steps=0,
        seed=1,
        proximal_mu=0.01,
        control=OTHER,
        masking=None,
        privacy=None,
        shards=[],
        seconds=30.0,
    ),
    "evaluate on shards": messages.Evaluate(
        round=7,
        version=7,
        weights=HASH,
        shards=[messages.Shard(sha256=OTHER, examples=40)],
        seconds=20.0,
    ),
    "evaluate on own examples": messages.Evaluate(round=7, version=7, weights=HASH, shards=[], seconds=20.5),
    "credit": messages.Credit(round=7, until=1048576),
    "accepted": messages.Accepted(round=7, examples=128),
    "accepted and not counted": messages.Accepted(
        round=7,
        examples=128,
        counted=False,
        reason="Your updates do not count at present.",
        code="quarantine",
        found=["distance", "left-out"],
        rounds=3,
    ),
    "accepted, checked only": messages.Accepted(round=7, examples=0, counted=False),
    "refused": messages.Refused(round=7, code="not-finite", reason="The update holds NaN or infinity."),
    "state while training": messages.State(
        phase="training",
        round=7,
        version=6,
        needed=0,
        cohort=2,
        reported=1,
        quorum=1,
        seconds=12.5,
        participants=[
            messages.Participant(
                client="0123456789abcdef", kind="browser", backend="webgpu", status="training", accepted=6
            ),
            messages.Participant(
                client="fedcba9876543210", kind="peer", backend="tensorflow", status="reported", accepted=5
            ),
        ],
    ),
    "state while waiting": messages.State(
        phase="waiting",
        round=0,
        version=0,
        needed=2,
        cohort=0,
        reported=0,
        quorum=1,
        seconds=None,
        participants=[],
    ),
    "state while paused": messages.State(
        phase="paused",
        round=7,
        version=7,
        needed=0,
        cohort=0,
        reported=0,
        quorum=1,
        seconds=None,
        participants=[],
    ),
    "version": messages.Version(
        version=7, round=7, weights=HASH, accepted=2, examples=256, loss=0.5, metrics={"accuracy": 0.875}
    ),
    "evaluated": messages.Evaluated(version=7, source="server", loss=0.25, metrics={"accuracy": 0.9375}),
    "evaluated by clients": messages.Evaluated(version=7, source="clients", loss=0.25, metrics={}),
    "state while evaluating": messages.State(
        phase="evaluating",
        round=7,
        version=7,
        needed=0,
        cohort=1,
        reported=0,
        quorum=1,
        seconds=8.0,
        participants=[
            messages.Participant(
                client="0123456789abcdef", kind="browser", backend="wasm", status="evaluating", accepted=7
            ),
        ],
    ),
    "train masked, with noise": messages.Train(
        round=9,
        version=8,
        weights=HASH,
        epochs=1,
        steps=0,
        batch_size=32,
        learning_rate=0.5,
        past_steps=0,
        seed=3,
        proximal_mu=0.0,
        control=None,
        masking=messages.Masking(
            bits=24, clip=1.5, examples=64, noise=0.75, share=0.25, min_clients=8, server="active"
        ),
        privacy=messages.Privacy(clip=1.5, noise=0.0, example_clip=0.5, example_noise=1.25, microbatch=4),
        shards=[],
        seconds=30.0,
    ),
    "roster": messages.Roster(
        round=7,
        members=[
            Member(
                client="0123456789abcdef",
                mask_key=KEY,
                share_key=KEY[::-1],
                seed_hash=KEY,
                identity=KEY,
                signature=KEY * 2,
            )
        ],
    ),
    "dealt": messages.Dealt(round=7, senders=[0, 2], sealed=[bytes(range(80)), bytes(80)]),
    "survivors": messages.Survivors(round=7, alive=[0, 1, 4]),
    "unmask": messages.Unmask(round=7, alive=[0, 1], vouchers=[1], signatures=[KEY + KEY]),
    "abandoned": messages.Abandoned(round=7, reason="0 of at least 1 updates arrived in time."),
    "closing": messages.Closing(
        code="replaced", reason="You opened this task elsewhere; that connection continues."
    ),
}
