"""The host of one member: runs its machine's effects with real primitives and seeded randomness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random

import numpy as np

from backend.crypto import client_keys, shamir
from backend.crypto.derive import sealing_keys
from backend.crypto.keystream import Words, add_keystreams
from backend.crypto.masking import mask_keys
from backend.crypto.round_context import (
    Terms,
    base_hash,
    context_hash,
    keys_statement,
    ring,
    roster_hash,
    survivors_statement,
)
from backend.crypto.sealing import ShareKind, seal, unseal
from backend.errors import UnsealError
from backend.protocols.secagg import member_events
from backend.protocols.secagg.member import MaskedMember
from backend.wire.masked_messages import Keys, Masking, Member
from backend.wire.messages import ClientFrame, ServerFrame, Train

BUNDLE, WEIGHTS = "b" * 64, "a" * 64
NO_SHARE = b"\xff" * 32


def plan(number: int, masking: Masking, weights: str = WEIGHTS, seed: int = 1) -> Train:
    """Returns the server's plan for a client of round `number`."""
    return Train(
        round=number, version=number - 1, weights=weights, epochs=1, steps=0, batch_size=8, learning_rate=0.1,
        past_steps=0, seed=seed, proximal_mu=0.0, control=None, masking=masking, privacy=None, shards=[],
        seconds=60.0,
    )  # fmt: skip


def terms_of(told: Train, values: int, bundle: str = BUNDLE) -> Terms:
    """Returns the terms of a round of so many `values`."""
    masking = told.masking
    assert masking is not None
    return Terms(
        task="digits", bundle=bundle, round=told.round, version=told.version, weights=told.weights,
        parameters=values, rows=0, bits=masking.bits, clip=masking.clip, examples=masking.examples,
        noise=masking.noise, share=masking.share, min_clients=masking.min_clients, server=masking.server,
    )  # fmt: skip


@dataclass
class Secrets:
    """The host's secrets of one round, until it forgets them."""

    base: bytes
    seed: bytes
    mask_private: bytes
    share_private: bytes
    context: bytes = b""
    members: Sequence[Member] = ()
    # The keys that seal shares, by the neighbour's place.
    agreed: dict[int, bytes] = field(default_factory=dict)
    # The keys of the shares of seed and private mask key, by their owner's place, and the own shares; None
    # where they could not be opened.
    held: dict[int, tuple[bytes, bytes] | None] = field(default_factory=dict)


