"""The one exception of the converter: a model or task file that cannot be used, said in a sentence."""

from __future__ import annotations

from typing import Literal

Code = Literal["bad-task", "bad-bundle"]


class Refusal(Exception):  # noqa: N818 - an answer to the owner, not a fault of ours
    """What is wrong and what to do about it. `code` says which of the two files is to blame."""

    def __init__(self, message: str, code: Code = "bad-bundle") -> None:
        super().__init__(message)
        self.code: Code = code
