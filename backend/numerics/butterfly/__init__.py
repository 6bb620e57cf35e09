"""ButterflyClip: robust means of parts that anybody can recompute to the bit, and what checks them.

After "Secure Distributed Training at Scale" (Gorbunov, Borzunov, Diskin and Ryabinin 2022, BTARD).
"""
