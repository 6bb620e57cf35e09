"""States what the server, other participants and readers of the model learn of volunteers.

Each scheme has a file. Pages, model cards and drafts show these sentences.
"""
