"""Asynchronous work units: who trains which shard, and whether it counts (decision 0048)."""
