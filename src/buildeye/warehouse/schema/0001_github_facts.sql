-- What GitHub says, under the table and column names of PyTorch's CI store: '' and 1970 stand for "none" here.
-- `_version` decides which of several rows with one key is the latest; warehouse/version.py says how it is made.
CREATE DATABASE IF NOT EXISTS default;

CREATE TABLE IF NOT EXISTS default.workflow_run
(
    id Int64,
    repository_full_name LowCardinality(String),
    name String COMMENT 'name of the workflow',
    status LowCardinality(String),
    conclusion LowCardinality(String) COMMENT 'empty until completed',
    event LowCardinality(String),
    workflow_id Int64,
    path String COMMENT 'workflow file in the repository',
    head_sha String,
    head_branch String,
    run_attempt Int64,
    run_number Int64,
    created_at DateTime64(3, 'UTC'),
    run_started_at DateTime64(3, 'UTC'),
    updated_at DateTime64(3, 'UTC'),
    actor Tuple(login String),
    triggering_actor Tuple(login String),
    display_title String,
    html_url String,
    pull_requests Array(Tuple(number Int64)),
    head_commit Tuple(id String) DEFAULT tuple(head_sha),
    repository Tuple(full_name String, name String, owner Tuple(login String)) DEFAULT
        (repository_full_name, splitByChar('/', repository_full_name)[2], tuple(splitByChar('/', repository_full_name)[1])),
    dynamoKey String ALIAS concat(repository_full_name, '/', toString(id)),
    url String ALIAS concat('https://api.github.com/repos/', repository_full_name, '/actions/runs/', toString(id)),
    _version UInt256,
    _inserted_at DateTime64(3, 'UTC') MATERIALIZED now64(3),
    INDEX head_sha_index head_sha TYPE bloom_filter GRANULARITY 1,
    INDEX updated_at_index updated_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(created_at)
ORDER BY (repository_full_name, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS default.workflow_run_latest AS SELECT * FROM default.workflow_run FINAL;

CREATE TABLE IF NOT EXISTS default.workflow_job
(
    id Int64,
    run_id Int64,
    repository_full_name LowCardinality(String),
    name String,
    workflow_name LowCardinality(String),
    status LowCardinality(String),
    conclusion LowCardinality(String) COMMENT 'empty until completed',
    run_attempt Int64,
    head_sha String,
    head_branch String,
    created_at DateTime64(3, 'UTC'),
    started_at DateTime64(3, 'UTC'),
    completed_at DateTime64(3, 'UTC'),
    runner_id Int64,
    runner_name String,
    runner_group_name LowCardinality(String),
    labels Array(String),
    steps Array(Tuple(
        name String,
        number Int64,
        status String,
        conclusion String,
        started_at DateTime64(3, 'UTC'),
        completed_at DateTime64(3, 'UTC'))),
    html_url String,
    torchci_classification Tuple(
        captures Array(String),
        context Array(String),
        job_id Int64,
        line String,
        line_num Int64,
        rule String) COMMENT 'the newest diagnosis of the job in the form PyTorch keeps it',
    torchci_classification_temp Tuple(
        captures Array(String),
        context Array(String),
        job_id Int64,
        line String,
        line_num Int64,
        rule String) COMMENT 'never filled here; kept so that queries which name it run',
    torchci_classification_kg Tuple(
        captures Array(String),
        context Array(String),
        job_id Int64,
        line String,
        line_num Int64,
        rule String) ALIAS torchci_classification,
    conclusion_kg String ALIAS conclusion,
    dynamoKey String ALIAS concat(repository_full_name, '/', toString(id)),
    url String ALIAS concat('https://api.github.com/repos/', repository_full_name, '/actions/jobs/', toString(id)),
    run_url String ALIAS concat('https://api.github.com/repos/', repository_full_name, '/actions/runs/', toString(run_id)),
    _version UInt256,
    _inserted_at DateTime64(3, 'UTC') MATERIALIZED now64(3),
    INDEX run_id_index run_id TYPE bloom_filter GRANULARITY 1,
    INDEX head_sha_index head_sha TYPE bloom_filter GRANULARITY 1,
    INDEX started_at_index started_at TYPE minmax GRANULARITY 1,
    INDEX completed_at_index completed_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(created_at)
ORDER BY (repository_full_name, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS default.workflow_job_latest AS SELECT * FROM default.workflow_job FINAL;

CREATE TABLE IF NOT EXISTS default.push
(
    repository_full_name LowCardinality(String),
    ref String COMMENT 'refs/heads/BRANCH',
    before String,
    after String,
    head_commit Tuple(
        id String,
        message String,
        timestamp DateTime64(3, 'UTC'),
        author Tuple(name String, username String)),
    pusher Tuple(name String),
    forced Bool,
    deleted Bool,
    pushed_at DateTime64(3, 'UTC'),
    repository Tuple(full_name String, name String, owner Tuple(login String, name String)) DEFAULT
        (repository_full_name, splitByChar('/', repository_full_name)[2],
         (splitByChar('/', repository_full_name)[1], splitByChar('/', repository_full_name)[1])),
    dynamoKey String ALIAS concat(repository_full_name, '/', after),
    _version UInt256,
    _inserted_at DateTime64(3, 'UTC') MATERIALIZED now64(3)
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(pushed_at)
ORDER BY (repository_full_name, ref, after)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS default.push_latest AS SELECT * FROM default.push FINAL;

CREATE TABLE IF NOT EXISTS default.pull_request
(
    repository_full_name LowCardinality(String),
    number Int64,
    title String,
    user Tuple(login String),
    state LowCardinality(String),
    base Tuple(ref String, sha String, repo Tuple(full_name String)),
    head Tuple(ref String, sha String),
    created_at DateTime64(3, 'UTC'),
    updated_at DateTime64(3, 'UTC'),
    merged_at DateTime64(3, 'UTC'),
    merge_commit_sha String,
    html_url String,
    changed_files Array(String) COMMENT 'repository paths; GitHub uses this name for their number',
    dynamoKey String ALIAS concat(repository_full_name, '/', toString(number)),
    _version UInt256,
    _inserted_at DateTime64(3, 'UTC') MATERIALIZED now64(3)
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(created_at)
ORDER BY (repository_full_name, number)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS default.pull_request_latest AS SELECT * FROM default.pull_request FINAL;
