"""Converts numbers in URL paths, with a limit on their digits."""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor


class WholeNumber(Convertor[int]):
    """A number of at most 18 digits, which fits the records. Starlette's fails at thousands of digits."""

    regex = "[0-9]{1,18}"

    def convert(self, value: str) -> int:
        """See Convertor."""
        return int(value)

    def to_string(self, value: int) -> str:
        """See Convertor."""
        return str(value)


def bound_numbers() -> None:
    """Makes `{x:int}` use WholeNumber in the paths of all routes that are created later."""
    register_url_convertor("int", WholeNumber())
