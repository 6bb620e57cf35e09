"""The command of the attack lab: it reads arguments and prints; `lab.socket_lab` does the work."""
