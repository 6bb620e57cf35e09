from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from backend.errors import UnfitError
from backend.formats.task_file import MaskingTable, Security
from backend.formats.task_file.publication import AccessTable
from backend.server.accounts.permissions import Visibility
from backend.server.rounds.negotiation import negotiate, seated_household
from backend.wire.masked_messages import Aggregation

OPEN = Security()
MASKED = Security(aggregation=("masked",), masking=MaskingTable(min_clients=8))
BOTH = Security(aggregation=("masked", "open"))
RATHER_OPEN = Security(aggregation=("open", "masked"))


@pytest.mark.parametrize(
    ("security", "offered", "min_masked", "expected"),
    [
        (OPEN, ["open"], 0, "open"),
        (OPEN, ["masked", "open"], 0, "open"),
        (MASKED, ["open", "masked"], 0, "masked"),
        (MASKED, ["masked"], 8, "masked"),
        (BOTH, ["open", "masked"], 3, "masked"),
        (BOTH, ["open"], 0, "open"),
        (BOTH, ["masked", "open"], 9, "open"),
        (RATHER_OPEN, ["masked", "open"], 0, "open"),
        (RATHER_OPEN, ["masked"], 0, "masked"),
    ],
)
def test_it_is_the_first_of_the_tasks_ways_that_the_client_can(
    security: Security, offered: list[Aggregation], min_masked: int, expected: Aggregation
) -> None:
    assert negotiate(security, offered, min_masked) == expected


@pytest.mark.parametrize(
    ("security", "offered", "min_masked", "sentence"),
    [
        (OPEN, ["masked"], 0, "takes unmasked updates.*Allow open updates"),
        (MASKED, ["open"], 0, "masked updates only, among 8 clients.*your program does not offer masking"),
        (MASKED, ["masked", "open"], 9, "among 8 clients at least, and you ask for 9. Ask for 8 or fewer"),
        (BOTH, ["masked"], 9, "you ask for 9"),
    ],
)
def test_where_there_is_none_a_sentence_says_what_would_work(
    security: Security, offered: list[Aggregation], min_masked: int, sentence: str
) -> None:
    with pytest.raises(UnfitError, match=sentence):
        negotiate(security, offered, min_masked)


def _file(visibility: Visibility = "public", *networks: str) -> Any:
    masking = MaskingTable(shared_networks=networks)
    security = Security(aggregation=("masked",), masking=masking)
    return SimpleNamespace(security=security, access=AccessTable(visibility=visibility))


def _link(address: str, identity: str = "", is_unnamed_proxy: bool = False) -> Any:
    return SimpleNamespace(address=address, identity=identity, is_unnamed_proxy=is_unnamed_proxy)


def test_a_client_takes_a_seat_of_the_network_it_comes_from() -> None:
    assert seated_household(_file(), _link("198.51.100.7")) == "198.51.100.0/24"
    assert seated_household(_file("unlisted"), _link("2001:db8:1:2::7")) == "2001:db8:1::/48"
    assert seated_household(_file("public", "198.51.0.0/16"), _link("2001:db8:1:2::7")) == "2001:db8:1::/48"
    assert seated_household(_file(), _link("198.51.100.7", "account 1")) == "198.51.100.0/24"


@pytest.mark.parametrize("address", ["127.0.0.1", "192.168.1.9", "::1"])
def test_a_client_of_the_servers_own_site_takes_nobodys_seat(address: str) -> None:
    assert seated_household(_file(), _link(address)) == ""


@pytest.mark.parametrize("link", [_link(""), _link("127.0.0.1", is_unnamed_proxy=True)])
def test_clients_that_come_from_nowhere_share_the_seats_of_one_household(link: Any) -> None:
    assert seated_household(_file(), link) == "unknown"


def test_who_is_invited_takes_a_seat_of_the_invitation_where_it_tells_people_apart() -> None:
    assert seated_household(_file("invited"), _link("198.51.100.7", "invitation 1")) == "invitation 1"
    assert seated_household(_file("invited"), _link("198.51.100.7")) == "198.51.100.0/24"
    read_by_all = _file()
    read_by_all.access = AccessTable(newcomers="invited")
    assert seated_household(read_by_all, _link("198.51.100.7", "invitation 1")) == "invitation 1"


def test_clients_of_a_network_that_the_owner_shares_take_nobodys_seat() -> None:
    shared = _file("public", "198.51.0.0/16", "2001:db8::/32")
    for address in ("198.51.100.7", "2001:db8:1:2::7"):
        assert seated_household(shared, _link(address)) == ""


def test_a_quarter_of_the_fewest_clients_may_be_of_one_household() -> None:
    assert [MaskingTable(min_clients=least).seats_per_household for least in (3, 7, 8, 100)] == [1, 1, 2, 25]
    assert MaskingTable(max_per_household=0).seats_per_household == 0
    assert MaskingTable(max_per_household=5).seats_per_household == 5


@pytest.mark.parametrize("network", ["here", "198.51.100.7/24", "198.51.100.0/33"])
def test_what_is_no_network_is_refused(network: str) -> None:
    with pytest.raises(ValueError, match="which is no network; write one like"):
        MaskingTable(shared_networks=(network,))
