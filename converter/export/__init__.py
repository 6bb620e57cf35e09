"""Exports a version of a bundle's model in the formats that other programs read."""
