from __future__ import annotations

import pytest

from backend.errors import UnfitError
from backend.formats.task_file import MaskingTable, Security
from backend.server.rounds.negotiation import negotiate
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
        (OPEN, ["masked"], 0, "takes updates in the open.*Allow open updates"),
        (MASKED, ["open"], 0, "masked updates only, among 8 clients.*your program offers none"),
        (MASKED, ["masked", "open"], 9, "among 8 clients at least, and you ask for 9. Ask for 8 or fewer"),
        (BOTH, ["masked"], 9, "you ask for 9"),
    ],
)
def test_where_there_is_none_a_sentence_says_what_would_work(
    security: Security, offered: list[Aggregation], min_masked: int, sentence: str
) -> None:
    with pytest.raises(UnfitError, match=sentence):
        negotiate(security, offered, min_masked)
