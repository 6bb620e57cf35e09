"""Pages of accounts in a real browser."""
