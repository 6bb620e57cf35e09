"""Makes the record of a simulated training, from which its cost is computed like that of a real one."""

from __future__ import annotations

from backend.server.estimates.training_record import ClientWork, TrainingRecord, flops_of
from backend.simulation.units.unit_trial import UnitTrialResult


def record_of(result: UnitTrialResult) -> TrainingRecord:
    """Returns the record of a trial: the work of each machine over all of its lives, lost work included.

    A server's records lack the work of clients that vanished; the simulation knows it.
    """
    credited = {record.client: record for record in result.contributions}
    work = []
    for client in result.clients:
        own = [credited[name] for name in client.ids if name in credited]
        work.append(
            ClientWork(
                client=client.ids[0],
                kind=client.kind,
                backend=client.backend,
                examples=sum(record.examples for record in own),
                results=sum(record.accepted + record.refused for record in own),
                busy=client.busy,
                there=client.present,
            )
        )
    figures, file = result.figures, result.task.file
    return TrainingRecord(
        task=file.name,
        scheme=file.coordination.scheme,
        passes=len(figures.epoch_ends),
        seconds=figures.seconds,
        work=tuple(work),
        down=figures.server_bytes_out,
        up=figures.server_bytes_in,
        flops=flops_of(result.task.bundle.manifest, sum(one.examples for one in work)),
    )
