"""What a peer tells its operator."""

from __future__ import annotations

import io
import json

from backend.peer.session.progress import JsonLines
from backend.peer.session.server_messages import LinkNews, tell_news
from backend.wire.messages import Accepted


def test_a_link_is_news_when_it_comes_goes_or_takes_another_way() -> None:
    lines = io.StringIO()
    news = LinkNews(JsonLines(lines))
    news.up("ana", "relay")
    news.up("ana", "relay")
    news.up("bo", "webrtc")
    news.up("ana", "webrtc")
    news.down("ana", "nothing came for 30 seconds")
    news.up("ana", "webrtc")
    assert [json.loads(line)["message"] for line in lines.getvalue().splitlines()] == [
        "Linked with ana through the server, sealed.",
        "Linked with bo by webrtc.",
        "Linked with ana by webrtc.",
        "The link to ana is gone: nothing came for 30 seconds.",
        "Linked with ana by webrtc.",
    ]


def test_an_update_that_does_not_count_is_told_as_such() -> None:
    lines = io.StringIO()
    reason = "Your updates do not count at present: in earlier rounds they repeated earlier ones."
    tell_news(JsonLines(lines), Accepted(round=7, examples=9, counted=False, reason=reason), 0)
    told = json.loads(lines.getvalue())
    assert (told["event"], told["message"], told["round"]) == ("uncounted", f"Round 7: {reason}", 7)
