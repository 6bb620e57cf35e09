"""Measures Byzantine meshes of real processes: a server, peers with TensorFlow, and pages of browsers."""
