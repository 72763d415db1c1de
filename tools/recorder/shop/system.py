"""The shop as a system: nginx, PostgreSQL, Redis, application replicas, customers, and faults.

In: actions of a schedule. Out: running software with routine changes and faults.
"""

import os
import signal
import threading
from contextlib import suppress
from typing import Any, ClassVar

from tools.recorder.faults import CommonFaults
from tools.recorder.members import Member
from tools.recorder.shop.app import N_CUSTOMERS, N_ITEMS
from tools.recorder.shop.kinds import KINDS, ROUTINES
from tools.recorder.shop.postgres import Postgres, program
from tools.recorder.shop.variables import QUERIES
from tools.recorder.system import Stop
from tools.stack.processes import free_port
from tools.stack.prometheus import wait_for
from tools.stack.redis import Connection

__all__ = ["Shop"]

REPLICAS = 3
REQUESTS_PER_SECOND = 24.0
PASSWORD = "shop"
MAX_CONNECTIONS = 50
REDIS_MEMORY = "12mb"

TABLES = f"""\
CREATE TABLE items (item int PRIMARY KEY, description text);
INSERT INTO items SELECT n, repeat(md5(n::text), 30) FROM generate_series(1, {N_ITEMS}) n;
CREATE TABLE accounts (customer int PRIMARY KEY, balance bigint);
INSERT INTO accounts SELECT n, 0 FROM generate_series(1, {N_CUSTOMERS}) n;
CREATE TABLE orders (number bigserial, customer int, item int, price int,
  placed timestamptz DEFAULT now());
INSERT INTO orders (customer, item, price)
  SELECT 1 + n % {N_CUSTOMERS}, 1 + n % {N_ITEMS}, n % 99 FROM generate_series(1, 250000) n;
CREATE INDEX orders_customer ON orders (customer);
GRANT ALL ON ALL TABLES IN SCHEMA public TO shop;
GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO shop"""

NGINX = """\
user nobody nogroup;
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 512; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  include {folder}/upstream.conf;
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://app; proxy_connect_timeout 1s; proxy_read_timeout 3s; }}
    location = /status {{ stub_status; }}
  }}
}}
"""


