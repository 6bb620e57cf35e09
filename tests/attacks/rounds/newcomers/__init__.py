"""New names in rounds, which cost their owner nothing."""
