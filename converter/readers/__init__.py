"""Reads untrusted model files: one small module per format, each returning a `Source`."""
