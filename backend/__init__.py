"""Minga's backend: the server that coordinates training and the headless peer that joins it."""
