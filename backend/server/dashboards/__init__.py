"""What a task's owner watches."""
