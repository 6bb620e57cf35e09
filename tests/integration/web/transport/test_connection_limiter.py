"""Who is let in, counted without sockets; time is the tests'."""

from __future__ import annotations

from ipaddress import ip_address

from backend.settings import ServerLimits, read_settings
from backend.web.transport.connection_limiter import MAX_REJECTED, ConnectionLimiter

LIMITS = ServerLimits(
    max_connections=6, max_connections_per_address=3, joins_per_minute=2, requests_per_minute=120
)
TRUSTED = read_settings({}, {"MINGA_TRUSTED_PROXIES": "10.0.0.1"}).trusted_proxies
ANN, BOB, PROXY = ip_address("192.0.2.1"), ip_address("2001:db8::1"), ip_address("10.0.0.1")


def doors(clock: list[float] | None = None) -> ConnectionLimiter:
    now = clock or [0.0]
    return ConnectionLimiter(LIMITS, TRUSTED, lambda: now[0])


def forwarded(text: str) -> list[tuple[bytes, bytes]]:
    """Returns the header that a proxy adds."""
    return [(b"x-forwarded-for", text.encode())]


def test_one_address_may_have_so_many_connections_and_others_are_not_touched() -> None:
    place = doors()
    visits = [place.enter(ANN) for _ in range(5)]
    assert [visit.refusal is None for visit in visits] == [True] * 3 + [False] * 2
    assert "network address" in str(visits[3].refusal)
    assert place.enter(BOB).refusal is None
    visits[0].end()
    visits[0].end()
    assert [place.enter(ANN).refusal is None for _ in range(2)] == [True, False]


def test_who_is_refused_does_not_fill_the_house() -> None:
    place = doors()
    for _ in range(50):
        place.enter(ANN)
    assert [place.enter(BOB).refusal is None for _ in range(4)] == [True, True, True, False]


def test_so_many_connections_are_let_in_of_all_together() -> None:
    place = doors()
    visits = [place.enter(ip_address(f"192.0.2.{n}")) for n in range(8)]
    assert [visit.refusal is None for visit in visits] == [True] * 6 + [False] * 2
    assert "as many connections as it can hold" in str(visits[7].refusal)
    for visit in visits:
        visit.end()
    assert all(place.enter(ip_address(f"192.0.2.{n}")).refusal is None for n in range(6))


def test_those_who_wait_to_be_told_are_bounded_too() -> None:
    place = doors()
    visits = [place.enter(ANN) for _ in range(3 + MAX_REJECTED + 2)]
    assert [visit.drop_silently for visit in visits] == [False] * (3 + MAX_REJECTED) + [True] * 2


def test_a_trusted_proxy_is_counted_as_those_for_whom_it_speaks() -> None:
    place = doors()
    visits = [place.enter(PROXY) for _ in range(4)]
    for visit in visits:
        visit.set_headers(forwarded("192.0.2.1"))
    assert [visit.refusal is None for visit in visits] == [True] * 3 + [False]
    visits[0].set_headers(forwarded("192.0.2.2"))
    visits[3].set_headers(forwarded("192.0.2.1"))
    assert visits[3].refusal is None
    assert place.enter(ANN).refusal is not None


def test_what_an_untrusted_address_says_of_itself_changes_nothing() -> None:
    place = doors()
    visits = [place.enter(ANN) for _ in range(3)]
    for number, visit in enumerate(visits):
        visit.set_headers(forwarded(f"198.51.100.{number}"))
    assert place.enter(ANN).refusal is not None


def test_sockets_of_one_address_follow_each_other_at_a_rate() -> None:
    clock = [0.0]
    place = doors(clock)
    ann, bob = place.enter(ANN), place.enter(BOB)
    assert [ann.join() is None for _ in range(3)] == [True, True, False]
    assert "2 a minute" in str(ann.join())
    assert bob.join() is None
    clock[0] = 30.0
    assert [ann.join() is None for _ in range(2)] == [True, False]


def test_who_is_not_let_in_does_not_join() -> None:
    place = doors()
    visits = [place.enter(ANN) for _ in range(4)]
    assert visits[3].join() is visits[3].refusal


def test_requests_of_one_address_come_at_a_rate() -> None:
    clock = [0.0]
    place = doors(clock)
    ann, bob = place.enter(ANN), place.enter(BOB)
    for _ in range(120):
        ann.set_headers([])
        assert ann.refusal is None
    ann.set_headers([])
    assert "120 a minute" in str(ann.refusal)
    assert ann.join() is ann.refusal
    bob.set_headers([])
    assert bob.refusal is None
    clock[0] = 0.5
    ann.set_headers([])
    assert ann.refusal is None
    ann.end()
    assert [place.enter(ANN).refusal is None for _ in range(4)] == [True, True, True, False]


def test_who_comes_through_a_local_proxy_that_is_not_trusted_may_be_anybody() -> None:
    place = doors()
    visit = place.enter(ip_address("10.0.0.2"))
    visit.set_headers([])
    assert (visit.address, visit.is_unnamed_proxy) == ("10.0.0.2", False)
    visit.set_headers(forwarded("198.51.100.7"))
    assert (visit.address, visit.is_unnamed_proxy) == ("10.0.0.2", True)


def test_a_public_address_keeps_its_name_whatever_it_says() -> None:
    place = doors()
    visit = place.enter(ANN)
    visit.set_headers([*forwarded("198.51.100.7"), (b"host", b"example.org")])
    assert (visit.address, visit.is_unnamed_proxy) == (str(ANN), False)


def test_whom_a_trusted_proxy_does_not_name_has_no_address() -> None:
    place = doors()
    for headers in ([], forwarded("unknown"), forwarded("10.0.0.1"), forwarded("192.0.2.1, nonsense")):
        visit = place.enter(PROXY)
        visit.set_headers(headers)
        assert (visit.address, visit.is_unnamed_proxy) == ("", False)
        visit.end()
