"""What a server takes from the owners of tasks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DraftLimits:
    """Each is a setting of the server; docs/reference/settings.md gives the reason of every default."""

    max_drafts: int = 20
    max_model_mib: int = 512
    max_data_mib: int = 2048
    max_owner_mib: int = 8192
    min_free_mib: int = 1024
    draft_days: int = 90
    upload_days: int = 7
