"""`/api/drafts`: what owners do with tasks before they are launched.

Thin handlers over `server.drafts`.
"""
