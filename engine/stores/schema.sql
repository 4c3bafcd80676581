-- The embedded store. Moments are integer microseconds since 1970 (UTC), so that they come back
-- exactly. Blobs are texts, packed (packing.py). A run has a number (its rowid) under which its other
-- rows are kept: integers keep the rows of recent runs together, where random ids would touch a page
-- each. No foreign keys: a run is only ever deleted with all its rows, and a check would cost a
-- look-up per row.
--
-- A store that is there already is given what it lacks of this whenever it is opened. So whatever
-- is added here must be nothing to an older Holdshort; else it is a new version.

-- body last: whoever reads the columns before it does not read its overflow pages.
CREATE TABLE IF NOT EXISTS runs (
    number          INTEGER PRIMARY KEY,
    id              TEXT NOT NULL UNIQUE,
    version         INTEGER NOT NULL,
    status          TEXT NOT NULL,
    agent           TEXT NOT NULL,
    owner           TEXT NOT NULL,
    concurrency_key TEXT NOT NULL,
    priority        INTEGER NOT NULL,
    -- Claimable from here on. While the run is claimed this is the end of the lease, so that one
    -- index finds both the runs nobody holds and those whose holder was lost. While the run waits:
    -- since when.
    ready_at        INTEGER NOT NULL,
    -- Another run holds the concurrency key. Kept as a fact, so that a claim need not pass over
    -- every run that queues behind a held key.
    blocked         INTEGER NOT NULL,
    deadline        INTEGER,
    worker          TEXT,
    fence           INTEGER NOT NULL DEFAULT 0,
    losses          INTEGER NOT NULL DEFAULT 0,
    body            BLOB NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS runs_queue ON runs (priority, ready_at) WHERE status = 'queued' AND blocked = 0;
CREATE INDEX IF NOT EXISTS runs_of_key ON runs (concurrency_key, blocked, priority DESC, ready_at)
    WHERE status = 'queued' AND concurrency_key <> '';
CREATE INDEX IF NOT EXISTS runs_deadline ON runs (deadline) WHERE deadline IS NOT NULL;
CREATE INDEX IF NOT EXISTS runs_waiting ON runs (ready_at) WHERE status = 'waiting';
CREATE INDEX IF NOT EXISTS runs_status ON runs (status);
CREATE INDEX IF NOT EXISTS runs_agent ON runs (agent, status);
CREATE INDEX IF NOT EXISTS runs_owner ON runs (owner, status);
-- Of an ended run ready_at is when it ended.
CREATE INDEX IF NOT EXISTS runs_ended ON runs (ready_at)
    WHERE status IN ('succeeded', 'failed', 'cancelled');

-- Which run holds a concurrency key: from its first claim until it ends.
CREATE TABLE IF NOT EXISTS holds (
    key TEXT PRIMARY KEY,
    run INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per commit: its name, so that a retry after a lost reply is recognised, and its events.
-- place = run number * 2^20 + version: the rows of a run lie together and need no second index.
CREATE TABLE IF NOT EXISTS commits (
    place    INTEGER PRIMARY KEY,
    id       TEXT NOT NULL,
    last_seq INTEGER NOT NULL,
    events   BLOB NOT NULL
) STRICT;

-- Write-once rows of a run: inputs, responses, arguments, results.
CREATE TABLE IF NOT EXISTS records (
    run   INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    kind  TEXT NOT NULL,
    idx   INTEGER NOT NULL,
    body  BLOB NOT NULL,
    PRIMARY KEY (run, entry, kind, idx)
) STRICT, WITHOUT ROWID;

-- Closed tickets. Open ones are in the run's body.
CREATE TABLE IF NOT EXISTS tickets (
    run      INTEGER NOT NULL,
    approval TEXT NOT NULL,
    body     BLOB NOT NULL,
    PRIMARY KEY (run, approval)
) STRICT, WITHOUT ROWID;

-- What people type. Whether a ref is live is read from its run and ticket, so ending a run does
-- not rewrite its refs.
CREATE TABLE IF NOT EXISTS refs (
    ref      TEXT PRIMARY KEY,
    run      INTEGER NOT NULL,
    approval TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS refs_of_run ON refs (run);

CREATE TABLE IF NOT EXISTS keys (
    scope   TEXT NOT NULL,
    key     TEXT NOT NULL,
    body    TEXT NOT NULL,
    outcome TEXT NOT NULL,
    run     TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS keys_of_start ON keys (run) WHERE scope >= 'start:';

CREATE TABLE IF NOT EXISTS cards (
    number    INTEGER PRIMARY KEY,
    run       INTEGER NOT NULL,
    subject   TEXT NOT NULL,
    role      TEXT NOT NULL,
    notifier  TEXT NOT NULL,
    duplicate TEXT NOT NULL,
    wanted    INTEGER NOT NULL,
    shown     INTEGER NOT NULL,
    -- Deliverable from here on, if behind: the end of the lease while a courier has it, else the
    -- end of the back-off.
    due_at    INTEGER NOT NULL,
    attempts  INTEGER NOT NULL DEFAULT 0,
    fence     INTEGER NOT NULL DEFAULT 0,
    courier   TEXT,
    receipt   BLOB,
    UNIQUE (run, subject, role, notifier, duplicate)
) STRICT;

CREATE INDEX IF NOT EXISTS cards_behind ON cards (due_at) WHERE wanted > shown;

-- Asks: those that have a berth, and those that wait for one (berths.py). Named by what they count
-- for, not by number: what is lost here is made up from the runs.
CREATE TABLE IF NOT EXISTS berths (
    number   INTEGER PRIMARY KEY,
    approval TEXT NOT NULL UNIQUE,
    run      TEXT NOT NULL,
    state    TEXT NOT NULL,
    since    INTEGER NOT NULL,
    -- JSON: names and limits; names; of these two, where it was full and what was news.
    within   TEXT NOT NULL,
    told     TEXT NOT NULL,
    full     TEXT NOT NULL,
    news     TEXT NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS berths_waiting ON berths (number) WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS berths_lines ON berths (within, number) WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS berths_called ON berths (number) WHERE state = 'called';

CREATE TABLE IF NOT EXISTS berth_counts (
    name    TEXT PRIMARY KEY,
    open    INTEGER NOT NULL,
    waiting INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Written to find out whether writes are taken at all; nobody reads it.
CREATE TABLE IF NOT EXISTS probes (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT;

-- Every priority at which a run is claimable, highest first, found along the index.
CREATE VIEW IF NOT EXISTS priorities AS
WITH RECURSIVE step (priority) AS (
    SELECT max(priority) FROM runs INDEXED BY runs_queue WHERE status = 'queued' AND blocked = 0
    UNION ALL
    SELECT (
        SELECT max(runs.priority) FROM runs INDEXED BY runs_queue
        WHERE status = 'queued' AND blocked = 0 AND runs.priority < step.priority
    ) FROM step WHERE step.priority IS NOT NULL
)
SELECT priority FROM step;

-- The first ask of each kind that waits, found along the index.
CREATE VIEW IF NOT EXISTS berth_heads AS
WITH RECURSIVE step (within) AS (
    VALUES ('')
    UNION ALL
    SELECT (
        SELECT within FROM berths INDEXED BY berths_lines
        WHERE state = 'waiting' AND within > step.within
        ORDER BY within LIMIT 1
    ) FROM step WHERE within IS NOT NULL
)
SELECT (
    SELECT number FROM berths INDEXED BY berths_lines
    WHERE state = 'waiting' AND berths.within = step.within
    ORDER BY number LIMIT 1
) AS number, within
FROM step WHERE within > '';

-- Remembered rules, by the id that people type. They outlive the runs they were given in.
CREATE TABLE IF NOT EXISTS rules (
    id         TEXT PRIMARY KEY,
    agent      TEXT NOT NULL,
    owner      TEXT NOT NULL,
    -- When it ends or ended: its expiry, or when it was revoked.
    over_at    INTEGER NOT NULL,
    granted_at INTEGER NOT NULL,
    body       TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS rules_of_owner ON rules (agent, owner, over_at);
CREATE INDEX IF NOT EXISTS rules_given ON rules (granted_at);
CREATE INDEX IF NOT EXISTS rules_over ON rules (over_at);
