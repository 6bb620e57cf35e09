"""Stores which clients one volunteer linked as their devices, by the digest of the volunteer's key."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sqlalchemy import Connection, delete, insert, select

from backend.stores.database import Database
from backend.stores.tables import contributions, volunteer_devices


@dataclass(frozen=True)
class VolunteerDevice:
    """The client with the public id `client`, linked at `since` (Unix seconds) under a `name` of its person.

    `volunteer` is the digest of a key, which is stored nowhere.
    """

    client: str
    volunteer: str
    name: str
    since: float


class VolunteerDevices:
    """The linked devices of all volunteers. All methods raise StoreError when the medium fails."""

    def __init__(self, database: Database) -> None:
        self._do = database.do

    async def devices(self) -> list[VolunteerDevice]:
        """Returns all devices, the first linked first."""
        columns = (volunteer_devices.c[name] for name in ("client", "volunteer", "name", "since"))
        query = select(*columns).order_by(volunteer_devices.c.since, volunteer_devices.c.client)
        return await self._do(lambda connection: [VolunteerDevice(*row) for row in connection.execute(query)])

    async def link(self, device: VolunteerDevice) -> None:
        """Adds a device; it replaces an earlier link of the same client."""

        def work(connection: Connection) -> None:
            same = volunteer_devices.c.client == device.client
            connection.execute(delete(volunteer_devices).where(same))
            connection.execute(insert(volunteer_devices).values(**asdict(device)))

        await self._do(work)

    async def unlink(self, client: str) -> None:
        """Removes the link of a client, if there is one."""
        removal = delete(volunteer_devices).where(volunteer_devices.c.client == client)
        await self._do(lambda connection: connection.execute(removal))

    async def clear(self, before: float) -> None:
        """Removes devices that were linked before that time and have contributed to no task."""
        contributed = select(contributions.c.client)
        idle = (volunteer_devices.c.since < before) & volunteer_devices.c.client.not_in(contributed)
        await self._do(lambda connection: connection.execute(delete(volunteer_devices).where(idle)))
