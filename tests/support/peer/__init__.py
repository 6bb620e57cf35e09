"""Peers in processes of their own or on real links, and what writes down what they do."""
