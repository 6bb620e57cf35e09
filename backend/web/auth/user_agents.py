"""Which browser on which system a User-Agent header speaks of, for people who look through their sessions."""

from __future__ import annotations

# The first mark that stands in a header counts: all of them claim to be several others as well.
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
    """Browser and system; None where the header does not tell, as those of programs."""
    return _first(_BROWSERS, agent), _first(_SYSTEMS, agent)


def _first(marks: tuple[tuple[str, str], ...], agent: str) -> str | None:
    return next((name for mark, name in marks if mark in agent), None)
