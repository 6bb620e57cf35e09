"""Numbers in addresses."""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor


class WholeNumber(Convertor[int]):
    """Of 18 digits at most, which records can hold; Starlette's own fails at thousands of digits."""

    regex = "[0-9]{1,18}"

    def convert(self, value: str) -> int:
        """Starlette's own."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Starlette's own."""
        return str(value)


def bound_numbers() -> None:
    """Has `{x:int}` in the addresses of routes that are made from now on mean such a number."""
    register_url_convertor("int", WholeNumber())
