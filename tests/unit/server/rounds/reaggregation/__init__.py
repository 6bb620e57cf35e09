"""Another rule for kept updates: does it fit, and what does it make of a round?"""