class Shop(CommonFaults):
    """nginx, application replicas, PostgreSQL, Redis and their exporters."""

    name = "shop"
    what = (
        "nginx in front of Python application replicas that are rolled out and scaled under new "
        "names, PostgreSQL with short transactions, and Redis as a cache"
    )
    kinds = KINDS
    routines = ROUTINES
    own_queries = QUERIES
    own_programs: ClassVar[dict[str, str]] = {
        "nginx": "nginx-light",
        "psql": "postgresql",
        "redis-server": "redis-server",
        "prometheus-nginx-exporter": "prometheus-nginx-exporter",
        "prometheus-postgres-exporter": "prometheus-postgres-exporter",
        "prometheus-redis-exporter": "prometheus-redis-exporter",
    }

    def start_services(self) -> None:
        """Start PostgreSQL, Redis, the application, nginx and then the customers."""
        self.port = {name: free_port() for name in ("nginx", "postgres", "redis")}
        self._start_postgres()
        self._start_redis()
        for _ in range(REPLICAS):
            self.start_replica("app")
        self._start_nginx()
        self.members.start_own(
            "customers",
            "customers",
            target=self.port["nginx"],
            rate=REQUESTS_PER_SECOND,
            seed=self.seed,
        )

    def start_replica(self, service: str) -> Member:
        """Start a replica of the application."""
        return self.members.start_own(
            "app",
            service,
            postgres=self.port["postgres"],
            redis=self.port["redis"],
            password=PASSWORD,
            slow=self.slow_factor.get(service, 1.0),
        )

    def ports(self, service: str) -> list[int]:
        """Return the port that a service answers on."""
        return [self.port[service]]

    # ------------------------------------------------------------------ parts

    def _start_postgres(self) -> None:
        folder, port = self.folder / "postgres", self.port["postgres"]
        folder.mkdir()
        self.run("chown", "postgres:postgres", str(folder))
        data = str(folder / "data")
        self.run(
            *self.as_user("postgres", program("initdb"), "-D", data),
            *("-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"),
        )
        rules = (
            "local all postgres trust\n"
            "host all postgres 127.0.0.1/32 trust\n"
            "host shop shop 127.0.0.1/32 password\n"
        )
        (folder / "data" / "pg_hba.conf").write_text(rules, encoding="utf-8")
        settings = {
            "port": port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": folder,
            "max_connections": MAX_CONNECTIONS,
            "shared_buffers": "48MB",
            "log_min_messages": "fatal",
            "password_encryption": "md5",
        }
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = self.as_user("postgres", program("postgres"), "-D", data, *words)
        self.members.start("postgres", command, role="server", port=port)
        self.retried(lambda: self.sql("SELECT 1", database="postgres"))
        self.sql(f"CREATE ROLE shop LOGIN PASSWORD '{PASSWORD}'", database="postgres")
        # Without this limit, every request that times out would leave a waiting connection behind.
        self.sql("ALTER ROLE shop SET lock_timeout = '2s'", database="postgres")
        self.sql("CREATE DATABASE shop", database="postgres")
        self.sql(TABLES)
        self.sql("VACUUM ANALYZE")
        exporter = free_port()
        source = f"postgresql://postgres@127.0.0.1:{port}/shop?sslmode=disable"
        self.members.start(
            "postgres",
            ["prometheus-postgres-exporter", f"--web.listen-address=127.0.0.1:{exporter}"],
            role="exporter",
            scraped_at=exporter,
            environment={**os.environ, "DATA_SOURCE_NAME": source},
        )

    def _start_redis(self) -> None:
        port, exporter = self.port["redis"], free_port()
        words = f"--port {port} --bind 127.0.0.1 --maxmemory {REDIS_MEMORY}".split()
        words += ["--maxmemory-policy", "allkeys-lru", "--save", "", "--dir", str(self.folder)]
        self.members.start("redis", ["redis-server", *words], role="server", port=port)
        self.members.start(
            "redis",
            [
                "prometheus-redis-exporter",
                f"-redis.addr=redis://127.0.0.1:{port}",
                f"-web.listen-address=127.0.0.1:{exporter}",
            ],
            role="exporter",
            scraped_at=exporter,
        )

    def _start_nginx(self) -> None:
        folder, port, exporter = self.folder / "nginx", self.port["nginx"], free_port()
        folder.mkdir()
        config = folder / "nginx.conf"
        config.write_text(NGINX.format(folder=folder, port=port), encoding="utf-8")
        self._write_upstream()
        self.members.start(
            "nginx", ["nginx", "-p", str(folder), "-c", str(config)], role="server", port=port
        )
        wait_for(f"http://127.0.0.1:{port}/status")
        self.members.changed = self._reload_nginx
        self.members.start(
            "nginx",
            [
                "prometheus-nginx-exporter",
                f"-web.listen-address=127.0.0.1:{exporter}",
                f"-nginx.scrape-uri=http://127.0.0.1:{port}/status",
            ],
            role="exporter",
            scraped_at=exporter,
        )

    def _write_upstream(self) -> None:
        servers = "".join(
            f"server 127.0.0.1:{one.port} max_fails=1 fail_timeout=2s; "
            for one in self.members.of("app")
        )
        path = self.folder / "nginx" / "upstream.conf"
        path.write_text(f"upstream app {{ least_conn; {servers}}}\n", encoding="utf-8")

    def _reload_nginx(self) -> None:
        """Reload nginx if the list of replicas has changed."""
        before = (self.folder / "nginx" / "upstream.conf").read_text(encoding="utf-8")
        self._write_upstream()
        if (self.folder / "nginx" / "upstream.conf").read_text(encoding="utf-8") != before:
            self.members.find("nginx", "server").process.send_signal(signal.SIGHUP)

    def sql(self, text: str, database: str = "shop", timeout: float = 60.0) -> None:
        """Run statements, separated by semicolons, as the owner of the database."""
        connection = Postgres(self.port["postgres"], "postgres", database, timeout=timeout)
        try:
            for statement in text.split(";"):
                connection.ask(statement)
        finally:
            connection.close()

    # ------------------------------------------------------------------ routine

    def do_report(self, about: dict[str, Any]) -> None:
        """Run a query that sums up the orders, as a nightly report does."""
        query = (
            f"SELECT customer, sum(price) FROM orders WHERE item % {about['days']} = 0 GROUP BY 1"
        )

        def sum_up() -> None:
            with suppress(OSError):
                for _ in range(4):
                    self.sql(query)

        threading.Thread(target=sum_up, daemon=True).start()
        self.timeline.log("report", seconds=4, service="report", pods=[])

    # ------------------------------------------------------------------ faults

    def begin_missing_index(self, about: dict[str, Any]) -> Stop:
        """Drop the index that the query for a customer's history needs."""
        self.sql("DROP INDEX orders_customer")
        return lambda: self.sql("CREATE INDEX orders_customer ON orders (customer)")

    def begin_lock_held(self, about: dict[str, Any]) -> Stop:
        """Hold a lock on the table of orders."""
        connection = Postgres(self.port["postgres"], "postgres", "shop", timeout=30.0)
        connection.ask("BEGIN")
        connection.ask("LOCK TABLE orders IN EXCLUSIVE MODE")
        return connection.close

    def begin_connections_exhausted(self, about: dict[str, Any]) -> Stop:
        """Take every free connection of the database."""
        held: list[Postgres] = []
        stopping = threading.Event()

        def take() -> None:
            while not stopping.wait(0.05):
                with suppress(OSError):
                    held.append(Postgres(self.port["postgres"], "shop", "shop", PASSWORD))
            for one in held:
                one.close()

        thread = threading.Thread(target=take, daemon=True)
        thread.start()

        def stop() -> None:
            stopping.set()
            thread.join()

        return stop

    def begin_password_wrong(self, about: dict[str, Any]) -> Stop:
        """Change the application's password in the database."""
        self.sql("ALTER ROLE shop PASSWORD 'another'")
        return lambda: self.sql(f"ALTER ROLE shop PASSWORD '{PASSWORD}'")

    def begin_cache_flushed(self, about: dict[str, Any]) -> Stop:
        """Empty the cache twice per second."""
        is_on = [True]

        def flush() -> None:
            if is_on:
                connection = Connection(self.port["redis"])
                connection.ask(("FLUSHALL",))
                connection.close()
                self.timeline.soon(0.5, flush)

        flush()
        return is_on.clear

    def begin_retry_storm(self, about: dict[str, Any]) -> Stop:
        """Make the customers retry after a short timeout."""
        (one,) = self.members.of("customers")
        self.members.control(one, retries=about["retries"], patience=about["patience"])
        return lambda: self.members.control(one, retries=0, patience=3.0)
