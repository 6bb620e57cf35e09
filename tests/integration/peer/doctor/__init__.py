"""`minga peer doctor` on networks of every kind."""
