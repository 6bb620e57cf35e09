"""What attackers would gain over several rounds of a task with [security.reputation]."""
