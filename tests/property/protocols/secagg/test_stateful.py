"""Whatever a server's machine is told in whatever order, it stays whole and ends as it must."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from backend.protocols.secagg.server_stages import ServerStage
from backend.wire.masked_messages import Server
from tests.support.protocols.secagg.schedules import Player, Schedule

CLIENTS = st.integers(0, 7)
ORDER = list(ServerStage)


class Round(RuleBasedStateMachine):
    """A round of real members, whose lines and hosts hypothesis moves one thing at a time."""

    @initialize(
        count=st.integers(3, 8), server=st.sampled_from(["honest", "active"]), seed=st.integers(0, 100)
    )
    def begin(self, count: int, server: Server, seed: int) -> None:
        self.player = Player(Schedule(seed, count, server, 1, False, 0))
        self.world = self.player.world
        self.seen = ServerStage.ADVERTISE_KEYS
        self.out: set[str] = set()

    def client(self, number: int) -> str:
        return f"{number % len(self.world.holders):04x}"

    @rule(number=CLIENTS)
    def everything_reaches_the_server(self, number: int) -> None:
        client = self.client(number)
        while self.world.lines[client].down:
            self.world.tell(client)
        self.world.work(client)
        while self.world.lines[client].up:
            self.world.arrive(client)

    @rule(number=CLIENTS, name=st.sampled_from(["compute", "say", "arrive", "hear"]))
    def one_thing_moves(self, number: int, name: str) -> None:
        getattr(self.player, name)(self.client(number))

    @rule(number=CLIENTS, name=st.sampled_from(["hang_up", "come_back", "say_again", "hear_again"]))
    def a_line_breaks_or_says_again(self, number: int, name: str) -> None:
        getattr(self.player, name)(self.client(number))

    @rule(number=CLIENTS, name=st.sampled_from(["leave", "overtake", "lie", "pass_time", "end_inputs"]))
    def something_goes_wrong(self, number: int, name: str) -> None:
        getattr(self.player, name)(self.client(number))

    @invariant()
    def stages_only_go_on(self) -> None:
        if hasattr(self, "world"):
            assert ORDER.index(self.world.masks.stage) >= ORDER.index(self.seen)
            assert self.seen is not ServerStage.DONE or self.world.masks.stage is ServerStage.DONE
            self.seen = self.world.masks.stage

    @invariant()
    def who_is_out_stays_out_and_nobody_offers_without_shares(self) -> None:
        if hasattr(self, "world"):
            assert self.out <= set(self.world.excluded)
            self.out = set(self.world.excluded)
            dealt = {self.world.masks.graph.members[place].client for place in self.world.masks.graph.pairs}
            assert set(self.world.taken) <= dealt
            assert not self.out & set(self.world.taken)
            for client in self.world.holders:
                if self.world.masks.may_offer(client) is None:
                    assert client in dealt - self.out

    @invariant()
    def it_waits_only_where_it_may(self) -> None:
        if hasattr(self, "world"):
            waits = self.world.masks.stage in (
                ServerStage.ADVERTISE_KEYS,
                ServerStage.SHARE_KEYS,
                ServerStage.CONSISTENCY_CHECK,
                ServerStage.UNMASK,
            )
            assert (self.world.masks.timer() is not None) == waits
            self.world.check_secrets()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.player.calm()
            self.world.check()


TestRound = Round.TestCase
TestRound.settings = settings(max_examples=60, stateful_step_count=40)
