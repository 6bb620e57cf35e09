"""Computes what an owner reviews before a launch: checklist, costs, protection, differences.

Returns sentences and figures; nothing in this package changes a draft.
"""
