"""SQL that writes, as text: what moves rows inside ClickHouse without bringing them here."""

from typing import Final

from buildeye.warehouse.rows import JOBS
from buildeye.warehouse.version import DIAGNOSIS_BITS

_CARRIED: Final = tuple(column for column in JOBS.columns if column != "_version")

ANY_DIAGNOSED: Final = """
SELECT 1 FROM buildeye.diagnosis
WHERE repository_full_name = {repository:String} AND job_id IN {jobs:Array(Int64)}
LIMIT 1
"""
"""Asked before the statement below, which costs ten times as much and mostly would have nothing to do."""

CARRY_DIAGNOSES: Final = f"""
INSERT INTO default.workflow_job ({", ".join(_CARRIED)}, torchci_classification, _version)
SELECT
    {", ".join(f"job.{column}" for column in _CARRIED)},
    (
        [diagnosis.signature],
        [diagnosis.summary],
        job.id,
        diagnosis.key_line_text,
        ifNull(diagnosis.key_line_number, 0),
        if(diagnosis.rule = '', diagnosis.category, diagnosis.rule)
    ),
    toUInt256(job._version - job._version % toUInt256('{1 << DIAGNOSIS_BITS}') + diagnosis._version)
FROM
(
    SELECT *
    FROM default.workflow_job_latest
    WHERE repository_full_name = {{repository:String}} AND id IN {{jobs:Array(Int64)}} AND status = 'completed'
) AS job
INNER JOIN
(
    SELECT job_id, signature, summary, key_line_text, key_line_number, category, _version,
        arrayFirst(each -> each.kind = 'rule', evidence).id AS rule
    FROM buildeye.diagnosis_latest
    WHERE repository_full_name = {{repository:String}} AND job_id IN {{jobs:Array(Int64)}}
) AS diagnosis ON diagnosis.job_id = job.id
WHERE job._version % toUInt256('{1 << DIAGNOSIS_BITS}') < diagnosis._version
"""  # noqa: S608 - only column names and constants of this package are put in
