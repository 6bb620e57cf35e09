"""What a task asks of this peer before it may join.

Only what precedes a connection lives here; sessions call it before each one.
"""
