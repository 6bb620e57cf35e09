"""Drives protocol machines in conversations, and plays schedules against them in simulated worlds."""
