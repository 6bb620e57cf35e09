"""Runs both sides of a masked round in this process, without sockets.

Machines, primitives, encoding and frames are real. The processor time of a side covers all its work from a
frame's bytes to the bytes of its answers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import process_time

from backend.crypto.round_context import Terms
from backend.numerics.masking.bit_packing import masked_bytes
from backend.peer.rounds.masking_secrets import RoundSecrets, UnmaskedUpdate
from backend.peer.session.trust_store import TrustStore
from backend.protocols.secagg import member_events, server_effects
from backend.protocols.secagg.member import MaskedMember
from backend.protocols.secagg.server import MaskedRound
from backend.protocols.secagg.terms import Degree, terms_of
from backend.server.rounds.masked_sum import empty_sum
from backend.wire.codec import decode_client, decode_server, encode
from backend.wire.masked_messages import ConsistencySignature, Keys, Masking, Reveal, Server, Shares
from backend.wire.messages import CHUNK_BYTES, Chunk, ClientFrame, Offer, Train

HASH, SECONDS = "5e" * 32, 600.0


class Meter:
    """Adds up the processor time of all threads of this process while it runs."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Counts the time inside the block."""
        started = process_time()
        try:
            yield
        finally:
            self.seconds += process_time() - started


def masking_of(bits: int, server: Server) -> Masking:
    """Returns the masking of a round in which an update's norm is at most 1."""
    return Masking(bits=bits, clip=1.0, examples=100, noise=0.0, share=1.0, min_clients=3, server=server)


def _terms(masking: Masking, parameters: int) -> Terms:
    return terms_of(
        masking,
        task="dense",
        bundle=HASH,
        number=1,
        version=0,
        weights=HASH,
        parameters=parameters,
        rows=1,
    )


def _plan(masking: Masking) -> Train:
    return Train(
        round=1,
        version=0,
        weights=HASH,
        epochs=1,
        steps=0,
        batch_size=32,
        learning_rate=0.1,
        past_steps=0,
        seed=1,
        proximal_mu=0.0,
        control=None,
        masking=masking,
        privacy=None,
        shards=[],
        seconds=SECONDS,
    )


class Client:
    """A client that trains nothing."""

    def __init__(self, name: str, terms: Terms, plan: Train, trust_store: TrustStore) -> None:
        self.meter = Meter()
        self.name = name
        self.bytes_up = 0
        self._terms = terms
        self._plan = plan
        self._known = trust_store
        self._identity = os.urandom(32)
        self._machine = MaskedMember()
        self._secrets: RoundSecrets | None = None

    def begin(self) -> list[bytes]:
        """Returns the frame of its keys."""
        with self.meter.running():
            return self._handle(member_events.Planned(self.name, self._terms.bundle, 0, self._plan))

    def hear(self, frame: bytes) -> list[bytes]:
        """Returns its answers to a frame of the server's."""
        with self.meter.running():
            return self._handle(member_events.MaskedFrame(decode_server(frame)))

    def upload(self, update: UnmaskedUpdate) -> list[bytes]:
        """Returns the frames of a masked update."""
        with self.meter.running():
            data = self._round_secrets().mask(update)
            offer = Offer(round=1, version=0, examples=0, steps=0, loss=0.0, sums=[], size=len(data))
            view = memoryview(data)
            chunks = (
                Chunk(round=1, offset=start, data=view[start : start + CHUNK_BYTES])
                for start in range(0, len(data), CHUNK_BYTES)
            )
            return [self._counted_frame(offer), *map(self._counted_frame, chunks)]

    def _handle(self, event: member_events.Event) -> list[bytes]:
        frames: list[bytes] = []
        for effect in self._machine.handle(event):
            match effect:
                case member_events.SendMasked(frame=frame):
                    frames.append(self._counted_frame(frame))
                case member_events.MaskUpdate():
                    self._round_secrets().prepare(effect)
                case member_events.LeaveRound(reason=reason):
                    raise AssertionError(f"client {self.name} gave up: {reason}")
                case member_events.ForgetRound():
                    self._secrets = None
                case _:
                    frames += self._handle(self._perform_work(effect))
        return frames

    def _perform_work(self, effect: member_events.Effect) -> member_events.Event:
        match effect:
            case member_events.MakeKeys():
                self._secrets = RoundSecrets(self._terms, self.name, self._identity, os.urandom)
                return member_events.KeysMade(self._secrets.keys(), spent=0)
            case member_events.CheckRoster():
                return self._round_secrets().check(effect, self._known)
            case member_events.SealShares():
                return self._round_secrets().seal(effect)
            case member_events.OpenShares():
                return self._round_secrets().open(effect)
            case member_events.SignSurvivors():
                return self._round_secrets().sign_survivors(effect)
            case member_events.CheckConsistencySignatures():
                return self._round_secrets().check_consistency_signatures(effect)
            case member_events.MakeReveal():
                return self._round_secrets().reveal(effect)
        raise AssertionError(f"nobody performs {type(effect).__name__}")

    def _round_secrets(self) -> RoundSecrets:
        assert self._secrets is not None, "the machine forgot this round"
        return self._secrets

    def _counted_frame(self, frame: ClientFrame) -> bytes:
        sent = encode(frame)
        self.bytes_up += len(sent)
        return sent


