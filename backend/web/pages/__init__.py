"""Renders the pages for people from webapp/templates.

Pages show what the API returns; they make no decisions.
"""
