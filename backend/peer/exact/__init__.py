"""Trains with the same bits as browsers do: their training worker, in Node.js.

Here live the process of the worker and its messages; no TensorFlow.
"""
