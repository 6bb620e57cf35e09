"""Cases of single ops, a module for each family."""
