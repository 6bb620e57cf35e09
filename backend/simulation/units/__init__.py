"""Simulates tasks of work units on virtual time: real host, scheduler and recipes, simulated clients.

What only rounds need lies one folder up, beside what both share (clock, network, population).
"""
