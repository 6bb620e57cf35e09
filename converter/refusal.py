"""Refusal, the converter's only exception: the model or the task file cannot be used."""

from __future__ import annotations

import unicodedata
from typing import Literal

Code = Literal["bad-task", "bad-bundle"]
# Control characters, invisible ones that change the direction of text, halves of characters, line ends.
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


class Refusal(Exception):  # noqa: N818 - an answer to the owner, not an error in the program
    """Says what is wrong and how to correct it; `code` names the file at fault.

    Names come from the model's file: characters that a terminal obeys or hides are escaped.
    """

    def __init__(self, message: str, code: Code = "bad-bundle") -> None:
        super().__init__(escaped(message))
        self.code: Code = code


def escaped(text: str) -> str:
    """Returns the text with its invisible characters as escapes, such as `\\x1b`."""
    return "".join(
        one.encode("unicode_escape", "surrogatepass").decode("ascii")
        if unicodedata.category(one) in _INVISIBLE
        else one
        for one in text
    )
