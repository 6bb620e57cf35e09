"""The reference of attacks shows the table of the code."""

from __future__ import annotations

from pathlib import Path

from backend.lab.attacks.table import ATTACK_SPECS, DATA_ATTACKS, UPDATE_ATTACKS

PAGE = (Path(__file__).parents[3] / "docs/reference/attacks.md").read_text("utf-8")


def update_row(name: str) -> str:
    spec = ATTACK_SPECS[name]
    trains_on = f"`{spec.trains_on}`" if spec.trains_on else "-"
    sees = "yes" if spec.sees_honest else "no"
    return f"| {' | '.join((f'`{name}`', spec.definition, spec.knows, sees, trains_on, spec.source))} |"


def data_row(name: str) -> str:
    spec = ATTACK_SPECS[name]
    backdoor = "yes" if spec.backdoor else "no"
    return f"| {' | '.join((f'`{name}`', spec.definition, spec.knows, backdoor, spec.source))} |"


def test_every_attack_has_its_row_in_order() -> None:
    updates, data = PAGE.split("## On data")
    for page, rows in (
        (updates, [update_row(name) for name in UPDATE_ATTACKS]),
        (data, [data_row(name) for name in DATA_ATTACKS]),
    ):
        assert [line for line in page.splitlines() if line.startswith("| `")] == rows


def test_every_attack_is_described_and_trains_on_one_that_exists() -> None:
    assert set(ATTACK_SPECS) == {*UPDATE_ATTACKS, *DATA_ATTACKS}
    assert {spec.trains_on for spec in ATTACK_SPECS.values()} <= {None, *DATA_ATTACKS}
