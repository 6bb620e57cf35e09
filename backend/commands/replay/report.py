"""The sentences of `minga replay`: how results compare with the replay, and where two traces part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from backend.peer.replay.comparison import TraceComparison

# The parties of a comparison.
OWN, OTHER = "this machine", "the other trace"


def result_sentence(row: Mapping[str, Any]) -> str:
    """Describes a result of the unit beside the replay."""
    who = f"{row['client'][:12]} ({row['backend']})"
    judged = f"the server's verdict is {(row['verdict'] or 'still open').replace('_', ' ')}"
    if row["sha256"] is None:
        return f"{who}: no result has arrived."
    if row["backend"] != "exact":
        return f"{who}: not comparable, since only the backend exact has the same bits; {judged}."
    if row["start"] != "given":
        return f"{who}: not comparable, since it started from its own weights; {judged}."
    if row["equal"]:
        return f"{who}: the same bits; {judged}."
    where = _where(row["parts"], row["steps"])
    return f"{who}: DIFFERENT, its update has the SHA-256 {row['sha256']}{where}; {judged}."


def _where(parts: Mapping[str, Any] | None, steps: int) -> str:
    """Says between which steps a result's checkpoints part from the replay's, if it told some."""
    if parts is None:
        return ""
    if parts["by"] is None:
        return f", and its weights were right after step {parts['after']} of {steps}"
    if parts["by"] == parts["after"] + 1:
        return f", and its weights went wrong in step {parts['by']} of {steps}"
    return f", and its weights went wrong between step {parts['after'] + 1} and {parts['by']} of {steps}"


def finding_sentence(comparison: TraceComparison, steps: int, clients: Sequence[str]) -> str:
    """Says at which step and op two traces part, and which is wrong."""
    finding = comparison.finding
    wrong = " and ".join(finding.wrong)
    verb = "are" if len(finding.wrong) > 1 else "is"
    origin = f" The other trace is that of client {', '.join(clients)}." if clients else ""
    match finding.reason:
        case "op":
            return (
                f"They part at step {finding.step} of {steps}, at the op {finding.tensor} ({comparison.op}). "
                f"Both agree on its inputs, and computing it alone shows that {wrong} {verb} wrong.{origin}"
            )
        case "state":
            return (
                f"They part at step {finding.step} of {steps}: {wrong} {verb} wrong, since the values after "
                f"this step are not those that the op {finding.tensor} ({comparison.op}) gave.{origin}"
            )
        case "update":
            return (
                f"They agree on all {steps} steps, and {wrong} {verb} wrong: the update is not the last "
                f"values minus the first.{origin}"
            )
        case "form":
            return (
                f"{wrong.capitalize()} {verb} wrong: at step {finding.step} its hashes are not those of "
                f"this model.{origin}"
            )
