"""Tests that the store of linked devices must pass. Subclasses provide `devices` and `records`."""

from __future__ import annotations

from dataclasses import replace

from backend.stores.contracts import Records, RoundResult
from backend.stores.volunteer_devices import VolunteerDevice, VolunteerDevices
from tests.support.store_contracts.records import ANN, FIRST, ROUND

LAPTOP = VolunteerDevice("a" * 16, "1" * 64, "laptop", 1.0)
PHONE = VolunteerDevice("b" * 16, "1" * 64, "", 2.0)


class VolunteerDevicesContract:
    """The contract's tests."""

    async def test_devices_are_returned_in_the_order_of_their_links(self, devices: VolunteerDevices) -> None:
        assert await devices.devices() == []
        await devices.link(PHONE)
        await devices.link(LAPTOP)
        assert await devices.devices() == [LAPTOP, PHONE]

    async def test_a_device_is_of_one_volunteer(self, devices: VolunteerDevices) -> None:
        moved = replace(LAPTOP, volunteer="2" * 64, since=3.0)
        await devices.link(LAPTOP)
        await devices.link(moved)
        assert await devices.devices() == [moved]

    async def test_a_link_is_removed(self, devices: VolunteerDevices) -> None:
        await devices.link(LAPTOP)
        await devices.unlink(LAPTOP.client)
        await devices.unlink(LAPTOP.client)
        assert await devices.devices() == []

    async def test_devices_without_a_contribution_are_cleared_after_a_while(
        self, devices: VolunteerDevices, records: Records
    ) -> None:
        run = await records.open_run("digits", "c" * 64)
        await records.record(run, RoundResult(ROUND, [ANN], version=FIRST))
        contributor = replace(LAPTOP, client=ANN.client)
        await devices.link(contributor)
        await devices.link(PHONE)
        await devices.clear(PHONE.since)
        assert len(await devices.devices()) == 2
        await devices.clear(PHONE.since + 1.0)
        assert await devices.devices() == [contributor]
