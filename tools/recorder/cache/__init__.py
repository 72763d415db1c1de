"""The cache tier: a Redis cluster whose nodes are replaced one by one, under a seasonal load.

In: reads and writes of client replicas. Out: values, or misses that cost a slow reload.
"""
