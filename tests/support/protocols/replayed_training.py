"""A training of hashes instead of numbers, and parties that trace it, honestly or tampering."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from backend.protocols.replay.bisection import AskOps, AskReferee, AskStates, Bisection, Finding
from backend.protocols.replay.traces import GIVEN, START, StepLayout, TracedTensor

# Of (step, tensor) and the true hash, returns what a party says and computes with.
Tamper = Callable[[int, str, bytes], bytes]
BEGIN = {"trainable": b"weights", "slots": b"zeros"}


def digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"|".join(parts)).digest()


def layout(generator: random.Random, ops: int) -> StepLayout:
    """A random step: each op takes some of what came before, and the last ones become the values."""
    tensors = [TracedTensor("train/x", GIVEN, ())]
    for number in range(ops):
        before = [f"{START}trainable", f"{START}slots", *(one.tensor for one in tensors)]
        inputs = tuple(generator.sample(before, min(len(before), generator.randint(1, 3))))
        tensors.append(TracedTensor(f"train/op_{number}", "Op", inputs))
    names = [one.tensor for one in tensors]
    tensors += [
        TracedTensor(f"apply/{end}", "Last", (f"{START}{end}", names[-1])) for end in ("trainable", "slots")
    ]
    return StepLayout(tensors, {"trainable": "apply/trainable", "slots": "apply/slots"})


def honest(_step: int, _tensor: str, value: bytes) -> bytes:
    return value


def flip(value: bytes) -> bytes:
    return digest(b"tampered", value)


def compute(layout: StepLayout, step: int, tensor: str, values: Mapping[str, bytes]) -> bytes:
    """The true output of an op, as a referee computes it."""
    traced = layout.tensors[layout.index[tensor]]
    given = (step.to_bytes(4, "big"),) if traced.op == GIVEN else ()
    return digest(tensor.encode(), *given, *(values[name] for name in traced.inputs))


@dataclass
class TracingParty:
    """Trains `steps` steps. `after` changes its values between two steps, `tamper` an op's output."""

    layout: StepLayout
    steps: int
    tamper: Tamper = honest
    after: Callable[[int, dict[str, bytes]], dict[str, bytes]] = lambda _, values: values
    states: list[dict[str, bytes]] = field(default_factory=list)
    ops: list[list[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        state = dict(BEGIN)
        for step in range(1, self.steps + 1):
            values = {f"{START}{part}": value for part, value in state.items()}
            for traced in self.layout.tensors:
                true = compute(self.layout, step, traced.tensor, values)
                values[traced.tensor] = self.tamper(step, traced.tensor, true)
            self.ops.append([values[one.tensor] for one in self.layout.tensors])
            state = self.after(step, {part: values[end] for part, end in self.layout.ends.items()})
            self.states.append(state)

    @property
    def update(self) -> bytes:
        return digest(self.states[-1]["trainable"])


def bisect(parties: Mapping[str, TracingParty], updates: Mapping[str, bytes] | None = None) -> Finding:
    """Plays a bisection to its end, with a referee that computes what it is asked for."""
    finding, _ = bisect_counting(parties, updates)
    return finding


def bisect_counting(
    parties: Mapping[str, TracingParty], updates: Mapping[str, bytes] | None = None
) -> tuple[Finding, int]:
    """As `bisect`; also returns how many steps' values were asked for."""
    one = next(iter(parties.values()))
    updates = updates or {name: party.update for name, party in parties.items()}
    machine = Bisection(one.steps, BEGIN, one.layout, updates)
    effect, asked, last = machine.asked, 0, BEGIN
    while not isinstance(effect, Finding):
        match effect:
            case AskStates(step):
                asked += 1
                effect = machine.states({name: party.states[step - 1] for name, party in parties.items()})
                last = one.states[step - 1]
            case AskOps(step):
                effect = machine.ops({name: party.ops[step - 1] for name, party in parties.items()})
            case AskReferee(_, None):
                effect = machine.ruling(digest(last["trainable"]))
            case AskReferee(step, str(tensor)):
                inputs = one.layout.tensors[one.layout.index[tensor]].inputs
                values = {name: machine.agreed(name) for name in inputs}
                effect = machine.ruling(compute(one.layout, step, tensor, values))
    return effect, asked
