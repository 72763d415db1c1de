"""The cache tier: a Redis cluster whose nodes are replaced one by one, under a seasonal load.

In: reads and writes of client replicas. Out: values, or misses, after which a client reloads.
"""
