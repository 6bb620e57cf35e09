"""What a peer tells its operator."""

from __future__ import annotations

import io
import json

from backend.peer.session.progress import JsonLines
from backend.peer.session.server_messages import LinkNews


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
