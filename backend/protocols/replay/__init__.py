"""Finds the step and the op at which two trainings of the same work part, and which of the two is wrong.

Here live traces and the bisection, a machine without I/O; what computes lives in backend/peer/replay.
"""
