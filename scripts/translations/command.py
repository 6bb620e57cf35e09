"""Checks the translations of pages: `python -m scripts.translations.command`.

Prints each problem with its file and line. Exit code 1: there is one.
"""

from __future__ import annotations

import sys

from scripts.translations.checks import TranslationProblem, problems
from scripts.translations.sentences import ROOT, sentences

LOCALES = ROOT / "webapp/locales"


def all_problems() -> list[TranslationProblem]:
    """Returns the problems of all languages."""
    needed = sentences()
    return [problem for path in sorted(LOCALES.glob("*.po")) for problem in problems(path, needed)]


def main() -> int:
    """Prints the problems; returns 1 if there are any."""
    found = all_problems()
    for problem in found:
        print(f"{problem.path.relative_to(ROOT)}:{problem.line}: {problem.text}", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
