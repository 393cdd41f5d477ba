-- Checks on commits, as webhooks tell of them: those of GitHub Actions (one a job, with the job's id) and of other apps.
CREATE TABLE IF NOT EXISTS buildeye.check_run
(
    repository_full_name LowCardinality(String),
    id Int64,
    name String,
    status LowCardinality(String),
    conclusion LowCardinality(Nullable(String)) COMMENT 'NULL until completed',
    head_sha String,
    app LowCardinality(String) COMMENT 'slug of the app that made the check; github-actions for jobs',
    started_at Nullable(DateTime64(3, 'UTC')),
    completed_at Nullable(DateTime64(3, 'UTC')),
    annotations_count UInt32,
    details_url String,
    html_url String,
    _version UInt256,
    INDEX head_sha_index head_sha TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(ifNull(started_at, toDateTime64(0, 3, 'UTC')))
ORDER BY (repository_full_name, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS buildeye.check_run_latest AS SELECT * FROM buildeye.check_run FINAL;
