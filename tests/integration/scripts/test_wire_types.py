"""The web app's checks of messages are those of the Python types, and say so in their words."""

from __future__ import annotations

from scripts.wire_types.command import FOLDER, files
from scripts.wire_types.typescript import text, whole


def test_the_generated_files_are_those_of_the_messages() -> None:
    wanted = files()
    found = {path: path.read_text("utf-8") for path in FOLDER.glob("*")}
    assert found == wanted, "run `python -m scripts.wire_types.command`"


def test_limits_are_those_of_python() -> None:
    assert whole({"ge": 0, "lt": 32}) == "fields.whole(0, 31)"
    assert whole({"ge": 1, "le": 2**53 - 1}) == "fields.whole(1)"
    # JavaScript's $ is Python's \Z.
    assert (
        text({"max_length": 9, "pattern": r"^wss?://x\Z"})
        == r"fields.text({ max: 9, pattern: /^wss?:\/\/x$/ })"
    )
