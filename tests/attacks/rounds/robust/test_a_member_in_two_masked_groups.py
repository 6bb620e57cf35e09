"""A lying server puts one client into two groups of a version, to subtract sums that differ by its update.

Groups are masked rounds of the same number and terms, so the server has the client's keys for both. It shows
the victim one roster, then the other, and deals shares of one group in the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from backend.protocols.secagg.server import MaskedRound
from backend.protocols.secagg.server_effects import Effect, Recover, Tell, TellAll
from backend.wire.masked_messages import ConsistencySignature, Keys, Reveal, Server, Shares
from backend.wire.messages import ServerFrame
from tests.support.protocols.secagg.member_host import Holder, plan, terms_of, updates
from tests.support.protocols.secagg.world import masking

VALUES = 5
VICTIM, FIRST, SECOND = "v", ("a", "b", "c"), ("d", "e", "f")


class TwoGroups:
    """Two groups of one round, both with the victim, whose every frame the server uses in both.

    Unless `shown`, the server keeps the frames of the second group from the victim.
    """

    def __init__(self, server: Server, shown: bool) -> None:
        self.shown = shown
        random = Random(1)
        names = (VICTIM, *FIRST, *SECOND)
        words = updates(len(names), VALUES, random)
        self.train = plan(1, masking(server))
        terms = terms_of(self.train, VALUES)
        self.holders = {name: Holder(name, one, random) for name, one in zip(names, words, strict=True)}
        self.groups = [MaskedRound(terms, (VICTIM, *others), 60.0, 0.0) for others in (FIRST, SECOND)]
        self.recovered = [False, False]
        for holder in self.holders.values():
            holder.planned(self.train)

    def play(self) -> None:
        """Delivers all frames until none is in transit; every frame of the victim goes to both groups."""
        busy = True
        while busy:
            busy = False
            for name, holder in self.holders.items():
                while holder.outcomes:
                    holder.work()
                while holder.said:
                    busy = True
                    self._hear(name, holder.said.pop(0))

    def _hear(self, name: str, frame: object) -> None:
        for number, (masks, others) in enumerate(zip(self.groups, (FIRST, SECOND), strict=True)):
            if name != VICTIM and name not in others:
                continue
            match frame:
                case Keys():
                    effects = masks.keys_arrived(name, frame, 0.0)
                case Shares():
                    effects = masks.shares_arrived(name, frame, 0.0)
                case ConsistencySignature():
                    effects = masks.consistency_signature_arrived(name, frame, 100.0)
                case Reveal():
                    effects = masks.reveal_arrived(name, frame, 100.0)
                case _:
                    # The lying server does not let a decline end its second group.
                    continue
            self.perform(number, effects)

    def perform(self, number: int, effects: Sequence[Effect]) -> None:
        """Performs the effects of one group; whom it excludes learns nothing of it."""
        for effect in effects:
            match effect:
                case Tell(client, frame):
                    self._tell(number, client, frame)
                case TellAll(clients, frame):
                    for client in clients:
                        self._tell(number, client, frame)
                case Recover():
                    self.recovered[number] = True

    def _tell(self, number: int, client: str, frame: ServerFrame) -> None:
        if self.shown or client != VICTIM or number == 0:
            self.holders[client].hears(frame)

    def end(self, number: int) -> None:
        """Ends the inputs of a group with all whose shares it has."""
        masks = self.groups[number]
        self.perform(number, masks.time_passed(100.0))
        self.play()
        for client in masks.graph.clients(masks.graph.pairs):
            masks.input_accepted(client)
        if masks.shortfall() is None:
            self.perform(number, masks.inputs_over(100.0))
        self.play()


@pytest.mark.parametrize("server", ["honest", "active"])
def test_a_member_that_is_shown_two_groups_is_in_none(server: Server) -> None:
    world = TwoGroups(server, shown=True)
    world.play()
    victim = world.holders[VICTIM]
    assert victim.refusals == ["The server sent this client another roster before."]
    for number in range(2):
        world.end(number)
    assert victim.masked is None
    assert victim.gave.get(1) is None


@pytest.mark.parametrize("server", ["honest", "active"])
def test_what_a_member_sealed_in_one_group_unmasks_nothing_in_another(server: Server) -> None:
    """The second group gets the victim's keys and shares, and counts an update of its name."""
    world = TwoGroups(server, shown=False)
    world.play()
    for number in range(2):
        world.end(number)
    assert not world.holders[VICTIM].refusals
    assert world.recovered == [True, False]
    assert world.groups[0].graph.context != world.groups[1].graph.context
