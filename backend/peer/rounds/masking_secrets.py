"""One client's secrets of one masked round, and what is computed with them.

What is computed when is decided by the machine that `masking_host.py` hosts. Nothing here is ever printed.
docs/decisions/0017-masked-rounds.md has the protocol.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from backend.crypto.client_keys import KEY_BYTES, agree_all, agreement_key, identity_key, sign, usable, verify
from backend.crypto.derive import sealing_key
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
from backend.crypto.sealing import seal, unseal
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

# Stands for shares that could not be opened: no share is as large as the prime.
NO_SHARE = b"\xff" * 32
# Values that get their noise at a time.
NOISE_PART = 1 << 18


@dataclass(frozen=True)
class UnmaskedUpdate:
    """What a training came to, before it is masked: its `update` [parameters] and what an offer would say.

    Of one that is `private` nothing is told but the update. `owed` [parameters] is what updates before it
    left unsent; it is added where a round sends a share of the parameters.
    """

    update: Vector
    examples: int
    loss: float
    sums: Sums
    private: bool = False
    owed: Vector | None = None


class RoundSecrets:
    """Owned by the masker's thread. `draw` gives so many random bytes of the system's generator.

    Raises ValueError where it is used in another order than the machine's.
    """

    def __init__(self, terms: Terms, client: str, identity: bytes, draw: Callable[[int], bytes]) -> None:
        self.terms = terms
        self._client = client
        self._identity = identity
        self._draw = draw
        self._base = base_hash(terms)
        self._seed = _drawn_below_prime(draw)
        self._mask_key = _drawn_below_prime(draw)
        self._share_key = draw(KEY_BYTES)
        self._members: Sequence[Member] = ()
        self._context = b""
        # Shares of others' secrets and of its own, by their owners' places; the seed's first.
        self._held: dict[int, tuple[bytes, bytes]] = {}
        # With neighbours, by their places: what seals shares for them and opens theirs.
        self._agreed: dict[int, bytes] = {}
        self._masks: Words | None = None
        self._masked: memoryview | None = None
        # What the masked update left unsent; None where it left nothing.
        self.left: Vector | None = None

    def keys(self) -> Keys:
        """The public keys, signed."""
        mask_key, share_key = agreement_key(self._mask_key), agreement_key(self._share_key)
        hashed = hashlib.sha256(self._seed).digest()
        statement = keys_statement(self._base, self._client, mask_key, share_key, hashed)
        return Keys(
            round=self.terms.round,
            mask_key=mask_key,
            share_key=share_key,
            seed_hash=hashed,
            identity=identity_key(self._identity),
            signature=sign(self._identity, statement),
        )

    def check(self, asked: member_events.CheckRoster, known: TrustStore) -> member_events.RosterChecked:
        """Looks at every key; signatures and identities too where that is asked for, or a list was given."""
        self._members = asked.members
        roster = roster_hash(self._base, asked.members)
        self._context = context_hash(self._base, roster, len(asked.members), asked.degree, asked.threshold)
        order = ring(self._context, [member.client for member in asked.members])
        vouched = asked.verify or known.listed is not None
        wrong = [
            place
            for place, member in enumerate(asked.members)
            if not (usable(member.mask_key) and usable(member.share_key))
            or (vouched and not self._signed(member))
        ]
        identities = {member.client: member.identity.hex() for member in asked.members}
        changed = [
            place
            for place, client in enumerate(identities)
            if vouched and known.is_strange(client, identities[client])
        ]
        if vouched and not wrong and not changed:
            known.met(identities)
        return member_events.RosterChecked(asked.round, order, wrong, changed)

    def seal(self, asked: member_events.SealShares) -> member_events.SharesSealed:
        """Cuts both secrets into shares, keeps its own, and seals the others."""
        holders = sorted([*asked.neighbours, asked.place])
        publics = [self._members[place].share_key for place in asked.neighbours]
        self._agreed = dict(zip(asked.neighbours, agree_all(self._share_key, publics), strict=True))
        cut = [
            split(secret, holders, asked.threshold, self._draw(randomness_bytes(asked.threshold)))
            for secret in (self._seed, self._mask_key)
        ]
        shares = dict(zip(holders, zip(*cut, strict=True), strict=True))
        self._held[asked.place] = shares.pop(asked.place)
        sealed = [
            seal(self._sealing(place, asked.place, place), self._context, asked.place, place, *pair)
            for place, pair in shares.items()
        ]
        return member_events.SharesSealed(asked.round, sealed)

    def open(self, asked: member_events.OpenShares) -> member_events.SharesOpened:
        """Opens the neighbours' shares."""
        unopened = []
        for sender, sealed in zip(asked.senders, asked.sealed, strict=True):
            key = self._sealing(sender, sender, asked.place)
            try:
                self._held[sender] = unseal(key, self._context, sender, asked.place, sealed)
            except UnsealError:
                unopened.append(sender)
        return member_events.SharesOpened(asked.round, unopened)

    def prepare(self, asked: member_events.MaskUpdate) -> None:
        """Expands the masks, which takes most of the time, while the update is still being made."""
        neighbours = {place: self._members[place].mask_key for place in asked.pairs}
        keys = mask_keys(self._context, asked.place, self._seed, self._mask_key, neighbours)
        sent = encoding_of(self.terms, len(self._members)).parameters
        self._masks = np.zeros(masked_words(sent, self.terms.rows), np.uint32)
        add_keystreams(self._masks, keys)
        if self.terms.noise > 0.0:
            self._add_noise(self._masks[:sent])

    def mask(self, told: UnmaskedUpdate) -> memoryview:
        """The masked update as it is sent: what was masked once is sent again, and nothing else ever.

        Raises NotFiniteError for NaN or infinity.
        """
        if self._masked is not None:
            return self._masked
        encoding, masks = encoding_of(self.terms, len(self._members)), self._masks
        if masks is None:
            raise ValueError("The masks are not ready.")
        key, signs = self._draw(KEY_BYTES), signs_of(encoding, self._context)
        sent, left = self._shared(told)
        add_encoded(encoding, self._contribution(sent), partial(_drawn_words, key), masks, signs)
        self._masks, self.left = None, left
        self._masked = pack_update(masks, encoding.parameters, encoding.bits)
        return self._masked

    def sign_survivors(self, asked: member_events.SignSurvivors) -> member_events.SurvivorsSigned:
        """Its signature over the survivors."""
        statement = survivors_statement(self._context, asked.alive)
        return member_events.SurvivorsSigned(asked.round, sign(self._identity, statement))

    def check_consistency_signatures(
        self, asked: member_events.CheckConsistencySignatures
    ) -> member_events.ConsistencySignaturesChecked:
        """The places of those whose signatures are not over these survivors."""
        statement = survivors_statement(self._context, asked.alive)
        pairs = zip(asked.vouchers, asked.signatures, strict=True)
        wrong = [place for place, one in pairs if not verify(self._members[place].identity, one, statement)]
        return member_events.ConsistencySignaturesChecked(asked.round, wrong)

    def reveal(self, asked: member_events.MakeReveal) -> member_events.RevealMade:
        """One share of each; all others are forgotten."""
        chosen = dict.fromkeys(asked.seeds, 0) | dict.fromkeys(asked.mask_keys, 1)
        nothing = (NO_SHARE, NO_SHARE)
        shares = [self._held.get(place, nothing)[which] for place, which in sorted(chosen.items())]
        self._held.clear()
        return member_events.RevealMade(asked.round, shares)

    def _shared(self, told: UnmaskedUpdate) -> tuple[UnmaskedUpdate, Vector | None]:
        """What of a training is sent in this round, and what is left of it."""
        chosen = chosen_of(self.terms, self._context)
        if chosen is None:
            return told, None
        update = told.update if told.owed is None else told.update + told.owed
        # What is left must be finite, too: it is sent later.
        finite_norm(update)
        sent, left = chosen.split(update)
        return replace(told, update=sent, owed=None), left

    def _contribution(self, told: UnmaskedUpdate) -> MaskedContribution:
        terms = self.terms
        if told.private or terms.noise > 0.0:
            return private_contribution(told.update, terms.rows)
        sums = [value for pair in told.sums for value in pair]
        return contribution(told.update, told.examples, terms.examples, told.loss, sums)

    def _add_noise(self, words: Words) -> None:
        """Adds this client's share of the noise, from a key that nobody else ever has."""
        noise = Skellam(encoding_of(self.terms, len(self._members)).share_variance)
        key = self._draw(KEY_BYTES)
        for start in range(0, len(words), NOISE_PART):
            part = words[start : start + NOISE_PART]
            part += noise.draw(keystream(key, 2 * len(part), 2 * start)).view(np.uint32)

    def _sealing(self, other: int, sender: int, receiver: int) -> bytes:
        return sealing_key(self._agreed[other], self._context, sender, receiver)

    def _signed(self, member: Member) -> bool:
        statement = keys_statement(
            self._base, member.client, member.mask_key, member.share_key, member.seed_hash
        )
        return verify(member.identity, member.signature, statement)


def _drawn_words(key: bytes, start: int, count: int) -> Words:
    return keystream(key, count, start)


def _drawn_below_prime(draw: Callable[[int], bytes]) -> bytes:
    """32 random bytes that can be cut into shares; drawn again once in 2^248 times."""
    while not valid(secret := draw(KEY_BYTES)):
        pass
    return secret
