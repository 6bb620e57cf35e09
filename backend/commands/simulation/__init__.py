"""The simulations of `minga simulate`, one for each scheme, with their own options and reports."""
