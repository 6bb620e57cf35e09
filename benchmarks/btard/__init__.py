"""Trains real data in Byzantine meshes: real machines in one process and virtual time, while liars attack."""
