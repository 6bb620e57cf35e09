"""Which addresses a stranger may lead to: the internet, and no address that stands for another one."""

from __future__ import annotations

import pytest

from backend.formats.network_address import is_allowed, is_public, reach_of, refused_address

PUBLIC = ["192.0.43.8", "8.8.8.8", "2606:2800:220:1::1", "2a00:1450:4001::200e"]
LAN = ["10.0.0.1", "172.16.5.4", "192.168.1.1", "100.64.0.1", "fd12::1"]
HOST = ["127.0.0.1", "127.9.9.9", "::1"]
NOWHERE = [
    "0.0.0.0",  # noqa: S104 - not bound to.
    "169.254.169.254",
    "192.0.0.1",
    "192.0.0.8",
    "192.0.0.170",
    "192.0.2.7",
    "198.18.0.1",
    "192.88.99.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:0:8.8.8.8",
    "64:ff9b::127.0.0.1",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::1",
    "2002:7f00:1::1",
    "2002:808:808::1",
    "2001::1",
    "2001:db8::1",
    "3fff::1",
    "100::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "no address",
    "",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_the_internet_is_public(address: str) -> None:
    assert is_public(address)
    assert all(is_allowed(address, reach) for reach in ("public", "lan", "host"))


@pytest.mark.parametrize("address", LAN)
def test_a_local_network_is_for_tasks_that_allow_it(address: str) -> None:
    assert not is_public(address)
    assert [is_allowed(address, reach) for reach in ("public", "lan", "host")] == [False, True, True]


@pytest.mark.parametrize("address", HOST)
def test_this_machine_is_for_those_whose_server_is_on_it(address: str) -> None:
    assert [is_allowed(address, reach) for reach in ("public", "lan", "host")] == [False, False, True]


@pytest.mark.parametrize("address", NOWHERE)
def test_nothing_leads_elsewhere(address: str) -> None:
    assert not is_public(address)
    assert not any(is_allowed(address, reach) for reach in ("public", "lan", "host"))


def test_one_address_of_a_host_that_is_not_allowed_is_enough() -> None:
    assert refused_address(["8.8.8.8", "10.0.0.1"], "public") == "10.0.0.1"
    assert refused_address(["8.8.8.8", "10.0.0.1"], "lan") is None


def test_the_host_that_was_typed_says_how_far_strangers_lead() -> None:
    typed = ("127.0.0.1", "localhost", "192.168.1.4", "example.org", "box.local", "8.8.8.8", "::1", "")
    found = [reach_of(host) for host in typed]
    assert found == ["host", "host", "lan", "public", "public", "public", "host", "public"]
