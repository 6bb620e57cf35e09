"""Tests that every implementation of Alerts must pass. Subclasses provide the fixture `alerts`."""

from __future__ import annotations

from dataclasses import replace

from backend.stores.alerts import MAX_KEPT, AlertStore


class AlertsContract:
    """The contract's tests."""

    async def test_alerts_are_of_one_task_in_their_order(self, alerts: AlertStore) -> None:
        first = await alerts.add_alert("digits", "too-few", "Two more are needed.", 10.0)
        other = await alerts.add_alert("other", "store", "The disk is full.", 11.0, 12.0)
        second = await alerts.add_alert("digits", "refusals", "5 of 6 were refused.", 13.0)
        assert await alerts.alerts("digits") == [first, second]
        assert await alerts.alerts("other") == [other]
        assert (first.cleared, other.cleared, len({first.id, second.id, other.id})) == (None, 12.0, 3)

    async def test_what_is_over_is_so_once(self, alerts: AlertStore) -> None:
        first = await alerts.add_alert("digits", "too-few", "One.", 10.0)
        lasting = await alerts.add_alert("digits", "refusals", "Two.", 11.0)
        await alerts.clear_alerts("digits", "too-few", 20.0)
        await alerts.clear_alerts("digits", "too-few", 30.0)
        await alerts.clear_alerts("other", "refusals", 30.0)
        assert await alerts.alerts("digits") == [replace(first, cleared=20.0), lasting]

    async def test_an_alert_is_acknowledged_when_that_was_first_said(self, alerts: AlertStore) -> None:
        one = await alerts.add_alert("digits", "too-few", "One.", 10.0)
        assert await alerts.acknowledge("digits", one.id, 20.0)
        assert await alerts.acknowledge("digits", one.id, 30.0)
        assert not await alerts.acknowledge("other", one.id, 20.0)
        assert not await alerts.acknowledge("digits", one.id + 1, 20.0)
        assert await alerts.alerts("digits") == [replace(one, acknowledged=20.0)]

    async def test_the_newest_are_kept_and_a_task_is_forgotten_whole(self, alerts: AlertStore) -> None:
        kept = await alerts.add_alert("other", "too-few", "One.", 1.0)
        for number in range(MAX_KEPT + 3):
            await alerts.add_alert("digits", "too-few", f"Number {number}.", float(number))
        found = await alerts.alerts("digits")
        assert (len(found), found[0].text) == (MAX_KEPT, "Number 3.")
        await alerts.forget_alerts("digits")
        assert await alerts.alerts("digits") == []
        assert await alerts.alerts("other") == [kept]
