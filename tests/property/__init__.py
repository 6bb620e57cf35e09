"""What holds whatever happens: seeded schedules, machines that Hypothesis drives, and bad input."""
