-- One row a test case a run of it, under PyTorch's names. Sorted by test, because people ask for the history of one.
CREATE DATABASE IF NOT EXISTS tests;

CREATE TABLE IF NOT EXISTS tests.all_test_runs
(
    repository_full_name LowCardinality(String),
    job_id Int64,
    workflow_id Int64 COMMENT 'the run the job belongs to, which PyTorch calls workflow',
    workflow_run_attempt Int32,
    file LowCardinality(String),
    classname LowCardinality(String),
    name String,
    invoking_file LowCardinality(String),
    ordinal UInt32 COMMENT 'position in the report, which tells the repeats of one test apart',
    time Float32 COMMENT 'seconds',
    duration Float32 DEFAULT time,
    status LowCardinality(String),
    result String,
    line Int64,
    failure Array(Tuple(message String, text String, type String)),
    error Array(Tuple(message String, text String, type String)),
    rerun Array(Tuple(message String, text String)),
    skipped Array(Tuple(message String, text String, type String)),
    failure_count UInt32 DEFAULT length(failure),
    error_count UInt32 DEFAULT length(error),
    rerun_count UInt32 DEFAULT length(rerun),
    skipped_count UInt32 DEFAULT length(skipped),
    time_inserted DateTime64(3, 'UTC'),
    _version UInt256,
    INDEX job_id_index job_id TYPE bloom_filter GRANULARITY 1,
    INDEX time_inserted_index time_inserted TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(time_inserted)
ORDER BY (file, classname, name, invoking_file, job_id, workflow_run_attempt, ordinal)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS tests.all_test_runs_latest AS SELECT * FROM tests.all_test_runs FINAL;
