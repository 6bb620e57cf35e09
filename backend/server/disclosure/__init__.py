"""What a server, other participants and readers of the model learn of who takes part, in sentences.

One scheme a file. Pages, model cards and drafts show these sentences.
"""
