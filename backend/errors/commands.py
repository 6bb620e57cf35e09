"""Defines the errors of what owners and operators bring: task files, bundles, data, settings, pages."""

from __future__ import annotations

from backend.errors.base import MingaError


class TaskFileError(MingaError):
    """The task.toml is invalid; the text names the field and what to write instead."""

    code = "bad-task"
    http_status = 400


class BundleError(MingaError):
    """The bundle is damaged, incomplete, or uses an op outside the allow-list."""

    code = "bad-bundle"
    http_status = 400


class DataError(MingaError):
    """The data do not match their declaration; the text names file, row or column and what to do."""

    code = "bad-data"
    http_status = 400


class SettingsError(MingaError):
    """A flag or environment variable is invalid; the text says what to give instead."""

    code = "bad-settings"
    http_status = 500


class SiteError(MingaError):
    """The documentation's pages cannot be built; the text says which page is wrong."""

    code = "bad-site"


class DemoError(MingaError):
    """A process of the demonstration did not start, or exited by itself."""

    code = "demo"
