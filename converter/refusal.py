"""Refusal, the converter's only exception: the model or the task file cannot be used."""

from __future__ import annotations

from typing import Literal

Code = Literal["bad-task", "bad-bundle"]


class Refusal(Exception):  # noqa: N818 - an answer to the owner, not an error in the program
    """Says what is wrong and how to correct it; `code` names the file at fault."""

    def __init__(self, message: str, code: Code = "bad-bundle") -> None:
        super().__init__(message)
        self.code: Code = code
