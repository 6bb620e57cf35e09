"""Conversations with machines of protocols, and the simulated worlds that play schedules with them."""
