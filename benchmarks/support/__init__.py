"""Shared parts of several benchmarks: tasks, servers, clients, baselines and plots."""
