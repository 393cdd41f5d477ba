-- Asked by a pass before it reports, and by `build-eye verdict`: what did people say of runs that still counts?
-- Parameters: repository (owner/name), runs (GitHub's numbers, a list).
-- repository_full_name  owner/name
-- run_id, job_id        GitHub's numbers; job_id 0: all failed jobs of the run
-- cause, category       whose problem, and which; category '' when the person named a cause only
-- why                   in the person's words
-- person                who said so
-- said_at               UTC
-- withdrawn             false: what was taken back is left out
SELECT repository_full_name, run_id, job_id, cause, category, why, person, said_at, withdrawn
FROM buildeye.person_verdict_latest
WHERE repository_full_name = {repository:String} AND run_id IN {runs:Array(Int64)} AND NOT withdrawn
ORDER BY run_id, job_id
