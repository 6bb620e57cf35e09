"""What a client is told of itself."""

from __future__ import annotations

from backend.protocols.units.client_table import TableClient
from backend.protocols.units.rules import TrustRules
from backend.protocols.units.trust import DAY_SECONDS, TrustLevel
from backend.server.units.dispatcher import standing_of
from backend.server.units.state import ClientCredit


def test_the_quota_of_a_new_day_is_whole_again() -> None:
    client = TableClient(slots=1, trust=TrustLevel(quota=10, streak=3, day=4, today=7))
    told = [standing_of(client, ClientCredit(2, 50), TrustRules(), day * DAY_SECONDS + 1.0) for day in (4, 5)]
    assert [standing.quota for standing in told] == [3, 10]
    assert (told[0].units, told[0].credited, told[0].checked, told[0].trusted) == (2, 50, 3, False)
