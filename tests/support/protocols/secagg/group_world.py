"""A server and the members of one masked round whose cohort is split into groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from backend.crypto.keystream import Words
from backend.crypto.unmasking import Job, unmask
from backend.errors import ShareMismatchError
from backend.protocols.secagg import server_effects
from backend.protocols.secagg.masked_groups import ClientFrame, MaskedGroups
from backend.wire.masked_messages import ConsistencySignature, Decline, Keys, Masking, Reveal, Shares
from tests.support.protocols.secagg.member_host import terms_of
from tests.support.protocols.secagg.world import SECONDS, Update, World


class GroupWorld(World):
    """Rounds of `groups` groups, one after the other in the order of ids, of which `least` are needed.

    `sums` has the unmasked sums by group, `lost` the effects of lost groups, and `used` whether a version is
    to be made. Sums of the groups in `nonsense` do not decode, and no update of a client in `withheld`
    arrives.
    """

    def __init__(self, count: int, groups: int, terms: Masking, least: int = 1, seed: int = 0) -> None:
        self.group_count, self.least = groups, least
        self.sums: dict[int, Words] = {}
        self.lost: list[server_effects.LoseGroup] = []
        self.used, self.nonsense, self.withheld = False, set[int](), set[str]()
        super().__init__(count, terms, seed)

    @property
    def grouped(self) -> MaskedGroups:
        """The machine of the open round."""
        return self._grouped

    def _open(self, number: int) -> None:
        super()._open(number)
        size = math.ceil(len(self.cohort) / self.group_count)
        groups = [self.cohort[first : first + size] for first in range(0, len(self.cohort), size)]
        terms = terms_of(self.train, self.values)
        self._grouped = MaskedGroups(terms, groups, SECONDS, self.now, least=self.least)

    def hang_up(self, client: str, lost: bool = True) -> None:
        """See World."""
        self.lines[client].open = False
        self.perform(self.grouped.client_left(client, self.now, lost))

    def arrive(self, client: str) -> None:
        """See World."""
        frame = self.lines[client].up.popleft()
        if isinstance(frame, Keys | Shares | ConsistencySignature | Reveal | Decline):
            self.say(client, frame)
        elif isinstance(frame, Update) and client not in self.taken and client not in self.withheld:
            assert self.grouped.may_offer(client) is None
            self.grouped.input_accepted(client)
            self.taken[client] = frame.words

    def say(self, client: str, frame: ClientFrame) -> None:
        """Delivers any frame of a client."""
        self.perform(self.grouped.frame_arrived(client, frame, self.now))

    def perform(self, effects: Sequence[server_effects.Effect]) -> None:
        """See World."""
        for effect in effects:
            match effect:
                case server_effects.Recover():
                    self._recover_group(effect)
                case server_effects.LoseGroup():
                    self.lost.append(effect)
                case server_effects.UseSums():
                    assert not self.used
                    self.used = True
                case _:
                    super().perform([effect])

    def end_inputs(self) -> None:
        """See World."""
        self.perform(self.grouped.inputs_over(self.now))

    def wait(self) -> None:
        """See World."""
        if (timer := self.grouped.timer()) is not None:
            self.now = max(self.now, timer)
            self.perform(self.grouped.time_passed(self.now))
        self.settle()

    def plain(self, group: int) -> Words:
        """Returns the correct sum of the accepted updates of a group."""
        words = np.zeros(self.values, np.uint32)
        for client in self.grouped.groups[group]:
            if client in self.taken:
                words += self.holders[client].update
        return words

    def _recover_group(self, found: server_effects.Recover) -> None:
        words = np.zeros(self.values, np.uint32)
        for place in found.alive:
            words += self.taken[found.members[place].client]
        try:
            unmask(words, found, 1, _one_by_one)
        except ShareMismatchError as error:
            self.perform(self.grouped.mismatched(found.group, error.owners, self.now))
            return
        if found.group in self.nonsense:
            self.perform(self.grouped.meaningless(found.group, "Its sum means nothing."))
        else:
            self.sums[found.group] = words
            self.perform(self.grouped.unmasked(found.group))


def _one_by_one(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job()
