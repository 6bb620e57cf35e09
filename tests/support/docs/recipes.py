"""Follows a recipe of docs/contributing in a copy of the repository.

Each block of code belongs to the file that the line above it names: "Write `path`:" for a new file,
"Append to `path`:", or "In `path`:" for a `diff` without line numbers, whose hunks are divided by `@@`. The
commands of `sh` blocks are run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.timeouts import PATIENCE

ROOT = Path(__file__).parents[3]
_BLOCK = re.compile(r"((?:^[^\n]+\n)*)\n^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PLACE = re.compile(r"\b(In|Write|Append to)\s+`([^`]+)`:\n\Z")


class RecipeError(Exception):
    """A step of a recipe cannot be followed."""


@dataclass(frozen=True)
class RecipeStep:
    """A block of code. `act` is `In`, `Write`, `Append to`, or `Run` for commands, which have no path."""

    act: str
    path: str
    code: str


def recipe(page: str, title: str) -> list[RecipeStep]:
    """Returns the steps of the section `title` of a page. Raises RecipeError for a block without a place."""
    return list(_steps(_section((ROOT / page).read_text("utf-8"), title)))


def _section(text: str, title: str) -> str:
    """Returns the text below a heading, up to the next one; headings within blocks of code are none."""
    below = text.partition(f"\n## {title}\n")[2]
    parts = re.split(r"(^```\w*\n)", below, flags=re.MULTILINE)
    for number, part in enumerate(parts):
        # Fences are the odd parts; those between an opening and a closing one are code.
        if number % 4 == 0 and "\n## " in part:
            return "".join([*parts[:number], part.partition("\n## ")[0]])
    return below


def _steps(text: str) -> Iterator[RecipeStep]:
    for before, language, code in _BLOCK.findall(text):
        place = _PLACE.search(before)
        if language == "sh":
            yield RecipeStep("Run", "", code)
        elif place is None or (place[1] == "In") != (language == "diff"):
            raise RecipeError(f"The line above this block says not what to do with it:\n{before}{code}")
        else:
            yield RecipeStep(place[1], place[2], code)


def edit(text: str, diff: str) -> str:
    """Applies a diff. Raises RecipeError for a hunk whose old lines are not there exactly once."""
    for hunk in re.split(r"^@@\n", diff, flags=re.MULTILINE):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        new = "".join(line[1:] for line in lines if line[0] in " +")
        if len(re.findall(f"^(?={re.escape(old)})", text, re.MULTILINE)) != 1:
            raise RecipeError(f"These lines are not there exactly once:\n{old}")
        text = f"\n{text}".replace(f"\n{old}", f"\n{new}")[1:]
    return text


class Checkout:
    """A copy of the repository's own files, as a git repository, beside what was installed and built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = _git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, folder / name)
        # What tools keep there of this tree is not true of the copy.
        packages = folder / "node_modules"
        packages.mkdir()
        for package in (ROOT / "node_modules").iterdir():
            if package.name == ".bin" or not package.name.startswith("."):
                (packages / package.name).symlink_to(package)
        _git(folder, "init", "--quiet")

    def follow(self, steps: Sequence[RecipeStep]) -> None:
        """Takes all steps. Raises RecipeError where that is not possible."""
        for step in steps:
            path = self.folder / step.path
            if step.act == "Run":
                for command in step.code.splitlines():
                    self.run(*command.split())
            elif step.act == "In":
                path.write_text(edit(path.read_text("utf-8"), step.code), "utf-8")
            elif step.act == "Append to":
                path.write_text(f"{path.read_text('utf-8')}\n{step.code}", "utf-8")
            elif path.exists():
                raise RecipeError(f"{step.path} exists already.")
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(step.code, "utf-8")

    def run(self, *command: str) -> str:
        """Runs a command in the copy, and returns its output. Raises RecipeError if it fails."""
        program, *words = command
        if program == "python":
            program = sys.executable
        elif (beside := Path(sys.executable).with_name(program)).exists():
            program = str(beside)
        done = subprocess.run(
            [program, *words],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        if done.returncode:
            raise RecipeError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
        return done.stdout


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "safe.directory=*", "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
