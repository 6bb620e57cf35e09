"""Defines the limits on owners' drafts and tasks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DraftLimits:
    """Limits on drafts; each is a setting, whose default docs/reference/settings.md explains."""

    max_drafts: int = 20
    max_model_mib: int = 512
    max_data_mib: int = 2048
    max_owner_mib: int = 8192
    min_free_mib: int = 1024
    draft_days: int = 90
    upload_days: int = 7
