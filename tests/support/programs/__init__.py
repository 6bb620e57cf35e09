"""Real processes of this repository's programs, forked from servers that imported what they need."""
