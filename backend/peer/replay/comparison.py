"""Compares two traces of a unit: plays the bisection, with a replay of this machine as the referee."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backend.peer.replay.replayer import UnitReplayer, rule
from backend.peer.replay.trace_file import UnitTrace
from backend.protocols.replay.bisection import AskOps, AskReferee, AskStates, Bisection, Finding, Party


@dataclass(frozen=True)
class TraceComparison:
    """The outcome of a bisection; `op` is the type of the finding's op, None for the update."""

    finding: Finding
    op: str | None
    questions: int


async def compare(replayer: UnitReplayer, traces: Mapping[Party, UnitTrace]) -> TraceComparison:
    """Finds where two traces with different updates part. One without ops is that of the replayer itself.

    Raises PeerError if the referee cannot compute.
    """
    layout = await replayer.layout()
    steps = next(iter(traces.values())).work.steps
    updates = {party: trace.update for party, trace in traces.items()}
    machine = Bisection(steps, replayer.start, layout, updates)
    effect, questions = machine.asked, 0
    while not isinstance(effect, Finding):
        match effect:
            case AskStates(step):
                questions += 1
                effect = machine.states({party: trace.state(step) for party, trace in traces.items()})
            case AskOps(step):
                effect = machine.ops(
                    {party: await _ops(replayer, trace, step) for party, trace in traces.items()}
                )
            case AskReferee(_, None):
                effect = machine.ruling(bytes.fromhex(await replayer.update(steps)))
            case AskReferee(step, str(tensor)):
                traced = layout.tensors[layout.index[tensor]]
                agreed = [machine.agreed(name) for name in traced.inputs]
                effect = machine.ruling(await rule(replayer, step, traced, agreed))
    op = layout.tensors[layout.index[effect.tensor]].op if effect.tensor else None
    return TraceComparison(effect, op, questions)


async def _ops(replayer: UnitReplayer, trace: UnitTrace, step: int) -> Sequence[bytes]:
    return trace.step_ops(step) if trace.ops else await replayer.step_ops(step)
