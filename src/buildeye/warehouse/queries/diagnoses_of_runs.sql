-- Asked by the comment on a pull request: what do the logs of these runs say?
-- Parameters: repository (owner/name), runs (GitHub's numbers).
-- run_id, job_id              GitHub's numbers; job_id is the run's where no failed job is known
-- log                         the log that was read, as it was named
-- cause, category             whose problem the log alone says it is, and which
-- determinism, confidence     would it fail again; probability from 0 to 1 that the cause is right
-- summary                     one sentence
-- key_line_number, key_line_text  the line to read first; NULL when there is none
-- excerpts                    start, end, why of lines worth reading
-- evidence                    kind, id, line, quote, why of each piece
-- files, tests                that the log names
-- signature                   equal for equal failures
-- suggestions                 title, cost, steps, command of each
-- retry_helps                 NULL when the evidence does not say
-- rule_set                    the rules it was read by
SELECT run_id, job_id, log, cause, category, determinism, confidence, summary, key_line_number, key_line_text, excerpts,
    evidence, files, tests, signature, suggestions, retry_helps, rule_set
FROM buildeye.diagnosis_latest
WHERE repository_full_name = {repository:String} AND run_id IN {runs:Array(Int64)}
ORDER BY run_id, job_id
