"""Defines the table [security.reputation]: whose updates do not count, after evidence over several rounds."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated

from msgspec import Meta

from backend.formats.task_file.types import TaskTable

Network = Annotated[str, Meta(min_length=1, max_length=50)]


class ReputationTable(TaskTable, frozen=True):
    """Adds up evidence against the updates of each client, which halves in `half_life` of its rounds.

    A client with too much is in quarantine for at least `quarantine` of its rounds: its updates are compared
    and do not count. In `shared_networks` many people share an address, so that none inherits suspicion.
    """

    half_life: Annotated[float, Meta(ge=2.0, le=1000.0)] = 10.0
    quarantine: Annotated[int, Meta(ge=1, le=1000)] = 10
    shared_networks: Annotated[tuple[Network, ...], Meta(max_length=100)] = ()

    def __post_init__(self) -> None:
        check_networks(self.shared_networks)


def check_networks(networks: tuple[str, ...]) -> None:
    """Raises ValueError for a text that is no network."""
    for network in networks:
        try:
            ip_network(network)
        except ValueError as error:
            raise ValueError(
                f'shared_networks has {network!r}, which is no network; write one like "198.51.100.0/24"'
            ) from error
