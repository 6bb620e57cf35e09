"""Reads how the peers of a decentralized task average from its task file."""

from __future__ import annotations

from backend.formats.task_file import TaskFile
from backend.protocols.mesh.allreduce.plan import LEAST_MASKED
from backend.protocols.mesh.group_orders import Averages
from backend.wire.mesh_fields import MOST_IN_GROUP


def averages_of(file: TaskFile, values: int) -> Averages | None:
    """Returns how peers average a vector of `values` numbers; None where a server sums the updates.

    If updates are masked, every group masks its parts, which only the butterfly exchange supports. Members
    that check each other make one group and exchange exact values.
    """
    coordination, masks = file.coordination, file.security.masks
    if not coordination.decentralized:
        return None
    chosen, byzantine = coordination.averages, coordination.byzantine is not None
    return Averages(
        groups=chosen.groups,
        group_size=MOST_IN_GROUP if byzantine else chosen.group_size,
        exchange="butterfly" if masks or byzantine else chosen.exchange,
        precision="masked" if masks else chosen.precision or ("float32" if byzantine else "float16"),
        reducer=chosen.reducer,
        patience=chosen.patience,
        seconds=coordination.deadline,
        quorum=coordination.quorum,
        fewest=LEAST_MASKED if masks else 2,
        values=values,
        byzantine=byzantine,
    )
