"""What a task has come to, for who takes it away: its versions in other formats, and its figures."""
