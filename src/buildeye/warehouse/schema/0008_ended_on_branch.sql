-- What jobs ended as on a branch, sorted so that "what fails most on main" reads the failures and nothing else. ClickHouse
-- uses it by itself, also for SQL of strangers that names these columns and no FINAL.
ALTER TABLE default.workflow_job MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';

ALTER TABLE default.workflow_job ADD PROJECTION IF NOT EXISTS ended_on_branch
(
    SELECT repository_full_name, head_branch, conclusion, name, completed_at, workflow_name, id, run_id
    ORDER BY repository_full_name, head_branch, conclusion, name, completed_at
);

ALTER TABLE default.workflow_job MATERIALIZE PROJECTION IF EXISTS ended_on_branch;
