"""Which local addresses are proxies that nobody named."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from structlog.testing import capture_logs

from backend.settings import read_settings
from backend.web.transport.unnamed_proxies import MAX_PROXIES, UnnamedProxies, is_local_host

TRUSTED = read_settings({}, {"MINGA_TRUSTED_PROXIES": "10.0.0.1"}).trusted_proxies
HERE, PROXY, OUTSIDE = ip_address("127.0.0.1"), ip_address("10.0.0.1"), ip_address("192.0.2.1")
ELSEWHERE = [(b"host", b"minga.example.org")]


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("localhost:8000", True),
        ("127.0.0.1:8000", True),
        ("[::1]:8000", True),
        ("[fe80::1]", True),
        ("192.168.1.5:8000", True),
        ("teacher:8000", True),
        ("Teacher.local:8000", True),
        ("teacher.home.arpa", True),
        ("", True),
        ("minga.example.org", False),
        ("minga.example.org.", False),
        ("local.example.org:8000", False),
        ("203.0.113.5", False),
        ("[2001:db8::1]:8000", False),
    ],
)
def test_names_of_the_servers_own_site_are_known(host: str, local: bool) -> None:
    assert is_local_host(host.encode()) is local


@pytest.mark.parametrize(
    "headers",
    [ELSEWHERE, [(b"x-forwarded-for", b"192.0.2.1")], [(b"via", b"1.1 nginx")], [(b"forwarded", b"for=_x")]],
)
def test_a_local_address_is_a_proxy_from_its_first_request_from_elsewhere_on(
    headers: list[tuple[bytes, bytes]],
) -> None:
    proxies = UnnamedProxies(TRUSTED)
    proxies.observe(HERE, [(b"host", b"localhost:8000")])
    assert HERE not in proxies
    proxies.observe(HERE, headers)
    # What its clients write changes nothing any more.
    proxies.observe(HERE, [(b"host", b"localhost:8000")])
    assert HERE in proxies
    assert ip_address("127.0.0.2") not in proxies


def test_named_proxies_and_public_addresses_are_none_of_them() -> None:
    proxies = UnnamedProxies(TRUSTED)
    for peer in (PROXY, OUTSIDE):
        proxies.observe(peer, [*ELSEWHERE, (b"x-forwarded-for", b"198.51.100.7")])
        assert peer not in proxies


def test_the_operator_reads_of_it_once_and_of_the_setting() -> None:
    proxies = UnnamedProxies(TRUSTED)
    with capture_logs() as logs:
        for peer in (HERE, HERE, ip_address("127.0.0.2"), OUTSIDE):
            proxies.observe(peer, ELSEWHERE)
            proxies.observe(peer, [(b"x-forwarded-for", b"198.51.100.7")])
    assert [line["proxy"] for line in logs] == [str(HERE), str(OUTSIDE)]
    assert "MINGA_TRUSTED_PROXIES" in logs[0]["event"]


def test_so_many_proxies_are_remembered_and_the_busy_ones_longest() -> None:
    proxies = UnnamedProxies(TRUSTED)
    for number in range(2 * MAX_PROXIES):
        proxies.observe(HERE, ELSEWHERE)
        proxies.observe(ip_address("fd00::") + number, ELSEWHERE)
    assert HERE in proxies
    assert ip_address("fd00::") not in proxies
