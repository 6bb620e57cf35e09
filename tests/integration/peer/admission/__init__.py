"""What a peer does before a task admits it."""
