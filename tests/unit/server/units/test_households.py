"""Which clients of work units count as one household, and how many new ones may join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import pytest

from backend.errors import TooFastError
from backend.formats.task_file.units import TrustTable
from backend.server.hosting.clients.client_link import ClientLink
from backend.server.units.households import Households
from backend.server.units.newcomers import HOUR_SECONDS


@dataclass
class Visitor:
    """Where a client comes from."""

    address: str
    identity: str = ""
    is_unnamed_proxy: bool = False
    volunteer: str = ""


def link(address: str, identity: str = "", is_unnamed_proxy: bool = False) -> ClientLink:
    return cast(ClientLink, Visitor(address, identity, is_unnamed_proxy))


def test_a_household_is_a_network_an_account_or_a_client_where_many_people_are() -> None:
    households = Households(TrustTable(networks=["198.51.100.0/24"]))
    assert households.of("ann", link("192.0.2.7")) == households.of("bob", link("192.0.2.8"))
    assert households.of("ann", link("2001:db8::1")) == households.of("bob", link("2001:db8:0:9::1"))
    assert households.of("ann", link("192.0.2.7", "account 1")) == ("192.0.2.0/24", "account 1", "")
    for many in ("198.51.100.3", "127.0.0.1", "192.168.1.5", "::1"):
        assert [households.of(client, link(many)).key for client in ("ann", "bob")] == ["ann", "bob"]


def test_who_comes_from_nowhere_or_through_an_unnamed_proxy_shares_a_household() -> None:
    households = Households(TrustTable(networks=["10.1.0.0/16"]))
    unknown = (link(""), link("127.0.0.1", is_unnamed_proxy=True), link("10.0.0.1", is_unnamed_proxy=True))
    assert {households.of(str(number), one) for number, one in enumerate(unknown)} == {("unknown", "", "")}
    # The owner knows that these are many people.
    assert households.of("ann", link("10.1.0.1", is_unnamed_proxy=True)) == ("unknown", "ann", "")


def test_new_clients_of_a_network_are_admitted_at_a_rate() -> None:
    households = Households(TrustTable(newcomers=2))
    for client in ("ann", "bob"):
        households.admit(client, link("192.0.2.7"), False, 0.0)
    with pytest.raises(TooFastError, match="2 new devices an hour"):
        households.admit("cat", link("192.0.2.9"), False, 0.0)
    households.admit("dan", link("192.0.2.9", "account 1"), False, 0.0)
    households.admit("eve", link("203.0.113.9"), False, 0.0)
    households.admit("cat", link("192.0.2.9"), False, HOUR_SECONDS / 2)


def test_a_network_with_a_refuted_result_brings_one_new_client_an_hour() -> None:
    households = Households(TrustTable(newcomers=2))
    households.admit("ann", link("192.0.2.7"), True, 0.0)
    with pytest.raises(TooFastError, match="found false today"):
        households.admit("bob", link("192.0.2.9"), True, HOUR_SECONDS / 2)
    households.admit("bob", link("192.0.2.9"), True, HOUR_SECONDS)


def test_a_client_that_comes_again_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.server.units.households.MAX_ADMITTED", 2)
    households = Households(TrustTable(newcomers=3))
    for client in ("ann", "ann", "bob", "ann", "cat", "bob"):
        households.admit(client, link("192.0.2.7"), False, 0.0)
    with pytest.raises(TooFastError):
        households.admit("dan", link("192.0.2.7"), False, 0.0)
    # It was forgotten.
    with pytest.raises(TooFastError):
        households.admit("ann", link("192.0.2.7"), False, 0.0)
