-- How far GitHub's facts have been read. A cursor is written after what it speaks of.
CREATE TABLE IF NOT EXISTS buildeye.sync_cursor
(
    repository_full_name LowCardinality(String),
    stream LowCardinality(String) COMMENT 'what was read: runs, pull requests, branch main ...',
    since DateTime64(6, 'UTC') COMMENT 'everything from here on ...',
    reached DateTime64(6, 'UTC') COMMENT '... up to here has been read',
    seen String COMMENT 'what was newest then',
    saved_at DateTime64(6, 'UTC'),
    _version UInt256
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (repository_full_name, stream)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS buildeye.sync_cursor_latest AS SELECT * FROM buildeye.sync_cursor FINAL;

CREATE TABLE IF NOT EXISTS buildeye.synced_run
(
    repository_full_name LowCardinality(String),
    run_id Int64,
    run_attempt Int64 COMMENT 'jobs of attempts up to this one are here',
    gone Bool COMMENT 'GitHub has the run no longer',
    no_pull_request Bool COMMENT 'GitHub was asked whose pull request it built, and knows none',
    synced_at DateTime64(6, 'UTC'),
    _version UInt256
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(synced_at)
ORDER BY (repository_full_name, run_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS buildeye.synced_run_latest AS SELECT * FROM buildeye.synced_run FINAL;

ALTER TABLE default.pull_request ADD COLUMN IF NOT EXISTS merge_base_sha String COMMENT 'where its branch left the base branch; empty when not asked for';

CREATE OR REPLACE VIEW default.pull_request_latest AS SELECT * FROM default.pull_request FINAL;
