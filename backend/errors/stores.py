"""Defines the errors of stores: records or files that could not be read or written."""

from __future__ import annotations

from backend.errors.base import MingaError


class StoreError(MingaError):
    """Records or files could not be read or written (disk full, read-only, corrupted)."""

    code = "store"
    http_status = 503


class FinalStoreError(StoreError):
    """The store answered, and no retry can succeed."""


class RecordedBeforeError(FinalStoreError):
    """The round or version is recorded already."""


class TakenOverError(FinalStoreError):
    """Another server began with the parameters of this task, which this one may not write any more."""
