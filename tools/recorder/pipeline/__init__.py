"""The pipeline: RabbitMQ between producers and consumers, and a small file system for results.

In: messages of the producers. Out: results that the consumers write and that are later deleted.
"""
