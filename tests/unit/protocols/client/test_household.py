"""Addresses count by household."""

from __future__ import annotations

import pytest

from backend.protocols.client.household import Household, by_itself, is_local, network_of, same_household


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.0/24"),
        ("192.0.2.255", "192.0.2.0/24"),
        ("::ffff:192.0.2.7", "192.0.2.0/24"),
        ("::ffff:c000:207", "192.0.2.0/24"),
        ("2001:db8:7:1::5", "2001:db8:7::/48"),
        ("2002:c000:207::1", "192.0.2.0/24"),
        ("2002:c000:2ff:9::1", "192.0.2.0/24"),
        ("2001:0:4136:e378:8000:63bf:3fff:fdf8", "192.0.2.0/24"),
        ("2001:db8:7:ffff::1", "2001:db8:7::/48"),
        ("2001:db8:8::1", "2001:db8:8::/48"),
        ("fe80::1%eth0", "fe80::/48"),
        ("", ""),
        ("no address", ""),
    ],
)
def test_an_address_counts_by_its_network(address: str, network: str) -> None:
    assert network_of(address) == network


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("10.1.2.3", True),
        ("192.168.1.1", True),
        ("172.31.0.1", True),
        ("169.254.1.1", True),
        ("fd00::1", True),
        ("fe80::1%eth0", True),
        ("::ffff:10.0.0.1", True),
        ("172.32.0.1", False),
        ("2002:a00:1::1", False),
        ("2002:7f00:1::1", False),
        ("192.0.2.1", False),
        ("2001:db8::1", False),
        ("", False),
    ],
)
def test_addresses_of_the_servers_own_site_are_known(address: str, local: bool) -> None:
    assert is_local(address) is local


HERE, THERE = "192.0.2.0/24", "198.51.100.0/24"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Household(HERE), Household(HERE), True),
        (Household(HERE), Household(THERE), False),
        (Household(HERE, "account 1"), Household(THERE, "account 1"), True),
        (Household(HERE, "account 1"), Household(HERE, "account 2"), False),
        (Household(HERE, "account 1"), Household(HERE), True),
        (Household(HERE, "account 1"), Household(THERE), False),
        (Household(HERE, "", "vera"), Household(THERE, "", "vera"), True),
        (Household(HERE, "account 1", "vera"), Household(THERE, "account 2", "vera"), True),
        (Household(HERE, "", "vera"), Household(THERE, "", "walt"), False),
        (Household(HERE, "", "vera"), Household(HERE, "", "walt"), True),
        (by_itself("ann"), Household(HERE), False),
        (by_itself("ann"), by_itself("ann"), True),
        (by_itself("ann"), by_itself("bob"), False),
    ],
)
def test_clients_of_one_identity_or_of_one_network_without_are_of_one_household(
    one: Household, other: Household, same: bool
) -> None:
    assert same_household(one, other) is same_household(other, one) is same
