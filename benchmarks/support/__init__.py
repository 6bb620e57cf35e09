"""What several benchmarks share: tasks, servers, clients, baselines and drawings."""
