"""Confines the process that reads strangers' files: limits, Landlock, seccomp."""
