"""Measures a traced step for the manifest: layers, operations and memory."""
