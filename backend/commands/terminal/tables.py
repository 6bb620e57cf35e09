"""Makes the tables of all commands: no lines, dim headings, two spaces between columns."""

from __future__ import annotations

from rich.padding import Padding
from rich.table import Table


def listing(*headings: str) -> Table:
    """Returns a table with these headings; the cells below one that begins with `>` end at the right."""
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(
            heading.removeprefix(">"),
            justify="right" if heading.startswith(">") else "left",
            # A row's own name stays in one piece.
            no_wrap=not heading,
        )
    return table


def facts() -> Table:
    """Returns a table without headings: a name, which is never broken, and what belongs to it."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    return table


def indented(table: Table, above: int = 0, below: int = 0) -> Padding:
    """Returns a table two columns to the right, with empty lines above and below."""
    return Padding(table, (above, 2, below, 2))
