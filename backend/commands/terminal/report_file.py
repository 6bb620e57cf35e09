"""Writes a lab's report to the file that a person named."""

from __future__ import annotations

from pathlib import Path

from backend.errors import SettingsError


def check_folder(report: Path) -> None:
    """Raises SettingsError before the work if the folder of the file `report` is missing."""
    if not report.absolute().parent.is_dir():
        raise SettingsError(f"There is no folder {report.parent} for the report; create it first.")


def write_report(report: Path, page: str) -> None:
    """Writes `page` to the file. Raises SettingsError if it cannot be written."""
    try:
        report.write_text(page, "utf-8")
    except OSError as error:
        raise SettingsError(f"The report cannot be written: {error}. Give another --report.") from error
