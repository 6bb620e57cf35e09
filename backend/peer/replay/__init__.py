"""Trains a work unit again by the browsers' worker in Node.js, and compares traces of it.

Here lives what computes and reads files; the bisection itself is in backend/protocols/replay.
"""
