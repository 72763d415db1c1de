"""smkc finds anomalies in telemetry whose variables come and go."""

__version__ = "0.1.0"
