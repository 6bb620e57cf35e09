"""Builds the first message to a peer that enters its task's mesh."""

from __future__ import annotations

from collections.abc import Callable

from backend.server.mesh.ice_servers import IceServers
from backend.server.mesh.setup import byzantine_rules_of, outer_step_of
from backend.server.tasks.task import Task
from backend.server.versions.version_history import VersionHistory
from backend.wire.mesh_messages import Entered


class Greeter:
    """Builds the `Entered` message of each peer.

    `clock` gives the time of day (Unix seconds), from which the TURN passwords expire.
    """

    def __init__(
        self, task: Task, history: VersionHistory, ice: IceServers, clock: Callable[[], float]
    ) -> None:
        self._task = task
        self._history = history
        self._ice = ice
        self._clock = clock
        self._outer = outer_step_of(task.file.coordination.server_optimizer)
        self._byzantine = byzantine_rules_of(task, history.run_name)

    def entered(self, client: str) -> Entered:
        """Returns the message for the peer `client`."""
        newest = self._history.current
        return Entered(
            task=self._task.file.name,
            client=client,
            bundle=self._task.bundle.address,
            run=self._history.run_name,
            round=newest.round,
            version=newest.version,
            weights=newest.weights,
            outer=self._outer,
            ice=self._ice.servers(client, self._clock()),
            byzantine=self._byzantine,
        )
