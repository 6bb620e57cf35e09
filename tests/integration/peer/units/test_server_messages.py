from __future__ import annotations

from msgspec.structs import replace

from backend.peer.session.progress import Value
from backend.peer.units.server_messages import UnitNews
from backend.wire import unit_messages


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
