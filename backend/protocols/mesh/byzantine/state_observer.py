"""What a convener knows of a Byzantine mesh: the newest state that its members proved to it.

It takes no part, and cannot change what they agree on; it records their results by it.
"""

from __future__ import annotations

from collections.abc import Mapping

from backend.protocols.mesh.byzantine.adoption import adopted, is_proven, told_state
from backend.protocols.mesh.byzantine.first_state import first_state, rules_digest
from backend.protocols.mesh.byzantine.roles import roles_of
from backend.protocols.mesh.byzantine.state import AgreedState, WorkCase
from backend.wire.byzantine_messages import ByzantineRules, TellState

# First groups whose result may still come, after which the mesh has a state.
_MOST_FIRST = 8


class StateObserver:
    """The newest state of the mesh of `task`, whose members share `rules`. Owned by the task's host.

    `recorded` are the identities, by client, of the newest group that an earlier run of the server recorded:
    after a restart more than half of them must tell a state before it is believed.
    """

    def __init__(self, task: str, rules: ByzantineRules, recorded: Mapping[str, bytes] | None = None) -> None:
        self.newest: AgreedState | None = None
        self._task = task
        self._rules = rules
        self._digest = rules_digest(rules)
        self._recorded = recorded or {}
        self._first: dict[tuple[int, int], AgreedState] = {}
        self._told: dict[str, TellState] = {}

    def formed(self, attempt: tuple[int, int], weights: str, founders: Mapping[str, bytes]) -> None:
        """Takes a group (its round and number) that trains from `weights`: perhaps the mesh's first.

        `founders` are the identities of its members, by client.
        """
        if self.newest is None:
            self._first[attempt] = first_state(self._rules, bytes.fromhex(weights), founders)
            while len(self._first) > _MOST_FIRST:
                del self._first[next(iter(self._first))]

    def bans(self, identity: bytes) -> bool:
        """Whether the newest state bans this key."""
        return self.newest is not None and identity in self.newest.membership.banned

    def validations(self) -> list[WorkCase]:
        """Returns whose work members judge in the round after the newest state, by validators' ids."""
        if self.newest is None:
            return []
        audits = roles_of(self.newest, self._rules.terms.validators).audits
        return [audits[validator] for validator in sorted(audits)]

    def told(self, client: str, frame: TellState, identities: Mapping[str, bytes]) -> AgreedState | None:
        """Takes the state that `client` tells; returns it if it is newer, and proven.

        A state farther ahead, after a restart, is believed when most of those with a seat in it told it, and
        most of those in the newest state or recorded; `identities` are those of all connected peers.
        """
        state = told_state(frame)
        if state is None or state.rules != self._digest or (self.newest and state.round <= self.newest.round):
            return None
        before = self.newest or self._first.get(frame.attempt)
        if before is not None and is_proven(self._task, self._rules.run, before, state, frame):
            return self._take(state)
        self._told = {one: told for one, told in self._told.items() if one in identities} | {client: frame}
        if self.newest is None and not self._recorded:
            return None
        electors = None if self.newest else self._recorded
        known = (self._task, self._rules.run, self._digest, self.newest)
        found = adopted(*known, self._told, identities, electors=electors)
        return self._take(found[0]) if found else None

    def _take(self, state: AgreedState) -> AgreedState:
        self.newest = state
        self._first.clear()
        self._told.clear()
        return state
