"""How commands meet their users: completion and progress."""
