"""A preemptible fleet beside a standard one: real servers and peers, killed by a trace and replaced.

`python -m benchmarks.fleet` runs it. Prices and costs are those of `minga cost`, traces those of `minga
simulate`; neither is repeated here.
"""
