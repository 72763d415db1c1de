"""Config: the configuration of the service: watches, sources, receivers and limits.

In: a TOML file, a mapping of the same shape, or a URL and a query. Out: frozen dataclasses with
validated values; an error names the file, the table, the key, the value and the remedy.

They never contain secrets, only the name of an environment variable or the path of a file; the
secret is read when it is used.
"""

from smkc.serve.config.durations import duration, show_duration
from smkc.serve.config.maintenance import MaintenanceConfig
from smkc.serve.config.peers import AlertmanagerConfig, GrafanaConfig, PeerConfig, WebhookConfig
from smkc.serve.config.reading import config_of, read_config, simple_config
from smkc.serve.config.service import TOKENS_VARIABLE, Config, Limits, Listen, Retention
from smkc.serve.config.sharding import Shard, read_shard
from smkc.serve.config.watch import LEAST_HISTORY, WatchConfig

__all__ = [
    "LEAST_HISTORY",
    "TOKENS_VARIABLE",
    "AlertmanagerConfig",
    "Config",
    "GrafanaConfig",
    "Limits",
    "Listen",
    "MaintenanceConfig",
    "PeerConfig",
    "Retention",
    "Shard",
    "WatchConfig",
    "WebhookConfig",
    "config_of",
    "duration",
    "read_config",
    "read_shard",
    "show_duration",
    "simple_config",
]
