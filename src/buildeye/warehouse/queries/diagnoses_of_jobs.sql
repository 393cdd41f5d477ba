-- Asked by triage: what do the logs of these jobs say?
-- Parameters: repository (owner/name), jobs (a list of ids).
-- run_id, job_id, log          whose log it is, and its name
-- cause, category, determinism, confidence, summary, key_line_number, key_line_text, excerpts, evidence, files, tests,
-- signature, suggestions, retry_helps, rule_set   the diagnosis, as docs/diagnosis.md tells
SELECT run_id, job_id, log, cause, category, determinism, confidence, summary, key_line_number, key_line_text, excerpts,
    evidence, files, tests, signature, suggestions, retry_helps, rule_set
FROM buildeye.diagnosis_latest
WHERE repository_full_name = {repository:String} AND job_id IN {jobs:Array(Int64)}
ORDER BY job_id
