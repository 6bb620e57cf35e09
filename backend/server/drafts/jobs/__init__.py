"""Long work on drafts: the queue, and what each kind of job does.

Jobs run strangers' files in `server.sandbox` only.
"""
