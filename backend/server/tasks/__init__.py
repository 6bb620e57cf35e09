"""Loads and checks tasks from their folders, and formats them for pages.

Running a task belongs to hosting/.
"""
