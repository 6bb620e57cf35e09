"""Proposes plans that differ from a task's own in one value, to find out which value matters."""

from __future__ import annotations

from backend.formats.task_file import TaskFile


def variants(file: TaskFile, clients: int) -> list[str]:
    """Returns overrides to try: half and double the deadline and the quorum, where the file allows them."""
    plan = file.coordination
    maximum = min(plan.min_available_clients, clients)
    quorums = {max(1, plan.quorum // 2), min(maximum, max(2, plan.quorum * 2))} - {plan.quorum}
    deadlines = {max(1.0, plan.deadline / 2), min(86_400.0, plan.deadline * 2)} - {plan.deadline}
    return [
        *(f"coordination.deadline={value:g}" for value in sorted(deadlines)),
        *(f"coordination.quorum={value}" for value in sorted(quorums)),
    ]
