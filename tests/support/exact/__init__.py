"""Trains the same work in every engine of the class `exact`, and keeps the hashes that all must come to.

Here live the engines (browsers, Node.js, Node.js on an emulated ARM64), golden bundles, and what repeats
the plans of a server; no test.
"""
