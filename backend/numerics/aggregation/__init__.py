"""Turns updates into the next model version: means, checks, server optimizers, asynchronous blending.

Pure functions on flat vectors; `protocols` decides which client is asked for an update.
"""
