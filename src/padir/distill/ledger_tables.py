"""Tables of the ledger of paid translations, as SQLite statements."""

_ADD = (
    "INSERT INTO sums VALUES (new.task, new.state, new.usd_per_million, new.characters)"
    " ON CONFLICT DO UPDATE SET characters = characters + excluded.characters"
)
_TAKE = (
    "UPDATE sums SET characters = characters - old.characters"
    " WHERE task = old.task AND state = old.state AND usd_per_million = old.usd_per_million"
)
STATEMENTS = (
    """CREATE TABLE tasks (
        id INTEGER PRIMARY KEY,
        provider TEXT NOT NULL, model TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
        UNIQUE (provider, model, source, target)
    )""",
    """CREATE TABLE requests (
        id INTEGER PRIMARY KEY,
        task INTEGER NOT NULL REFERENCES tasks,
        owner TEXT NOT NULL,
        sent REAL NOT NULL,
        characters INTEGER NOT NULL,
        usd_per_million REAL NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('sent', 'done', 'refused', 'doubt')),
        digests BLOB
    )""",
    "CREATE INDEX requests_by_time ON requests (sent)",
    """CREATE TABLE translations (
        task INTEGER NOT NULL REFERENCES tasks,
        digest BLOB NOT NULL,
        text TEXT NOT NULL,
        request INTEGER NOT NULL REFERENCES requests,
        PRIMARY KEY (task, digest)
    ) WITHOUT ROWID""",
    # An index and sums keep a claim quick however long the ledger is.
    "CREATE INDEX requests_in_flight ON requests (id) WHERE state = 'sent'",
    "CREATE TABLE sums (task INTEGER NOT NULL, state TEXT NOT NULL, usd_per_million REAL NOT NULL,"
    " characters INTEGER NOT NULL, PRIMARY KEY (task, state, usd_per_million)) WITHOUT ROWID",
    f"CREATE TRIGGER request_added AFTER INSERT ON requests BEGIN {_ADD}; END",
    f"CREATE TRIGGER request_ended AFTER UPDATE OF state ON requests BEGIN {_TAKE}; {_ADD}; END",
    "CREATE TABLE checksums (task INTEGER NOT NULL, digest BLOB NOT NULL, checksum BLOB NOT NULL,"
    " PRIMARY KEY (task, digest)) WITHOUT ROWID",
    # What processes at work have still to spend, each of its own estimate.
    "CREATE TABLE reservations (owner TEXT PRIMARY KEY, provider TEXT NOT NULL, usd REAL NOT NULL)",
)
