"""Model files of every format, honest and hostile."""
