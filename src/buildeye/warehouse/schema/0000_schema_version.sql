-- Which schema files this warehouse has had. Run at every start, before anything is read from it.
CREATE DATABASE IF NOT EXISTS buildeye;

CREATE TABLE IF NOT EXISTS buildeye.schema_version
(
    number UInt32 COMMENT 'the number the file name begins with',
    name String COMMENT 'the file name',
    checksum FixedString(64) COMMENT 'SHA-256 of the file, in hexadecimal',
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(applied_at)
ORDER BY number
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
