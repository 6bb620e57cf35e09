"""A peer's session: identity, trust, addresses, messages, preemption."""
