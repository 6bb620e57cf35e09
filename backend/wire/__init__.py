"""Messages between server and participants, and their one codec."""
