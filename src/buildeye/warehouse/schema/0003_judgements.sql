-- What Build-Eye makes of the facts. Nullable means "unknown" here.
CREATE TABLE IF NOT EXISTS buildeye.diagnosis
(
    repository_full_name LowCardinality(String),
    run_id Int64,
    job_id Int64,
    log String COMMENT 'the log that was read, as it was named',
    cause LowCardinality(String),
    category LowCardinality(String),
    determinism LowCardinality(String),
    confidence Float64 COMMENT 'probability from 0 to 1 that the cause is right',
    summary String,
    key_line_number Nullable(UInt32) COMMENT 'from 1; NULL when nothing failed',
    key_line_text String,
    excerpts Array(Tuple(start UInt32, end UInt32, why String)),
    evidence Array(Tuple(kind String, id String, line Nullable(UInt32), quote String, why String)),
    files Array(String),
    tests Array(String),
    signature String,
    suggestions Array(Tuple(title String, cost String, steps Array(String), command String)),
    retry_helps Nullable(Bool),
    rule_set String,
    diagnosed_at DateTime64(6, 'UTC'),
    _version UInt128 COMMENT 'below 2^96, so that it fits into the low bits of a job''s version'
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(diagnosed_at)
ORDER BY (repository_full_name, job_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS buildeye.diagnosis_latest AS SELECT * FROM buildeye.diagnosis FINAL;

CREATE TABLE IF NOT EXISTS buildeye.verdict
(
    repository_full_name LowCardinality(String),
    run_id Int64,
    job_id Int64,
    cause LowCardinality(String),
    category LowCardinality(String),
    confidence Float64 COMMENT 'probability from 0 to 1 that the cause is right',
    level LowCardinality(String),
    determinism LowCardinality(String),
    reasons Array(Tuple(kind String, id String, line Nullable(UInt32), quote String, why String)),
    signature String,
    rule_set String,
    judged_at Nullable(DateTime64(6, 'UTC')),
    _version UInt256,
    INDEX signature_index signature TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(ifNull(judged_at, toDateTime64(0, 6, 'UTC')))
ORDER BY (repository_full_name, run_id, job_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS buildeye.verdict_latest AS SELECT * FROM buildeye.verdict FINAL;

CREATE TABLE IF NOT EXISTS buildeye.log
(
    repository_full_name LowCardinality(String),
    run_id Int64,
    job_id Int64,
    place String COMMENT 'where our copy is; empty when there is none',
    size_bytes Nullable(UInt64),
    sha256 String COMMENT 'of the raw bytes, in hexadecimal; empty when unknown',
    expired Bool COMMENT 'GitHub has the log no longer',
    checked_at DateTime64(6, 'UTC') COMMENT 'when this was true',
    _version UInt256
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(checked_at)
ORDER BY (repository_full_name, job_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS buildeye.log_latest AS SELECT * FROM buildeye.log FINAL;

-- Not partitioned: there is one row a job name and branch, and the older one should go.
CREATE TABLE IF NOT EXISTS buildeye.job_baseline
(
    repository_full_name LowCardinality(String),
    job_name String,
    branch String,
    job_id Int64,
    head_sha String,
    completed_at DateTime64(3, 'UTC'),
    line_hashes Array(UInt64) COMMENT 'sorted hashes of the masked lines',
    _version UInt256
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (repository_full_name, branch, job_name)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS buildeye.job_baseline_latest AS SELECT * FROM buildeye.job_baseline FINAL;
