"""Reads a task file's text into its typed form; errors name the line and a correction.

The parent package defines the tables.
"""
