"""One person gets a second household, with which to confirm lies of the first, or to fill a masked cohort."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from backend.formats.task_file.units import TrustTable
from backend.server.units.households import Households
from backend.settings import Network, ServerLimits
from backend.web.transport.client_address import Address, read_address
from backend.web.transport.connection_limiter import ConnectionLimiter

NOBODY: tuple[Network, ...] = ()
HEADERS = (["1.2.3.4"], ["10.0.0.1"], ["unknown"], ["0.0.0.0"], [""], ["1.2.3.4, 127.0.0.1"])


def peer(text: str) -> Address:
    address = read_address(text)
    assert address is not None
    return address


def link(limiter: ConnectionLimiter, address: str, forwarded: Sequence[str]) -> Any:
    """Returns the link of a connection from `address` with these values of X-Forwarded-For."""
    slot = limiter.enter(peer(address))
    slot.set_forwarded(forwarded)
    return SimpleNamespace(address=slot.address, identity="")


@pytest.mark.parametrize("address", ["203.0.113.5", "2001:db8:7:1::5"])
@pytest.mark.parametrize("header", HEADERS)
def test_a_header_that_anybody_may_send_makes_no_second_household(address: str, header: list[str]) -> None:
    limiter, households = ConnectionLimiter(ServerLimits(), NOBODY, lambda: 0.0), Households(TrustTable())
    direct = households.of("ann", link(limiter, address, []))
    assert households.of("bob", link(limiter, address, header)) == direct
