"""Pages for people, rendered from webapp/templates.

They show what the API tells; nothing is decided here.
"""
