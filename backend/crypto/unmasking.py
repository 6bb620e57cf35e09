"""What a server does once enough was revealed: recover secrets, and take the masks that are left off the sum.

Left are the own masks of survivors, and those that survivors share with members who dropped out after their
shares came. Those of two survivors cancel.
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
# Choices of shares that are tried for one secret: enough for any two false ones among 60.
MOST_TRIES = 2000
# Parts begin at multiples of a cache line, and are worth a thread's while.
_ALIGNED_WORDS = 16
_LEAST_WORDS = 16 * 1024


class UnmaskedSecrets(Protocol):
    """What a round ends with; `backend.protocols.secagg.server_effects.Recover` is one.

    Places are those in `members`. `pairs` has, for each place, the neighbours with which it shares a mask.
    `seeds` are shares of the seeds of `alive`, `mask_keys` of the private mask keys of those who shared but
    are not alive, by owner and by holder; `threshold` of them recover one.
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
    """Takes the masks that are left off `words` (uint32 [n], the survivors' sum), in place.

    `run` performs jobs, up to `ways` of them, side by side as it likes, and returns when all are done; it
    raises what a job raised. Each needs 1 MiB besides. Raises ShareMismatchError, with `words` as they were.
    """
    run(parts(words, masks_left(revealed), ways))


def masks_left(revealed: UnmaskedSecrets) -> list[tuple[bytes, Sign]]:
    """Keys and signs of the keystreams that make the survivors' sum readable when they are added.

    Raises ShareMismatchError where shares give no secret that fits its owner's seed hash or public mask key.
    """
    recovery = _Recovery(revealed.threshold)
    alive = set(revealed.alive)
    masks: list[tuple[bytes, Sign]] = []
    for owner in revealed.alive:
        expected = revealed.members[owner].seed_hash
        seed = recovery.secret(
            owner, revealed.seeds[owner], lambda one: hashlib.sha256(one).digest(), expected
        )
        masks.append((own_key(seed, revealed.context, owner), -1))
    for owner, shares in revealed.mask_keys.items():
        private = recovery.secret(owner, shares, agreement_key, revealed.members[owner].mask_key)
        # What survivors added is what the owner would have subtracted.
        others = {one: revealed.members[one].mask_key for one in revealed.pairs[owner] if one in alive}
        masks += pair_keys(revealed.context, owner, private, others)
    return masks


def parts(words: Words, masks: Sequence[tuple[bytes, Sign]], ways: int) -> list[Job]:
    """Jobs, `ways` of them where `words` are long enough, that add the keystreams of `masks` to `words`.

    Each has a stretch of its own and may run beside the others; ciphers and sums let go of Python's lock.
    """
    length = max(-(-words.size // ways), _LEAST_WORDS)
    length = -(-length // _ALIGNED_WORDS) * _ALIGNED_WORDS

    def job(start: int) -> Job:
        return lambda: add_keystreams(words[start : start + length], masks, start)

    return [job(start) for start in range(0, words.size, length)]


@dataclass
class _Recovery:
    """Secrets recovered one after the other; holders of false shares of one come last for the next."""

    threshold: int
    _false: set[int] = field(default_factory=set)
    _factors: dict[tuple[int, ...], dict[int, int]] = field(default_factory=dict)

    def secret(
        self, owner: int, shares: Mapping[int, bytes], shown: Callable[[bytes], bytes], expected: bytes
    ) -> bytes:
        """The secret of `owner` for which `shown` gives what was `expected` at first."""
        usable = {holder: share for holder, share in shares.items() if valid(share)}
        trusted = sorted(usable, key=lambda holder: (holder in self._false, holder))
        for left_out in islice(self._left_out(trusted), MOST_TRIES):
            chosen = [holder for holder in trusted if holder not in left_out][: self.threshold]
            found = recover({holder: usable[holder] for holder in chosen}, self._factors_of(chosen))
            if shown(found) == expected:
                self._false |= left_out
                return found
        raise ShareMismatchError(
            f"{len(usable)} shares of a secret of the client at place {owner} do not recover it; "
            "the round cannot be unmasked, and nothing of it is revealed."
        )

    def _left_out(self, holders: Sequence[int]) -> Iterator[set[int]]:
        """Nobody, then each holder, each two of them, and so on, as long as the threshold remains.

        The first choice that fits leaves out nobody but holders of false shares.
        """
        for count in range(len(holders) - self.threshold + 1):
            yield from map(set, combinations(holders, count))

    def _factors_of(self, holders: Sequence[int]) -> dict[int, int]:
        known = tuple(holders)
        if known not in self._factors:
            self._factors[known] = factors_at_zero(known)
        return self._factors[known]
