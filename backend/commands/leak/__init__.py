"""The command of the leakage lab: it reads arguments and prints; `lab.leakage` does the work."""
