"""The shop: nginx in front of application replicas, with PostgreSQL and Redis behind them.

In: requests of customers. Out: pages from the cache or the database, orders as transactions.
"""
