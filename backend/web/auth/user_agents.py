"""Names the browser and system of a User-Agent header, for people's lists of sessions."""

from __future__ import annotations

# The first mark found in a header decides, because every browser also names several others.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def browser_of(agent: str) -> tuple[str | None, str | None]:
    """Returns browser and system; None where the header names none, as with programs."""
    return _first(_BROWSERS, agent), _first(_SYSTEMS, agent)


def _first(marks: tuple[tuple[str, str], ...], agent: str) -> str | None:
    return next((name for mark, name in marks if mark in agent), None)
