"""The server's unmasking: recovers secrets from shares and removes the remaining masks from the sum.

The remaining masks are the self masks of survivors, and the pairwise masks of survivors with members that
dropped out after they sent shares. Pairwise masks of two survivors cancel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Protocol

from backend.crypto.client_keys import agreement_key
from backend.crypto.derive import own_key
from backend.crypto.keystream import Sign, Words, add_keystreams
from backend.crypto.masking import pair_keys
from backend.crypto.round_context import MemberKeys
from backend.crypto.shamir import factors_at_zero, recover, valid
from backend.errors import ShareMismatchError

Job = Callable[[], None]
# The number of subsets of shares tried for one secret: enough for any two false ones among 60.
MOST_TRIES = 2000
# Parts begin at multiples of a cache line, and are large enough to outweigh the cost of a thread.
_ALIGNED_WORDS = 16
_LEAST_WORDS = 16 * 1024


class UnmaskedSecrets(Protocol):
    """The revealed shares of a round; `backend.protocols.secagg.server_effects.Recover` is one.

    Places are those in `members`. `pairs` has, for each place, the neighbours with which it shares a mask.
    `seeds` are shares of the seeds of `alive`, `mask_keys` shares of the private mask keys of members that
    sent shares but are not alive, by owner and by holder; `threshold` of them recover one secret.
    """

    @property
    def context(self) -> bytes: ...
    @property
    def members(self) -> Sequence[MemberKeys]: ...
    @property
    def threshold(self) -> int: ...
    @property
    def pairs(self) -> Sequence[Sequence[int]]: ...
    @property
    def alive(self) -> Sequence[int]: ...
    @property
    def seeds(self) -> Mapping[int, Mapping[int, bytes]]: ...
    @property
    def mask_keys(self) -> Mapping[int, Mapping[int, bytes]]: ...


def unmask(words: Words, revealed: UnmaskedSecrets, ways: int, run: Callable[[Sequence[Job]], None]) -> None:
    """Removes the remaining masks from `words` (uint32 [n], the survivors' sum), in place.

    `run` performs up to `ways` jobs, possibly in parallel, and returns when all are done; it raises the error
    of a job. Each job needs 1 MiB of scratch. Raises ShareMismatchError and then leaves `words` unchanged.
    """
    run(parts(words, masks_left(revealed), ways))


def masks_left(revealed: UnmaskedSecrets) -> list[tuple[bytes, Sign]]:
    """Returns keys and signs of the keystreams that unmask the survivors' sum when they are added.

    Raises ShareMismatchError, which names the owners, where shares give no secret that fits its owner's seed
    hash or public mask key.
    """
    recovery, members = _Recovery(revealed.threshold), revealed.members
    seeds = {
        owner: recovery.secret(revealed.seeds[owner], _hash, members[owner].seed_hash)
        for owner in revealed.alive
    }
    private_keys = {
        owner: recovery.secret(shares, agreement_key, members[owner].mask_key)
        for owner, shares in revealed.mask_keys.items()
    }
    if missing := [owner for owner, secret in (seeds | private_keys).items() if secret is None]:
        raise ShareMismatchError(missing)
    alive = set(revealed.alive)
    masks: list[tuple[bytes, Sign]] = [
        (own_key(seed, revealed.context, owner), -1) for owner, seed in seeds.items() if seed
    ]
    for owner, private in private_keys.items():
        if private is None:
            continue
        # The survivors added the masks that the owner would have subtracted.
        others = {
            place: revealed.members[place].mask_key for place in revealed.pairs[owner] if place in alive
        }
        masks += pair_keys(revealed.context, owner, private, others)
    return masks


def parts(words: Words, masks: Sequence[tuple[bytes, Sign]], ways: int) -> list[Job]:
    """Returns jobs that add the keystreams of `masks` to `words`: `ways` jobs where these are long enough.

    Each job has its own range and may run in parallel; ciphers and sums release Python's lock.
    """
    length = max(-(-words.size // ways), _LEAST_WORDS)
    length = -(-length // _ALIGNED_WORDS) * _ALIGNED_WORDS

    def job(start: int) -> Job:
        return lambda: add_keystreams(words[start : start + length], masks, start)

    return [job(start) for start in range(0, words.size, length)]


def _hash(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()


@dataclass
class _Recovery:
    """Recovers secrets in turn; holders of a false share of one secret are tried last for the next."""

    threshold: int
    _false: set[int] = field(default_factory=set)
    _factors: dict[tuple[int, ...], dict[int, int]] = field(default_factory=dict)

    def secret(
        self, shares: Mapping[int, bytes], public: Callable[[bytes], bytes], expected: bytes
    ) -> bytes | None:
        """Returns the secret whose `public` value is `expected`; None if the shares recover none."""
        usable = {holder: share for holder, share in shares.items() if valid(share)}
        trusted = sorted(usable, key=lambda holder: (holder in self._false, holder))
        for excluded in islice(self._exclusions(trusted), MOST_TRIES):
            chosen = [holder for holder in trusted if holder not in excluded][: self.threshold]
            secret = recover({holder: usable[holder] for holder in chosen}, self._factors_of(chosen))
            if public(secret) == expected:
                self._false |= excluded
                return secret
        return None

    def _exclusions(self, holders: Sequence[int]) -> Iterator[set[int]]:
        """Yields no holder, then each holder, each pair, and so on, as long as the threshold remains.

        The first exclusion that succeeds has only holders of false shares.
        """
        for count in range(len(holders) - self.threshold + 1):
            yield from map(set, combinations(holders, count))

    def _factors_of(self, holders: Sequence[int]) -> dict[int, int]:
        key = tuple(holders)
        if key not in self._factors:
            self._factors[key] = factors_at_zero(key)
        return self._factors[key]
