"""Simulates a task on virtual time: real host, machines, codec and stores, simulated clients and network."""