class Holder:
    """A client; `update` is its addend to the sum, `said` its outgoing frames in order.

    `terms` returns the terms of a plan for so many values.
    """

    def __init__(
        self,
        client: str,
        update: Words,
        random: Random,
        minimum: int = 0,
        terms: Callable[[Train, int], Terms] = terms_of,
    ) -> None:
        self.client = client
        self.update = update
        self.minimum = minimum
        self.machine = MaskedMember()
        self.identity = random.randbytes(32)
        self.known: dict[str, bytes] = {}
        self.secrets: Secrets | None = None
        self.masked: Words | None = None
        self.outcomes: list[member_events.Event] = []
        self.said: list[ClientFrame] = []
        self.refusals: list[str] = []
        # Versions below it are spent; a real host stores it.
        self.spent = 0
        # The clients whose seed shares, and those whose mask key shares it revealed, by round.
        self.gave: dict[int, tuple[set[str], set[str]]] = {}
        # The clients with whom its update shares masks, by round.
        self.mixed: dict[int, set[str]] = {}
        self._random = random
        self._terms = terms

    def planned(self, told: Train) -> None:
        """Handles a plan from the server."""
        self.handle(member_events.Planned(self.client, BUNDLE, self.minimum, told))

    def hears(self, frame: ServerFrame) -> None:
        """Handles a frame from the server."""
        self.handle(member_events.MaskedFrame(frame))

    def work(self) -> None:
        """Reports the outcome of the oldest unreported effect."""
        self.handle(self.outcomes.pop(0))

    def handle(self, event: member_events.Event) -> None:
        """Passes an event to the machine and performs the effects."""
        for effect in self.machine.handle(event):
            self._perform(effect)

    def _perform(self, effect: member_events.Effect) -> None:
        match effect:
            case member_events.SendMasked(frame):
                self.said.append(frame)
            case member_events.MakeKeys():
                self.outcomes.append(member_events.KeysMade(self._make_keys(effect.plan), self.spent))
            case member_events.LeaveRound(reason=reason):
                self.refusals.append(reason)
            case member_events.ForgetRound():
                self.secrets, self.masked = None, None
            case _:
                assert self.secrets is not None
                outcome = self._work(effect, self.secrets)
                if outcome is not None:
                    self.outcomes.append(outcome)

    def _work(self, effect: member_events.Effect, kept: Secrets) -> member_events.Event | None:
        match effect:
            case member_events.CheckRoster():
                return self._check(effect, kept)
            case member_events.SealShares():
                return self._seal(effect, kept)
            case member_events.OpenShares():
                return self._open(effect, kept)
            case member_events.MaskUpdate(place=place, pairs=pairs):
                neighbours = {one: kept.members[one].mask_key for one in pairs}
                self.mixed[effect.round] = {kept.members[one].client for one in pairs}
                self.masked = self.update.copy()
                secrets = (kept.context, place, kept.seed, kept.mask_private)
                add_keystreams(self.masked, mask_keys(*secrets, neighbours))
            case member_events.SignSurvivors(round=number, alive=alive):
                signature = client_keys.sign(self.identity, survivors_statement(kept.context, alive))
                return member_events.SurvivorsSigned(number, signature)
            case member_events.CheckConsistencySignatures():
                statement = survivors_statement(kept.context, effect.alive)
                signed = zip(effect.vouchers, effect.signatures, strict=True)
                wrong = [
                    one
                    for one, signature in signed
                    if not client_keys.verify(kept.members[one].identity, signature, statement)
                ]
                return member_events.ConsistencySignaturesChecked(effect.round, wrong)
            case member_events.MakeReveal():
                return self._reveal(effect, kept)
        return None

    def _make_keys(self, told: Train) -> Keys:
        base = base_hash(self._terms(told, self.update.size))
        drawn = [self._random.randbytes(32) for _ in range(3)]
        assert all(shamir.valid(secret) for secret in drawn)
        seed, mask_private, share_private = drawn
        self.secrets = Secrets(base, seed, mask_private, share_private)
        mask_key, share_key = (
            client_keys.agreement_key(mask_private),
            client_keys.agreement_key(share_private),
        )
        seed_hash = sha256(seed).digest()
        statement = keys_statement(base, self.client, mask_key, share_key, seed_hash)
        return Keys(
            round=told.round, mask_key=mask_key, share_key=share_key, seed_hash=seed_hash,
            identity=client_keys.identity_key(self.identity), signature=client_keys.sign(self.identity,
            statement),
        )  # fmt: skip

    def _check(self, asked: member_events.CheckRoster, kept: Secrets) -> member_events.RosterChecked:
        kept.members = asked.members
        roster = roster_hash(kept.base, asked.members)
        kept.context = context_hash(kept.base, roster, len(asked.members), asked.degree, asked.threshold)
        wrong, changed = [], []
        for place, one in enumerate(asked.members):
            statement = keys_statement(kept.base, one.client, one.mask_key, one.share_key, one.seed_hash)
            signed = not asked.verify or client_keys.verify(one.identity, one.signature, statement)
            if not signed or not client_keys.usable(one.mask_key) or not client_keys.usable(one.share_key):
                wrong.append(place)
            if asked.verify and self.known.setdefault(one.client, one.identity) != one.identity:
                changed.append(place)
        order = ring(kept.context, [one.client for one in asked.members])
        return member_events.RosterChecked(asked.round, order, wrong, changed)

    def _seal(self, asked: member_events.SealShares, kept: Secrets) -> member_events.SharesSealed:
        place, holders = asked.place, [*asked.neighbours, asked.place]
        count = shamir.randomness_bytes(asked.threshold)
        seeds, mask_keys = (
            dict(zip(holders, shamir.split(secret, holders, asked.threshold, randomness), strict=True))
            for secret, randomness in (
                (kept.seed, self._random.randbytes(count)),
                (kept.mask_private, self._random.randbytes(count)),
            )
        )
        kept.held[place] = (seeds[place], mask_keys[place])
        publics = (kept.members[other].share_key for other in asked.neighbours)
        agreed = client_keys.agree_all(kept.share_private, publics)
        kept.agreed = dict(zip(asked.neighbours, agreed, strict=True))
        sealed = []
        for other in asked.neighbours:
            keys = sealing_keys(kept.agreed[other], kept.context, place, other)
            sealed.append(seal(keys, kept.context, place, other, seeds[other], mask_keys[other]))
        return member_events.SharesSealed(asked.round, sealed)

    def _open(self, asked: member_events.OpenShares, kept: Secrets) -> member_events.SharesOpened:
        unopened = []
        for sender, sealed in zip(asked.senders, asked.sealed, strict=True):
            keys = sealing_keys(kept.agreed[sender], kept.context, sender, asked.place)
            try:
                for kind in ShareKind:
                    unseal(keys[kind], kept.context, sender, asked.place, sealed, kind)
                kept.held[sender] = keys
            except UnsealError:
                kept.held[sender] = None
                unopened.append(sender)
        return member_events.SharesOpened(asked.round, unopened)

    def _reveal(self, asked: member_events.MakeReveal, kept: Secrets) -> member_events.RevealMade:
        assert asked.round not in self.gave
        assert asked.version >= self.spent
        self.spent = asked.version + 1
        seeds, mask_keys = (
            {kept.members[owner].client for owner in owners if kept.held[owner]}
            for owners in (asked.seeds, asked.mask_keys)
        )
        self.gave[asked.round] = (seeds, mask_keys)
        shares = []
        for owner in sorted([*asked.seeds, *asked.mask_keys]):
            both = kept.held.pop(owner)
            shares.append(NO_SHARE if both is None else both[0 if owner in asked.seeds else 1])
        return member_events.RevealMade(asked.round, shares)


def updates(count: int, values: int, random: Random) -> list[Words]:
    """Returns the updates of so many clients."""
    drawn = np.frombuffer(random.randbytes(4 * count * values), np.uint32)
    return [one.copy() for one in drawn.reshape(count, values)]
