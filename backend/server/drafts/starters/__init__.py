"""Starter models of drafts: which there are, which fit the data, and how they are chosen and built.

Their layers are built in a sandbox by `converter/starter_models`; nothing here imports Keras.
"""
