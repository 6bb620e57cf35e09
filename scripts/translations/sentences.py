"""Collects the English sentences that are translated: of templates, of the server, and of scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from babel.messages.extract import extract_from_file

from scripts.translations.script_reader import marked_sentences

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "webapp/templates"
SERVER = ("*.py", "datasets/**/*.py", "server/**/*.py", "web/**/*.py")
SCRIPTS = ROOT / "webapp/static/src"
KEYWORDS = {"_": None, "later": None, "gettext": None, "ngettext": (1, 2)}
# As the pages have it.
OPTIONS = {"trimmed": "true"}


@dataclass(frozen=True)
class Sentence:
    """English text with its plural, which is empty if it has none, and its place."""

    text: str
    plural: str
    path: Path
    line: int


def sentences() -> list[Sentence]:
    """Returns every sentence that is looked up."""
    python = (path for pattern in SERVER for path in (ROOT / "backend").glob(pattern))
    return [
        *_extracted("jinja2.ext:babel_extract", TEMPLATES.rglob("*.html")),
        *_extracted("python", python),
        *_marked(SCRIPTS.rglob("*.ts")),
    ]


def _extracted(method: str, paths: Iterable[Path]) -> Iterator[Sentence]:
    for path in sorted(paths):
        for line, message, _, _ in extract_from_file(method, path, KEYWORDS, options=OPTIONS):
            text, plural = (message, "") if isinstance(message, str) else message[:2]
            yield Sentence(text, plural, path, line)


def _marked(paths: Iterable[Path]) -> Iterator[Sentence]:
    for path in sorted(paths):
        for line, english in marked_sentences(path.read_text(encoding="utf-8")):
            yield Sentence(english[0], "".join(english[1:]), path, line)
