"""The masked rounds of a cohort's groups side by side, without I/O; most cohorts have one group.

Each group is a masked round of its own members (server.py), who cannot tell it from one: its roster, keys,
shares and sum are theirs alone, and `min_clients` holds for each group. A group that cannot be unmasked is
lost, and the round continues while enough groups are left. docs/reference/masked-rounds.md says why this
reveals no more than the sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from backend.crypto.round_context import Terms
from backend.errors import NotMaskedError, UpdateRefusedError
from backend.protocols.rounds.cohort_member import not_selected
from backend.protocols.rounds.phases import RETURN_SECONDS, IllegalEventError
from backend.protocols.rounds.round_effects import ClientId
from backend.protocols.secagg.server import MaskedRound
from backend.protocols.secagg.server_effects import (
    Effect,
    FailMaskedRound,
    LoseGroup,
    Place,
    Recover,
    UseSums,
)
from backend.protocols.secagg.server_sentences import too_few_groups
from backend.protocols.secagg.server_stages import ENDS, ServerStage
from backend.wire.masked_messages import ConsistencySignature, Decline, Keys, Reveal, Shares

ClientFrame: TypeAlias = Keys | Shares | ConsistencySignature | Reveal | Decline


class MaskedGroups:
    """The masking of one open round, whose cohort is split into `groups`, each with its sum.

    A version needs the sums of `least` groups. With `resumed`, an earlier process of this server may have had
    shares of the version revealed, unrecorded. The other arguments are those of MaskedRound.
    """

    def __init__(
        self,
        terms: Terms,
        groups: Sequence[Sequence[ClientId]],
        seconds: float,
        now: float,
        minima: Mapping[ClientId, int] | None = None,
        grace: float = RETURN_SECONDS,
        *,
        least: int = 1,
        resumed: bool = False,
    ) -> None:
        self.terms = terms
        self.groups = tuple(map(tuple, groups))
        self._rounds = [MaskedRound(terms, group, seconds, now, minima, grace) for group in self.groups]
        self._group_of = {client: number for number, group in enumerate(self.groups) for client in group}
        self._least = least
        self._resumed = resumed
        # Why the round fails as a whole, once it need not hear any more declines.
        self._failure: FailMaskedRound | None = None
        # The round as a whole has failed, or its sums are used: no effect follows any more.
        self._ended = False

    # Queries.

    @property
    def left(self) -> tuple[tuple[ClientId, ...], ...]:
        """The members of the groups that are not lost."""
        rounds = zip(self.groups, self._rounds, strict=True)
        return tuple(group for group, masked in rounds if masked.stage is not ServerStage.FAILED)

    def spent_reason(self) -> str | None:
        """Returns why members may have revealed shares for the version, which they do once; None if not.

        Any client can claim that it revealed before. This server knows its own rounds, so it believes only
        more than half of the cohort, and only if an earlier process could have asked.
        """
        if any(masked.unmask_frame is not None for masked in self._rounds):
            return "clients were asked to reveal shares"
        count, cohort = sum(len(masked.declared_spent) for masked in self._rounds), len(self._group_of)
        if self._resumed and 2 * count > cohort:
            return f"{count} of {cohort} clients said that they had revealed shares to an earlier server"
        return None

    def timer(self) -> float | None:
        """Returns when `time_passed` is due; None while only another event can change anything."""
        timers = (masked.timer() for masked in self._rounds)
        return None if self._ended else min((due for due in timers if due is not None), default=None)

    def may_offer(self, client: ClientId) -> UpdateRefusedError | None:
        """Returns why an update of `client` cannot be accepted now; None if it can."""
        masked = self._round_of(client)
        if masked is None:
            return not_selected(self.terms.round)
        if masked.stage is ServerStage.FAILED:
            return NotMaskedError("Your group of this round was lost. Wait for the next round.")
        return masked.may_offer(client)

    def group_of(self, client: ClientId) -> int:
        """Returns the number of the group of a member. Raises IllegalEventError for any other client."""
        if client not in self._group_of:
            raise IllegalEventError(f"Client {client} is in no group.")
        return self._group_of[client]

    # Events of clients.

    def frame_arrived(self, client: ClientId, frame: ClientFrame, now: float) -> list[Effect]:
        """Takes a client's frame, for its own group; frames of other clients change nothing."""
        masked = self._round_of(client)
        if masked is None or self._ended:
            return []
        match frame:
            case Keys():
                effects = masked.keys_arrived(client, frame, now)
            case Shares():
                effects = masked.shares_arrived(client, frame, now)
            case ConsistencySignature():
                effects = masked.consistency_signature_arrived(client, frame, now)
            case Reveal():
                effects = masked.reveal_arrived(client, frame, now)
            case Decline():
                effects = masked.declined(client, frame, now)
        return self._of_group(self._group_of[client], effects)

    def client_ready(self, client: ClientId) -> list[Effect]:
        """Takes a client's return; repeats the last frame, which it may have missed."""
        masked = self._round_of(client)
        return [] if masked is None or self._ended else masked.client_ready(client)

    def client_left(self, client: ClientId, now: float, lost: bool) -> list[Effect]:
        """Takes the end of a connection: the client stopped, or (`lost`) may come back."""
        masked = self._round_of(client)
        if masked is None or self._ended:
            return []
        return self._of_group(self._group_of[client], masked.client_left(client, now, lost))

    # Events of the Round and the host.

    def input_accepted(self, client: ClientId) -> None:
        """Takes that the Round accepted the masked update of `client`."""
        self._rounds[self.group_of(client)].input_accepted(client)

    def inputs_over(self, now: float) -> list[Effect]:
        """Takes the end of the Round, and starts to unmask the sums.

        No group is asked for shares if too few could be unmasked: then the version is not spent.
        """
        if self._ended:
            raise IllegalEventError("Nothing is to be unmasked after the round's end.")
        effects = list[Effect]()
        for number, masked in self._running():
            if reason := masked.shortfall():
                effects += self._of_group(number, masked.fail(reason))
        for number, masked in self._running():
            effects += self._of_group(number, masked.inputs_over(now))
        return effects

    def unmasked(self, group: int) -> list[Effect]:
        """Takes that the host unmasked the sum of a group."""
        self._rounds[group].unmasked()
        return self._use_sums()

    def mismatched(self, group: int, owners: Iterable[Place], now: float) -> list[Effect]:
        """Takes that the shares of `owners` do not match their commitments; more shares may still come."""
        return self._of_group(group, self._rounds[group].mismatched(owners, now))

    def meaningless(self, group: int, reason: str) -> list[Effect]:
        """Takes that the unmasked sum of a group means nothing, so that no member's update counts."""
        return self._of_group(group, self._rounds[group].fail(reason))

    def time_passed(self, now: float) -> list[Effect]:
        """Takes the time; before `timer()` nothing happens."""
        effects = list[Effect]()
        for number, masked in self._running():
            effects += self._of_group(number, masked.time_passed(now))
        return effects

    # Internal.

    def _round_of(self, client: ClientId) -> MaskedRound | None:
        number = self._group_of.get(client)
        return None if number is None else self._rounds[number]

    def _running(self) -> Iterator[tuple[int, MaskedRound]]:
        """Yields the groups that are neither done nor lost, until the round as a whole has ended."""
        for number, masked in enumerate(self._rounds):
            if not self._ended and masked.stage not in ENDS:
                yield number, masked

    def _of_group(self, group: int, effects: Sequence[Effect]) -> list[Effect]:
        """Returns what the `effects` of one group mean for the round."""
        result = list[Effect]()
        for effect in effects:
            match effect:
                case Recover():
                    result.append(replace(effect, group=group))
                case FailMaskedRound():
                    result += self._group_failed(group, effect)
                case _:
                    result.append(effect)
        if self._failure and not self._ended and not self._awaits_declines():
            self._ended = True
            result.append(self._failure)
        return result

    def _awaits_declines(self) -> bool:
        """Whether members may still say that they revealed shares to an earlier server.

        If the first group to say so ended the round, the others would never be heard and believed.
        """
        declared = any(masked.declared_spent for masked in self._rounds)
        asked = any(masked.stage is ServerStage.ADVERTISE_KEYS for masked in self._rounds)
        return self._resumed and declared and asked

    def _group_failed(self, group: int, failed: FailMaskedRound) -> list[Effect]:
        left = len(self.left)
        if left < self._least:
            several = len(self.groups) > 1
            reason = too_few_groups(left, len(self.groups), self._least, failed.reason)
            self._failure = replace(failed, reason=reason) if several else failed
            return []
        lost = LoseGroup(failed.round, group, self.groups[group], failed.reason, failed.false_sharers)
        return [lost, *self._rounds[group].dismissed(failed.reason), *self._use_sums()]

    def _use_sums(self) -> list[Effect]:
        if self._ended or not all(masked.stage in ENDS for masked in self._rounds):
            return []
        self._ended = True
        return [UseSums(self.terms.round)]
