-- Two reports of one job may hold the same test, and a report may come from a job nobody knows: the report is part of
-- what makes a row. And which artifacts were read, so that none is fetched twice.
ALTER TABLE tests.all_test_runs
    ADD COLUMN IF NOT EXISTS report_id UInt64 COMMENT 'the report the case stands in: a hash of the run and the artifact or file',
    MODIFY ORDER BY (file, classname, name, invoking_file, job_id, workflow_run_attempt, ordinal, report_id),
    COMMENT COLUMN result 'passed, failed, error, skipped, or flaky: failed, run again in the same job, and passed',
    COMMENT COLUMN status 'the word the report itself uses; empty when it has none',
    COMMENT COLUMN job_id '0 when it is not known which job of the run wrote the report',
    COMMENT COLUMN invoking_file 'the folder the report lay in',
    COMMENT COLUMN time_inserted 'when the report was made, so that reading it later changes nothing';

CREATE OR REPLACE VIEW tests.all_test_runs_latest AS SELECT * FROM tests.all_test_runs FINAL;

CREATE TABLE IF NOT EXISTS buildeye.test_artifact
(
    repository_full_name LowCardinality(String),
    run_id Int64,
    artifact_id Int64,
    name String,
    reports UInt32 COMMENT 'JUnit reports in it',
    cases UInt64 COMMENT 'test cases read from them',
    troubles Array(String) COMMENT 'what could not be read, one sentence each; empty when all was',
    read_at DateTime64(6, 'UTC'),
    _version UInt256
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(read_at)
ORDER BY (repository_full_name, artifact_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS buildeye.test_artifact_latest AS SELECT * FROM buildeye.test_artifact FINAL;
