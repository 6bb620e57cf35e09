"""State machines without I/O: time and randomness are arguments."""
