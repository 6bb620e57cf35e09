"""Finds phrases of the old vocabulary in pages, translations, docs, docstrings and messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from scripts.layout.culprit import Culprit

READ = ("backend/", "benchmarks/", "converter/", "docs/", "models/", "webapp/", "README.md")


def find_old_phrases(texts: Mapping[str, str], phrases: Mapping[str, str]) -> Iterator[Culprit]:
    """Yields a culprit for each place of a phrase, in any case, also where a line ends within it."""
    if not phrases:
        return
    # Lines of a docstring, a comment or a catalogue may begin with marks.
    gap = r"(?:\s|[#/*\"])+"
    patterns = {phrase: gap.join(map(re.escape, phrase.split())) for phrase in phrases}
    names = {f"p{number}": phrase for number, phrase in enumerate(phrases)}
    parts = (f"(?P<{name}>{patterns[phrase]})" for name, phrase in names.items())
    pattern = re.compile(rf"\b(?:{'|'.join(parts)})\b", re.IGNORECASE)
    for path, text in texts.items():
        if path.startswith(READ):
            for match in pattern.finditer(text):
                phrase = names[match.lastgroup or ""]
                line = text.count("\n", 0, match.start()) + 1
                yield Culprit(f"“{phrase}” ({phrases[phrase]})", path, line)
