"""Measures Byzantine meshes of real processes: a server, peers and pages."""
