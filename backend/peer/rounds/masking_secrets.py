"""Holds one client's secrets of one masked round, and performs the computations that need them.

The machine hosted by masking_host.py decides what is computed, and when. No secret is ever printed.
docs/reference/masked-rounds.md specifies the protocol.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from backend.crypto.client_keys import KEY_BYTES, agree_all, agreement_key, identity_key, sign, usable, verify
from backend.crypto.derive import sealing_keys
from backend.crypto.keystream import add_keystreams, keystream
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
from backend.crypto.shamir import randomness_bytes, split, valid
from backend.errors import UnsealError
from backend.numerics.masking.bit_packing import Words, masked_words, pack_update
from backend.numerics.masking.encoding import (
    MaskedContribution,
    add_encoded,
    contribution,
    finite_norm,
    private_contribution,
)
from backend.numerics.privacy.skellam import Skellam
from backend.peer.session.trust_store import TrustStore
from backend.peer.training.step import Sums, Vector
from backend.protocols.secagg import member_events
from backend.protocols.secagg.terms import chosen_of, encoding_of, signs_of
from backend.wire.masked_messages import Keys, Member

# Replaces shares that could not be opened: no share is as large as the prime.
NO_SHARE = b"\xff" * 32
# The number of values that get their noise in one piece.
NOISE_PART = 1 << 18


@dataclass(frozen=True)
class UnmaskedUpdate:
    """A trained update [parameters] before it is masked, and the values of an offer.

    Of a `private` one only the update is sent. `owed` [parameters] is the unsent part of earlier updates; it
    is added where a round sends a share of the parameters.
    """

    update: Vector
    examples: int
    loss: float
    sums: Sums
    private: bool = False
    owed: Vector | None = None


class RoundSecrets:
    """The secrets of one round, owned by the masker's thread. `draw` returns random bytes of the system.

    Raises ValueError if `mask` is called before `prepare`.
    """

    def __init__(self, terms: Terms, client: str, identity: bytes, draw: Callable[[int], bytes]) -> None:
        self.terms = terms
        self._client = client
        self._identity = identity
        self._draw = draw
        self._base = base_hash(terms)
        self._seed = _random_secret(draw)
        self._mask_key = _random_secret(draw)
        self._share_key = draw(KEY_BYTES)
        self._members: Sequence[Member] = ()
        self._context = b""
        # What is revealed of secrets, by their owners' places: the keys that open others' shares, and the own
        # shares; the seed's is first.
        self._revealable: dict[int, tuple[bytes, bytes]] = {}
        # Key agreements with neighbours, by their places: they seal shares for them and open theirs.
        self._agreements: dict[int, bytes] = {}
        self._masks: Words | None = None
        self._masked: memoryview | None = None
        # The part of the update that is not sent; None where all of it is.
        self.unsent: Vector | None = None

    @property
    def context(self) -> str:
        """The round's context in hexadecimal, by which all of its members know it; empty without a roster."""
        return self._context.hex()

    def keys(self) -> Keys:
        """Returns the signed public keys."""
        mask_key, share_key = agreement_key(self._mask_key), agreement_key(self._share_key)
        seed_hash = hashlib.sha256(self._seed).digest()
        statement = keys_statement(self._base, self._client, mask_key, share_key, seed_hash)
        return Keys(
            round=self.terms.round,
            mask_key=mask_key,
            share_key=share_key,
            seed_hash=seed_hash,
            identity=identity_key(self._identity),
            signature=sign(self._identity, statement),
        )

    def check(
        self, request: member_events.CheckRoster, trust_store: TrustStore
    ) -> member_events.RosterChecked:
        """Checks every key; also signatures and identities if requested or if this peer has a roster."""
        self._members = request.members
        roster = roster_hash(self._base, request.members)
        self._context = context_hash(
            self._base, roster, len(request.members), request.degree, request.threshold
        )
        order = ring(self._context, [member.client for member in request.members])
        verifies = request.verify or trust_store.roster is not None
        wrong = [
            place
            for place, member in enumerate(request.members)
            if not (usable(member.mask_key) and usable(member.share_key))
            or (verifies and not self._is_signed(member))
        ]
        identities = {member.client: member.identity.hex() for member in request.members}
        changed = [
            place
            for place, client in enumerate(identities)
            if verifies and trust_store.is_untrusted(client, identities[client])
        ]
        if verifies and not wrong and not changed:
            trust_store.remember(identities)
        return member_events.RosterChecked(request.round, order, wrong, changed)

    def seal(self, request: member_events.SealShares) -> member_events.SharesSealed:
        """Splits both secrets into shares, keeps the own ones, and seals the others."""
        holders = sorted([*request.neighbours, request.place])
        publics = [self._members[place].share_key for place in request.neighbours]
        self._agreements = dict(zip(request.neighbours, agree_all(self._share_key, publics), strict=True))
        split_secrets = [
            split(secret, holders, request.threshold, self._draw(randomness_bytes(request.threshold)))
            for secret in (self._seed, self._mask_key)
        ]
        shares = dict(zip(holders, zip(*split_secrets, strict=True), strict=True))
        self._revealable[request.place] = shares.pop(request.place)
        sealed = [
            seal(self._sealing_keys(place, request.place, place), self._context, request.place, place, *pair)
            for place, pair in shares.items()
        ]
        return member_events.SharesSealed(request.round, sealed)

    def open(self, request: member_events.OpenShares) -> member_events.SharesOpened:
        """Opens the neighbours' shares."""
        unopened = []
        for sender, sealed in zip(request.senders, request.sealed, strict=True):
            keys = self._sealing_keys(sender, sender, request.place)
            try:
                for kind in ShareKind:
                    unseal(keys[kind], self._context, sender, request.place, sealed, kind)
            except UnsealError:
                unopened.append(sender)
            else:
                self._revealable[sender] = keys
        return member_events.SharesOpened(request.round, unopened)

    def prepare(self, request: member_events.MaskUpdate) -> None:
        """Expands the masks, which takes most of the time, while the update is still being trained."""
        neighbours = {place: self._members[place].mask_key for place in request.pairs}
        keys = mask_keys(self._context, request.place, self._seed, self._mask_key, neighbours)
        sent = encoding_of(self.terms, len(self._members)).parameters
        self._masks = np.zeros(masked_words(sent, self.terms.rows), np.uint32)
        add_keystreams(self._masks, keys)
        if self.terms.noise > 0.0:
            self._add_noise(self._masks[:sent])

    def mask(self, trained: UnmaskedUpdate) -> memoryview:
        """Returns the masked update as it is sent; a repeated call returns the bytes of the first.

        Raises NotFiniteError for NaN or infinity.
        """
        if self._masked is not None:
            return self._masked
        encoding, masks = encoding_of(self.terms, len(self._members)), self._masks
        if masks is None:
            raise ValueError("The masks are not ready.")
        key, signs = self._draw(KEY_BYTES), signs_of(encoding, self._context)
        sent, unsent = self._split(trained)
        add_encoded(encoding, self._contribution(sent), partial(_random_words, key), masks, signs)
        self._masks, self.unsent = None, unsent
        self._masked = pack_update(masks, encoding.parameters, encoding.bits)
        return self._masked

    def sign_survivors(self, request: member_events.SignSurvivors) -> member_events.SurvivorsSigned:
        """Signs the list of survivors."""
        statement = survivors_statement(self._context, request.alive)
        return member_events.SurvivorsSigned(request.round, sign(self._identity, statement))

    def check_consistency_signatures(
        self, request: member_events.CheckConsistencySignatures
    ) -> member_events.ConsistencySignaturesChecked:
        """Returns the places whose signatures are not over these survivors."""
        statement = survivors_statement(self._context, request.alive)
        pairs = zip(request.vouchers, request.signatures, strict=True)
        wrong = [
            place
            for place, signature in pairs
            if not verify(self._members[place].identity, signature, statement)
        ]
        return member_events.ConsistencySignaturesChecked(request.round, wrong)

    def reveal(self, request: member_events.MakeReveal) -> member_events.RevealMade:
        """Returns what opens one share per owner, and deletes the rest."""
        chosen = dict.fromkeys(request.seeds, 0) | dict.fromkeys(request.mask_keys, 1)
        unopened = (NO_SHARE, NO_SHARE)
        shares = [self._revealable.get(place, unopened)[which] for place, which in sorted(chosen.items())]
        self._revealable.clear()
        return member_events.RevealMade(request.round, shares)

    def _split(self, trained: UnmaskedUpdate) -> tuple[UnmaskedUpdate, Vector | None]:
        """Splits an update into the part that this round sends and the unsent part."""
        chosen = chosen_of(self.terms, self._context)
        if chosen is None:
            return trained, None
        update = trained.update if trained.owed is None else trained.update + trained.owed
        # The unsent part must be finite, too: it is sent later.
        finite_norm(update)
        sent, unsent = chosen.split(update)
        return replace(trained, update=sent, owed=None), unsent

    def _contribution(self, trained: UnmaskedUpdate) -> MaskedContribution:
        terms = self.terms
        if trained.private or terms.noise > 0.0:
            return private_contribution(trained.update, terms.rows)
        sums = [value for pair in trained.sums for value in pair]
        return contribution(trained.update, trained.examples, terms.examples, trained.loss, sums)

    def _add_noise(self, words: Words) -> None:
        """Adds this client's share of the noise, from a fresh secret key."""
        noise = Skellam(encoding_of(self.terms, len(self._members)).share_variance)
        key = self._draw(KEY_BYTES)
        for start in range(0, len(words), NOISE_PART):
            part = words[start : start + NOISE_PART]
            part += noise.draw(keystream(key, 2 * len(part), 2 * start)).view(np.uint32)

    def _sealing_keys(self, other: int, sender: int, receiver: int) -> tuple[bytes, bytes]:
        return sealing_keys(self._agreements[other], self._context, sender, receiver)

    def _is_signed(self, member: Member) -> bool:
        statement = keys_statement(
            self._base, member.client, member.mask_key, member.share_key, member.seed_hash
        )
        return verify(member.identity, member.signature, statement)


def _random_words(key: bytes, start: int, count: int) -> Words:
    return keystream(key, count, start)


def _random_secret(draw: Callable[[int], bytes]) -> bytes:
    """Returns 32 random bytes that can be split into shares; redraws with probability 2^-248."""
    while not valid(secret := draw(KEY_BYTES)):
        pass
    return secret
