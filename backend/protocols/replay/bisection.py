"""The bisection between two parties that trained the same work and have different updates.

    STATES ─┬─ OPS ─┬─ REFEREE ── FOUND
            │       └──────────── FOUND
            └─ REFEREE ────────── FOUND

Both are asked for the hashes of their values after the last step, and then after log2 of the steps, until
they agree before a step and differ after it. The hashes of that step's ops show the first op whose outputs
differ, though both agree on its inputs: a referee computes this op alone (Canetti et al. 2011, refereed
delegation). A party whose answers contradict each other is named without a referee. A party that trained as
planned is never named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from backend.protocols.replay.traces import START, StateHashes, StepLayout

Party = str
# Why a party is wrong: its op has another output; its values are not those that its step computed; its
# update is not what its last values come to; or its answer has another form than asked for.
Reason = Literal["op", "state", "update", "form"]


class Phase(StrEnum):
    """What the bisection waits for."""

    STATES = "states"
    OPS = "ops"
    REFEREE = "referee"
    FOUND = "found"


@dataclass(frozen=True)
class AskStates:
    """Ask both parties for the hashes of their values after this step."""

    step: int


@dataclass(frozen=True)
class AskOps:
    """Ask both parties for the hashes of this step's tensors, in the order of the layout."""

    step: int


@dataclass(frozen=True)
class AskReferee:
    """Compute this tensor of a step from its inputs, on which both agree; without one: the update."""

    step: int
    tensor: str | None


@dataclass(frozen=True)
class Finding:
    """The trainings differ first at this step and tensor; `wrong` are the parties that computed it wrongly.

    Without a tensor the update is meant, which is what the values after the last step come to.
    """

    step: int
    tensor: str | None
    wrong: tuple[Party, ...]
    reason: Reason


Effect = AskStates | AskOps | AskReferee | Finding
# The phases that may follow each answer; an answer in any other phase is an error of the caller.
TRANSITIONS: Mapping[Phase, frozenset[Phase]] = {
    Phase.STATES: frozenset({Phase.STATES, Phase.OPS, Phase.REFEREE, Phase.FOUND}),
    Phase.OPS: frozenset({Phase.REFEREE, Phase.FOUND}),
    Phase.REFEREE: frozenset({Phase.FOUND}),
    Phase.FOUND: frozenset(),
}


class Bisection:
    """Bisects between two parties whose committed `updates` (hashes) differ.

    `start` are the hashes of the values that both began with. Raises ValueError if the updates are equal.
    """

    def __init__(
        self, steps: int, start: StateHashes, layout: StepLayout, updates: Mapping[Party, bytes]
    ) -> None:
        if len(updates) != 2 or len(set(updates.values())) != 2:
            raise ValueError("a bisection is between two parties with different updates")
        self.phase = Phase.STATES
        self._layout = layout
        self._updates = updates
        # Both agree on the values after the step `low`, and differ after the step `high`.
        self._low, self._high = 0, steps + 1
        self._agreed = start
        self._differing: Mapping[Party, StateHashes] = {}
        self._ops: Mapping[Party, Sequence[bytes]] = {}
        self._asked: Effect = AskStates(steps)

    @property
    def asked(self) -> Effect:
        """The open question, or the finding."""
        return self._asked

    def states(self, answers: Mapping[Party, StateHashes]) -> Effect:
        """Takes both parties' hashes after the step that was asked for. Raises ValueError in other phases."""
        self._check(Phase.STATES, answers)
        assert isinstance(self._asked, AskStates)  # noqa: S101 - the phase says so.
        step = self._asked.step
        if malformed := [party for party in answers if answers[party].keys() != self._agreed.keys()]:
            return self._find(step, None, malformed, "form")
        one, other = answers.values()
        if one == other:
            self._low, self._agreed = step, one
        else:
            self._high, self._differing = step, answers
        if self._high - self._low > 1:
            return self._ask(Phase.STATES, AskStates((self._low + self._high) // 2))
        if not self._differing:
            return self._ask(Phase.REFEREE, AskReferee(self._low, None))
        return self._ask(Phase.OPS, AskOps(self._high))

    def ops(self, answers: Mapping[Party, Sequence[bytes]]) -> Effect:
        """Takes both parties' hashes of the step's tensors. Raises ValueError in another phase."""
        self._check(Phase.OPS, answers)
        step, tensors = self._high, self._layout.tensors
        if malformed := [party for party in answers if len(answers[party]) != len(tensors)]:
            return self._find(step, None, malformed, "form")
        for part, end in self._layout.ends.items():
            liars = [
                party
                for party in answers
                if self._value(answers[party], end) != self._differing[party].get(part)
            ]
            if liars:
                return self._find(step, end, liars, "state")
        one, other = answers.values()
        # Their values differ and are what their ops computed: an op differs.
        first = next(place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1])
        self._ops = answers
        return self._ask(Phase.REFEREE, AskReferee(step, tensors[first].tensor))

    def ruling(self, result: bytes) -> Finding:
        """Takes the hash of what the referee computed. Raises ValueError in another phase."""
        self._check(Phase.REFEREE, self._updates)
        assert isinstance(self._asked, AskReferee)  # noqa: S101 - the phase says so.
        step, tensor = self._asked.step, self._asked.tensor
        if tensor is None:
            wrong = [party for party, update in self._updates.items() if update != result]
            return self._find(step, None, wrong, "update")
        place = self._layout.index[tensor]
        wrong = [party for party, hashes in self._ops.items() if hashes[place] != result]
        return self._find(step, tensor, wrong, "op")

    def agreed(self, tensor: str) -> bytes:
        """Returns the hash of an input of the op that is asked for, on which both parties agree."""
        return self._value(next(iter(self._ops.values())), tensor)

    def _value(self, hashes: Sequence[bytes], tensor: str) -> bytes:
        if tensor.startswith(START):
            return self._agreed[tensor.removeprefix(START)]
        return hashes[self._layout.index[tensor]]

    def _check(self, phase: Phase, answers: Mapping[Party, object]) -> None:
        if self.phase is not phase or answers.keys() != self._updates.keys():
            raise ValueError(f"the bisection waits for {self.phase} of {', '.join(self._updates)}")

    def _find(self, step: int, tensor: str | None, wrong: Sequence[Party], reason: Reason) -> Finding:
        finding = Finding(step, tensor, tuple(wrong), reason)
        self._ask(Phase.FOUND, finding)
        return finding

    def _ask(self, phase: Phase, effect: Effect) -> Effect:
        assert phase in TRANSITIONS[self.phase]  # noqa: S101 - the table is the law.
        self.phase, self._asked = phase, effect
        return effect
