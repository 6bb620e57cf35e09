"""Manages drafts: tasks that owners prepare before their launch (docs/reference/drafts.md)."""
