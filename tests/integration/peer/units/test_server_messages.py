from __future__ import annotations

from msgspec.structs import replace

from backend.peer.session.progress import Value
from backend.peer.units.server_messages import UnitNews
from backend.wire import messages, unit_messages


class Told:
    def __init__(self) -> None:
        self.events: list[tuple[str, str, dict[str, Value]]] = []

    def tell(self, event: str, sentence: str, **values: Value) -> None:
        self.events.append((event, sentence, values))


BOARD = unit_messages.Board(
    phase="training",
    epoch=1,
    epochs=5,
    tally=unit_messages.Tally(units=8, done=0, leased=2, compared=0),
    base=0,
    backlog=0,
    browsers=1,
    peers=1,
    measured=0,
    loss=None,
    metrics={},
)

UNIT = unit_messages.Unit(
    lease=3,
    unit=7,
    epoch=1,
    shard=messages.Shard(sha256="0" * 64, examples=32),
    first=0,
    examples=32,
    base=0,
    weights="0" * 64,
    epochs=1,
    steps=0,
    batch_size=32,
    learning_rate=0.1,
    past_steps=0,
    seed=1,
    proximal_mu=0.0,
    start="given",
    elasticity=0.0,
    seconds=60.0,
    heartbeat=20.0,
)


def test_an_epoch_and_a_measurement_are_told_once() -> None:
    told = Told()
    news = UnitNews(told)
    measured = replace(BOARD, measured=3, loss=0.5, metrics={"accuracy": 0.75})
    for board in (
        BOARD,
        BOARD,
        measured,
        measured,
        replace(measured, epoch=2),
        replace(measured, measured=2),
    ):
        news.report(board)
    assert [event for event, _, _ in told.events] == ["epoch", "evaluated", "epoch"]
    assert told.events[1][1] == "With 3 results on held-out data: loss 0.5000, accuracy 0.7500."


def test_a_result_that_another_one_overwrote_is_told_as_what_it_is() -> None:
    told = Told()
    news = UnitNews(told)
    news.report(UNIT)
    news.report(unit_messages.Counted(lease=3, examples=32, blended=True))
    overwritten = unit_messages.Drop(lease=3, reason="Another one overwrote it.")
    news.report(overwritten)
    news.report(overwritten)
    assert [sentence for event, sentence, _ in told.events if event == "dropped"] == [
        "Unit 7 counts, but is not in the model. Another one overwrote it.",
        "A unit from before is not needed any more. Another one overwrote it.",
    ]


def test_trust_is_told_when_it_changes() -> None:
    told = Told()
    news = UnitNews(told)
    stranger = unit_messages.Standing(credited=0, units=0, checked=0, trusted=False, quota=100)
    for standing in (stranger, stranger, replace(stranger, trusted=True, checked=10), stranger):
        news.report(standing)
    assert [sentence.partition(":")[0] for _, sentence, _ in told.events] == [
        "Trusted",
        "Every result is compared with another client's again.",
    ]


def test_every_reason_to_wait_has_its_sentence() -> None:
    told = Told()
    for cause in ("nothing", "quota", "reliable", "bound", "released", "over", "paused"):
        UnitNews(told).report(unit_messages.Idle(cause=cause))
    assert len({sentence for _, sentence, _ in told.events}) == 7
