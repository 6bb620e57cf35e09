"""Reads how the peers of a decentralized task average from its task file."""

from __future__ import annotations

from backend.formats.task_file import TaskFile
from backend.protocols.mesh.allreduce.plan import LEAST_MASKED
from backend.protocols.mesh.group_orders import Averages


def averages_of(file: TaskFile, values: int) -> Averages | None:
    """Returns how peers average a vector of `values` numbers; None where a server sums the updates.

    If updates are masked, every group masks its parts, which only the butterfly exchange supports.
    """
    coordination, masks = file.coordination, file.security.masks
    if not coordination.decentralized:
        return None
    chosen = coordination.averages
    return Averages(
        groups=chosen.groups,
        group_size=chosen.group_size,
        exchange="butterfly" if masks else chosen.exchange,
        precision="masked" if masks else chosen.precision or "float16",
        reducer=chosen.reducer,
        patience=chosen.patience,
        seconds=coordination.deadline,
        quorum=coordination.quorum,
        fewest=LEAST_MASKED if masks else 2,
        values=values,
    )
