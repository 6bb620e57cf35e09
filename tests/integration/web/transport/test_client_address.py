from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.settings import read_settings
from backend.web.transport.client_address import household, read_address, visitor

TRUSTED = read_settings({}, {"MINGA_TRUSTED_PROXIES": "127.0.0.1, 10.0.0.0/8, fd00::/8"}).trusted_proxies


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("203.0.113.7", "203.0.113.7"),
        (" 203.0.113.7:5678 ", "203.0.113.7"),
        ("2001:db8::1", "2001:db8::1"),
        ('"[2001:db8::1]:443"', "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("unknown", None),
        ("", None),
    ],
)
def test_addresses_are_read_as_systems_and_proxies_write_them(text: str, address: str | None) -> None:
    assert read_address(text) == (ip_address(address) if address else None)


@given(st.text(max_size=60))
def test_whatever_a_header_says_is_an_address_or_none(text: str) -> None:
    address = read_address(text)
    assert address is None or household(address)


@pytest.mark.parametrize(
    ("peer", "forwarded", "found"),
    [
        ("203.0.113.7", [], "203.0.113.7"),
        ("203.0.113.7", ["198.51.100.1"], "203.0.113.7"),
        ("127.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", ["192.0.2.9, 198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", ["192.0.2.9", "198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", ["198.51.100.1, 10.1.2.3"], "198.51.100.1"),
        ("fd00::1", ["198.51.100.1, nonsense, 10.1.2.3"], "10.1.2.3"),
        ("127.0.0.1", ["10.1.2.3"], "10.1.2.3"),
        ("127.0.0.1", ["x" * 5000], "127.0.0.1"),
        ("127.0.0.1", ["198.51.100.1" + ",10.0.0.1" * 5000], "10.0.0.1"),
    ],
)
def test_a_header_counts_from_trusted_proxies_only_and_from_the_right(
    peer: str, forwarded: list[str], found: str
) -> None:
    assert visitor(ip_address(peer), forwarded, TRUSTED) == ip_address(found)


def test_one_household_is_one_address_or_a_64_of_ipv6() -> None:
    keys = [
        household(ip_address(text))
        for text in ("2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1", "1.2.3.4")
    ]
    assert keys == ["2001:db8::/64", "2001:db8::/64", "2001:db8:0:1::/64", "1.2.3.4"]
