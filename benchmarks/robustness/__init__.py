"""Trains a task under every attack with every rule, and measures what accuracy and backdoors remain."""
