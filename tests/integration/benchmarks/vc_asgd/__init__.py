"""VC-ASGD's experiments run, resume and agree with the documentation."""
