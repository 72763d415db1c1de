"""Schema: the tables of the store's file, and the check that a file has them.

In: a connection. Out: a file with tables, or the reason why it is not a store of smkc.
"""

import sqlite3

from smkc.serve.store.errors import StoreError

APPLICATION = 0x736D6B63  # "smkc" in ASCII, stored as SQLite's application_id
VERSION = 1

# Text from outside (names, entities, notes) is stored as bytes: a Python str may contain lone
# surrogates, which SQLite's TEXT cannot.
#
# rows.id is lane * 2**40 + number: the rows of a lane are adjacent and need no index by number.
_TABLES = """
CREATE TABLE about (version INTEGER NOT NULL);
CREATE TABLE lanes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, watch TEXT NOT NULL, entity BLOB NOT NULL,
    n_rows INTEGER NOT NULL, last_time INTEGER, needed_row INTEGER, UNIQUE (watch, entity));
CREATE TABLE names (
    lane INTEGER NOT NULL, code INTEGER NOT NULL, name BLOB NOT NULL, last_row INTEGER NOT NULL,
    PRIMARY KEY (lane, code)) WITHOUT ROWID;
CREATE UNIQUE INDEX names_by_name ON names (lane, name);
CREATE TABLE rows (
    id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, time INTEGER NOT NULL, n INTEGER NOT NULL,
    content BLOB NOT NULL);
CREATE UNIQUE INDEX rows_by_time ON rows (lane, time);
CREATE TABLE scores (
    lane INTEGER NOT NULL, time INTEGER NOT NULL, number INTEGER NOT NULL, score REAL,
    p_value REAL, anomaly REAL, cardinality INTEGER NOT NULL, appeared INTEGER NOT NULL,
    vanished INTEGER NOT NULL, evidences BLOB NOT NULL, PRIMARY KEY (lane, time)) WITHOUT ROWID;
CREATE TABLE evidences (code INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE);
CREATE TABLE alerts (
    id TEXT PRIMARY KEY, lane INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
    is_open INTEGER NOT NULL, content TEXT NOT NULL, acknowledged_by BLOB, acknowledged_at INTEGER,
    note BLOB, feedback BLOB) WITHOUT ROWID;
CREATE INDEX alerts_by_start ON alerts (start, id);
CREATE INDEX alerts_by_lane ON alerts (lane, start);
CREATE TABLE events (
    lane INTEGER NOT NULL, number INTEGER NOT NULL, at_row INTEGER NOT NULL, kind TEXT NOT NULL,
    content TEXT NOT NULL, PRIMARY KEY (lane, number)) WITHOUT ROWID;
CREATE TABLE inbox (id INTEGER PRIMARY KEY AUTOINCREMENT, watch TEXT NOT NULL, body BLOB NOT NULL);
CREATE INDEX inbox_by_watch ON inbox (watch, id);
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, receiver BLOB NOT NULL,
    about BLOB NOT NULL, key BLOB NOT NULL UNIQUE, content TEXT, created INTEGER NOT NULL,
    due INTEGER NOT NULL, is_waiting INTEGER NOT NULL);
CREATE INDEX outbox_waiting ON outbox (is_waiting, due, id);
CREATE INDEX outbox_by_subject ON outbox (about, receiver, id) WHERE is_waiting = 1;
CREATE INDEX outbox_by_age ON outbox (created);
"""


def create(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty file, in one transaction."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # must come before the first table
    connection.executescript(
        f"BEGIN; {_TABLES} INSERT INTO about VALUES ({VERSION}); "
        f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT"
    )


def require_ours(connection: sqlite3.Connection, path: object) -> None:
    """Raise StoreError unless the file has the tables of smkc in a version that is supported."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = _described(connection)
    noted = None
    if any(name == "about" for name, _ in tables):
        noted = connection.execute("SELECT max(version) FROM about").fetchone()[0]
    if application != APPLICATION or version != noted or version < 1:
        raise StoreError(f"{path} is not a store of smkc, or is damaged", is_damaged=True)
    if version > VERSION:
        raise StoreError(
            f"{path} was written by a newer smkc (its version is {version}, this one reads up to "
            f"{VERSION}); upgrade smkc, or give another folder"
        )
    if tables != _expected():
        raise StoreError(f"{path} is damaged: its tables are not those of smkc", is_damaged=True)


def _described(connection: sqlite3.Connection) -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = connection.execute(
        "SELECT name, sql FROM sqlite_schema ORDER BY name"
    ).fetchall()
    return [(name, sql) for name, sql in found if not str(name).startswith("sqlite_stat")]


def _expected() -> list[tuple[str, str | None]]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        create(connection)
        return _described(connection)
    finally:
        connection.close()
