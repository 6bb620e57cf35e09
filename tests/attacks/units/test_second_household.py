"""One person gets a second household, with which to confirm lies of the first, or to fill a masked cohort."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from backend.formats.task_file.units import TrustTable
from backend.protocols.client.household import Household
from backend.protocols.units.rules import Rules, Verdict
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import Assimilate, GrantLease, Judge, WorkUnit
from backend.server.units.households import Households
from backend.settings import Network, ServerLimits, read_settings
from backend.web.transport.client_address import Address, read_address
from backend.web.transport.connection_limiter import ConnectionLimiter

NOBODY: tuple[Network, ...] = ()
HEADERS = (["1.2.3.4"], ["10.0.0.1"], ["unknown"], ["::"], [""], ["1.2.3.4, 127.0.0.1"])


def confirms(one: Household, other: Household) -> bool:
    """Whether a client's result gets into the model because another one agrees with it."""
    scheduler = Scheduler(Rules())
    scheduler.begin_epoch([WorkUnit(unit=0, shard=0, examples=64, seed=1)])
    scheduler.client_connected("a", 1, household=one)
    scheduler.client_connected("b", 1, household=other)
    first = scheduler.ask("a", 0, 0.5, 0.0)[0]
    assert isinstance(first, GrantLease)
    scheduler.returned("a", first.lease, 1.0)
    second = scheduler.ask("b", 0, 0.5, 2.0)[0]
    if not isinstance(second, GrantLease):
        return False
    (judge,) = scheduler.returned("b", second.lease, 3.0)
    assert isinstance(judge, Judge)
    effects = scheduler.judged(0, dict.fromkeys(judge.leases, Verdict.VALID))
    return any(isinstance(effect, Assimilate) for effect in effects)


def peer(text: str) -> Address:
    address = read_address(text)
    assert address is not None
    return address


def link(
    limiter: ConnectionLimiter,
    address: str,
    forwarded: Sequence[str],
    identity: str = "",
    host: str = "",
    volunteer: str = "",
) -> Any:
    """Returns the link of a connection from `address` with these values of X-Forwarded-For."""
    slot = limiter.enter(peer(address))
    values = [(b"x-forwarded-for", text.encode()) for text in forwarded]
    slot.set_headers([*values, (b"host", host.encode())])
    return SimpleNamespace(
        address=slot.address, identity=identity, is_unnamed_proxy=slot.is_unnamed_proxy, volunteer=volunteer
    )


@pytest.mark.parametrize("address", ["203.0.113.5", "2001:db8:7:1::5"])
@pytest.mark.parametrize("header", HEADERS)
def test_a_header_that_anybody_may_send_makes_no_second_household(address: str, header: list[str]) -> None:
    limiter, households = ConnectionLimiter(ServerLimits(), NOBODY, lambda: 0.0), Households(TrustTable())
    direct = households.of("ann", link(limiter, address, []))
    assert households.of("bob", link(limiter, address, header)) == direct


@pytest.mark.parametrize("volunteers", [("one", "other"), ("one", ""), ("", "other")])
def test_keys_that_anybody_may_make_make_no_second_household(volunteers: tuple[str, str]) -> None:
    limiter, households = ConnectionLimiter(ServerLimits(), NOBODY, lambda: 0.0), Households(TrustTable())
    one, other = (
        households.of(name, link(limiter, "203.0.113.5", [], volunteer=volunteer))
        for name, volunteer in zip("ab", volunteers, strict=True)
    )
    assert one.key == other.key
    assert not confirms(one, other)


def test_the_devices_of_one_volunteer_do_not_confirm_each_other_from_two_networks() -> None:
    limiter, households = ConnectionLimiter(ServerLimits(), NOBODY, lambda: 0.0), Households(TrustTable())
    one, other = (
        households.of(name, link(limiter, address, [], volunteer="same"))
        for name, address in (("a", "203.0.113.5"), ("b", "198.51.100.9"))
    )
    assert not confirms(one, other)


@pytest.mark.parametrize("identities", [("account 1", ""), ("", "account 1"), ("account 1", "account 1")])
def test_an_account_makes_no_second_household_beside_its_owners_device_without_one(
    identities: tuple[str, str],
) -> None:
    limiter, households = ConnectionLimiter(ServerLimits(), NOBODY, lambda: 0.0), Households(TrustTable())
    one, other = (
        households.of(name, link(limiter, "203.0.113.5", [], identity))
        for name, identity in zip("ab", identities, strict=True)
    )
    assert not confirms(one, other)


def test_two_people_with_accounts_behind_one_address_confirm_each_other() -> None:
    limiter, households = ConnectionLimiter(ServerLimits(), NOBODY, lambda: 0.0), Households(TrustTable())
    one, other = (households.of(name, link(limiter, "203.0.113.5", [], f"account {name}")) for name in "ab")
    assert confirms(one, other)


@pytest.mark.parametrize("address", ["127.0.0.1", "172.17.0.1", "::1", "fd00::1"])
@pytest.mark.parametrize(
    "hosts", [("minga.example.org", "203.0.113.5:8000"), ("minga.example.org", "localhost")]
)
def test_a_proxy_that_nobody_named_and_that_adds_no_header_is_one_household(
    address: str, hosts: tuple[str, str]
) -> None:
    limiter, households = ConnectionLimiter(ServerLimits(), NOBODY, lambda: 0.0), Households(TrustTable())
    one, other = (
        households.of(name, link(limiter, address, [], host=host))
        for name, host in zip("ab", hosts, strict=True)
    )
    assert not confirms(one, other)


@pytest.mark.parametrize("headers", [([], []), (["unknown"], ["unknown"]), ([], ["10.0.0.1"])])
def test_a_named_proxy_that_does_not_say_for_whom_it_speaks_is_one_household(
    headers: tuple[list[str], list[str]],
) -> None:
    proxies = read_settings({}, {"MINGA_TRUSTED_PROXIES": "127.0.0.1, 10.0.0.1"}).trusted_proxies
    limiter, households = ConnectionLimiter(ServerLimits(), proxies, lambda: 0.0), Households(TrustTable())
    one, other = (
        households.of(name, link(limiter, "127.0.0.1", header))
        for name, header in zip("ab", headers, strict=True)
    )
    assert not confirms(one, other)


@pytest.mark.parametrize("host", ["localhost:8000", "192.168.1.5:8000", "teacher.local"])
def test_a_class_in_the_servers_own_network_is_many_households(host: str) -> None:
    limiter, households = ConnectionLimiter(ServerLimits(), NOBODY, lambda: 0.0), Households(TrustTable())
    one, other = (
        households.of(name, link(limiter, address, [], host=host))
        for name, address in zip("ab", ("192.168.1.17", "192.168.1.18"), strict=True)
    )
    assert confirms(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("203.0.113.5", "2002:cb00:7105::1"),
        ("2002:cb00:7105::1", "2002:cb00:7106::1"),
        ("203.0.113.5", "2001:0:4136:e378:8000:63bf:34ff:8efa"),
    ],
)
def test_an_address_within_another_one_makes_no_second_household(one: str, other: str) -> None:
    limiter, households = ConnectionLimiter(ServerLimits(), NOBODY, lambda: 0.0), Households(TrustTable())
    first, second = (
        households.of(name, link(limiter, address, []))
        for name, address in zip("ab", (one, other), strict=True)
    )
    assert not confirms(first, second)
