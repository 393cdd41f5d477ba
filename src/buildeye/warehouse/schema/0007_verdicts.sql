-- What a verdict weighs and names beyond its reasons; what changed when it was judged again; what people said; and facts
-- that judging needs besides GitHub's rows: what ran in a job, and what GitHub itself says was broken.
ALTER TABLE buildeye.verdict
    ADD COLUMN IF NOT EXISTS weights Array(Float64) COMMENT 'log-odds each reason adds to the cause; below 0 it speaks against it',
    ADD COLUMN IF NOT EXISTS otherwise Array(Tuple(cause String, probability Float64)) COMMENT 'the causes that were next',
    ADD COLUMN IF NOT EXISTS good_sha String COMMENT 'interference: last commit of the base branch that passed; empty when unknown',
    ADD COLUMN IF NOT EXISTS bad_sha String COMMENT 'interference: first commit of the base branch that failed; empty when unknown',
    ADD COLUMN IF NOT EXISTS merges UInt32 COMMENT 'commits after the good one up to the bad one',
    ADD COLUMN IF NOT EXISTS culprits Array(Tuple(sha String, probability Float64, why String, pull_request Int64)) COMMENT 'changes that may have brought it, likeliest first; pull_request 0: none',
    ADD COLUMN IF NOT EXISTS related_pull_requests Array(Int64) COMMENT 'who else is hit',
    ADD COLUMN IF NOT EXISTS person String COMMENT 'who said so; empty for our own judgement';

CREATE OR REPLACE VIEW buildeye.verdict_latest AS SELECT * FROM buildeye.verdict FINAL;

CREATE TABLE IF NOT EXISTS buildeye.verdict_change
(
    repository_full_name LowCardinality(String),
    run_id Int64,
    job_id Int64,
    changed_at DateTime64(6, 'UTC'),
    cause_before LowCardinality(String),
    category_before LowCardinality(String),
    confidence_before Float64,
    cause LowCardinality(String),
    category LowCardinality(String),
    confidence Float64,
    reasons Array(String) COMMENT 'ids of the reasons that were not there before',
    why String COMMENT 'one sentence',
    _version UInt256
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(changed_at)
ORDER BY (repository_full_name, run_id, job_id, changed_at)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS buildeye.verdict_change_latest AS SELECT * FROM buildeye.verdict_change FINAL;

CREATE TABLE IF NOT EXISTS buildeye.person_verdict
(
    repository_full_name LowCardinality(String),
    run_id Int64,
    job_id Int64 COMMENT '0: all failed jobs of the run',
    cause LowCardinality(String),
    category LowCardinality(String) COMMENT 'empty when the person named a cause only',
    why String,
    person String,
    said_at DateTime64(6, 'UTC'),
    withdrawn Bool COMMENT 'taken back: our own judgement counts again',
    _version UInt256
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (repository_full_name, run_id, job_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS buildeye.person_verdict_latest AS SELECT * FROM buildeye.person_verdict FINAL;

CREATE TABLE IF NOT EXISTS buildeye.job_environment
(
    repository_full_name LowCardinality(String),
    run_id Int64,
    job_id Int64,
    things Array(Tuple(kind LowCardinality(String), name String, value String)) COMMENT 'what the log says ran in the job: image and digest, runner-image, package, tool and version',
    read_at DateTime64(6, 'UTC'),
    _version UInt256
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(read_at)
ORDER BY (repository_full_name, job_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS buildeye.job_environment_latest AS SELECT * FROM buildeye.job_environment FINAL;

CREATE TABLE IF NOT EXISTS buildeye.incident
(
    provider LowCardinality(String) COMMENT 'whose service: github',
    id String,
    name String,
    impact LowCardinality(String) COMMENT 'none, minor, major or critical',
    status LowCardinality(String),
    components Array(String),
    started_at DateTime64(3, 'UTC'),
    resolved_at Nullable(DateTime64(3, 'UTC')) COMMENT 'NULL while it lasts',
    updated_at DateTime64(3, 'UTC'),
    html_url String,
    _version UInt256
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (provider, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS buildeye.incident_latest AS SELECT * FROM buildeye.incident FINAL;
