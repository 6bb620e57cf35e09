"""Updates become the next model version: means, checks, server optimizers, asynchronous blending.

Pure functions on flat vectors; who is asked for an update is decided in `protocols`.
"""
