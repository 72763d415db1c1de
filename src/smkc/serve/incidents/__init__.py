"""Incidents: alerts of several lanes that belong together, told as one.

In: alerts as they change, and the dependencies that users configured. Out: incidents, each with a
timeline, the alert that is likely to blame, and one notification that is updated. Modules, in the
order of their work: ``names`` (what an alert has in common with others), ``grouping`` (which alerts
are one incident), ``story`` (timeline and blame), ``messages``, and ``keeping``, which does all of
it in the transaction that stores the alerts.
"""
