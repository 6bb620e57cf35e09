"""A peer's part in a Byzantine mesh: it hosts the rounds' machines, judges work, and keeps states.

Protocol and decisions live in protocols/mesh/byzantine, which has no I/O; links and weights in peer/mesh.
"""
