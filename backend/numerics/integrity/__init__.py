"""Scores signs of a backdoor in a model version: small triggers, class drift, clusters of updates. Pure.

The measurements come from `converter/integrity`, which computes with TensorFlow in its own process.
"""
