"""Browsers, told by the header that they send."""

from __future__ import annotations

import pytest

from backend.web.pages.template_words import ENGLISH

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("agent", "shown"),
    [
        (f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} Chrome/130.0.0.0 Safari/537.36", "Chrome on Linux"),
        (f"Mozilla/5.0 (Windows NT 10.0) {WEBKIT} Chrome/130.0.0.0 Safari/537.36 Edg/130", "Edge on Windows"),
        ("Mozilla/5.0 (Android 14; Mobile; rv:132.0) Gecko/132.0 Firefox/132.0", "Firefox on Android"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1",
            "Safari on iPhone",
        ),
        ("Python-urllib/3.11", "Python-urllib/3.11"),
        ("Firefox/132.0", "Firefox"),
        ("", "A program"),
    ],
)
def test_a_header_is_shown_as_a_browser_on_a_system(agent: str, shown: str) -> None:
    assert ENGLISH.browser(agent) == shown