class Host:
    """The server: sums masked updates as they come, and unmasks their sum."""

    def __init__(self, terms: Terms, names: Sequence[str]) -> None:
        self.meter = Meter()
        self.terms = terms
        self.total = empty_sum(terms)
        self.bytes_down = 0
        # The number of keystreams that unmasking removes from the sum.
        self.removed_keystreams = 0
        self._round = MaskedRound(terms, names, SECONDS, 0.0)
        self._buffer = bytearray(masked_bytes(terms.parameters, terms.rows, terms.bits))
        self._received = 0

    @property
    def degree(self) -> Degree:
        """Returns the degree of the round's graph."""
        return self._round.graph.degree

    def hear(self, name: str, frame: bytes) -> list[tuple[str, bytes]]:
        """Returns the frames, with their recipients, that follow a client's frame."""
        with self.meter.running():
            match decode_client(frame):
                case Keys() as keys:
                    return self._perform(self._round.keys_arrived(name, keys, 0.0))
                case Shares() as shares:
                    return self._perform(self._round.shares_arrived(name, shares, 0.0))
                case ConsistencySignature() as vouch:
                    return self._perform(self._round.consistency_signature_arrived(name, vouch, 0.0))
                case Reveal() as reveal:
                    return self._perform(self._round.reveal_arrived(name, reveal, 0.0))
                case Offer() as offer:
                    refused = self._round.may_offer(name)
                    assert refused is None, refused
                    assert offer.size == len(self._buffer), "the update has another size"
                    self._received = 0
                case Chunk() as chunk:
                    self._store(name, chunk)
            return []

    def end(self) -> list[tuple[str, bytes]]:
        """Ends the inputs: clients whose updates came reveal."""
        with self.meter.running():
            return self._perform(self._round.inputs_over(0.0))

    def _store(self, name: str, chunk: Chunk) -> None:
        assert chunk.offset == self._received, "a chunk is out of order"
        self._received += len(chunk.data)
        self._buffer[chunk.offset : self._received] = chunk.data
        if self._received == len(self._buffer):
            self.total.add(memoryview(self._buffer))
            self._round.input_accepted(name)

    def _perform(self, effects: Sequence[server_effects.Effect]) -> list[tuple[str, bytes]]:
        messages: list[tuple[str, bytes]] = []
        for effect in effects:
            match effect:
                case server_effects.Tell(client=client, frame=frame):
                    messages.append((client, encode(frame)))
                case server_effects.TellAll(clients=clients, frame=frame):
                    once = encode(frame)
                    messages += [(client, once) for client in clients]
                case server_effects.Recover():
                    self._recover(effect)
                case _:
                    raise AssertionError(f"the round went wrong: {effect}")
        self.bytes_down += sum(len(frame) for _, frame in messages)
        return messages

    def _recover(self, effect: server_effects.Recover) -> None:
        alive = set(effect.alive)
        lost = [effect.pairs[owner] for owner in effect.mask_keys]
        self.removed_keystreams = len(alive) + sum(len(alive.intersection(pairs)) for pairs in lost)
        self.total.decoded = self.total.unmask(effect)
        self._round.unmasked()


def play(
    count: int,
    dropped: int,
    masking: Masking,
    parameters: int,
    update: Callable[[int], UnmaskedUpdate],
    home: Path,
) -> tuple[Host, list[Client]]:
    """Runs a round of `count` clients; the last `dropped` leave after their shares came.

    `update` returns a client's update by its number. Returns the server and the remaining clients.
    """
    names = [f"{n:016x}" for n in range(count)]
    terms, plan = _terms(masking, parameters), _plan(masking)
    clients = {name: Client(name, terms, plan, TrustStore(home)) for name in names}
    host = Host(terms, names)
    rosters = [
        message for name in names for frame in clients[name].begin() for message in host.hear(name, frame)
    ]
    shared = [(name, frame) for name, roster in rosters for frame in clients[name].hear(roster)]
    shares = dict(message for name, frame in shared for message in host.hear(name, frame))
    remaining = names[: count - dropped]
    for number, name in enumerate(remaining):
        clients[name].hear(shares[name])
        for frame in clients[name].upload(update(number)):
            host.hear(name, frame)
    messages = host.end()
    while messages:
        answers = [(name, frame) for name, message in messages for frame in clients[name].hear(message)]
        messages = [message for name, frame in answers for message in host.hear(name, frame)]
    return host, [clients[name] for name in remaining]
