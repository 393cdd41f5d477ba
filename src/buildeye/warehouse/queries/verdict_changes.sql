-- Asked by `build-eye verdict history`: how did our own judgement of runs change, oldest change first?
-- Parameters: repository (owner/name), runs (GitHub's numbers, a list).
-- repository_full_name             owner/name
-- run_id, job_id                   GitHub's numbers
-- changed_at                       UTC
-- cause_before, category_before    what it was
-- confidence_before                probability from 0 to 1
-- cause, category, confidence      what it became
-- reasons                          ids of the reasons that were not there before
-- why                              one sentence
SELECT
    repository_full_name, run_id, job_id, changed_at, cause_before, category_before, confidence_before, cause, category,
    confidence, reasons, why
FROM buildeye.verdict_change_latest
WHERE repository_full_name = {repository:String} AND run_id IN {runs:Array(Int64)}
ORDER BY changed_at, run_id, job_id
