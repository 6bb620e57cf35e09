"""What attackers' tests share: servers with a task to attack."""
