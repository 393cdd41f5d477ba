"""Lines that are not failures themselves but say where in a log one is: groups, ends of steps, tallies, retries.

Marks are matched in the same pass as the rules. Sources of the wordings: GitHub Actions runner, GitLab runner,
Buildkite agent, Jenkins, Travis, Azure Pipelines, Taskcluster, and the test tools that the tallies belong to.
"""

from enum import StrEnum


class Mark(StrEnum):
    """What a marking line tells."""

    GROUP = "group"
    ENDGROUP = "endgroup"
    ANNOTATION = "annotation"
    EXIT = "exit"
    JOB_NAME = "job-name"
    POST = "post"
    TALLY = "tally"
    FAILURES = "failures"
    PLACE = "place"
    RETRY = "retry"
    GREEN = "green"
    NOISE = "noise"
    PASSED_AGAIN = "passed-again"
    FAILED_AGAIN = "failed-again"
    RECOVERED = "recovered"
    GIVEN_UP = "given-up"


PATTERNS: tuple[tuple[Mark, str], ...] = (
    (Mark.GROUP, r"^##\[group\]"),
    (Mark.GROUP, r"^\[command\]"),
    (Mark.ENDGROUP, r"^##\[endgroup\]"),
    (Mark.ANNOTATION, r"^##\[error\]"),
    (Mark.ANNOTATION, r"^::error(?: [^:]{0,300})?::"),
    (Mark.EXIT, r"^##\[error\](?:Process completed with exit code \d+|.{0,60}[Ee]xited with code)"),
    (Mark.EXIT, r"^(?:.{0,12}Error: )?The command exited with status [1-9]"),
    (Mark.EXIT, r"^ERROR: Job failed"),
    (Mark.EXIT, r"^Finished: (?:FAILURE|ABORTED|UNSTABLE)$"),
    (Mark.EXIT, r"^Build step '.{1,120}' marked build as failure$"),
    (Mark.EXIT, r"^Done\. Your build exited with [1-9]"),
    (Mark.EXIT, r"^The command .{1,300} (?:exited with|failed and exited with) [1-9]"),
    (Mark.EXIT, r"^(?:Exited with code|exit status) [1-9]"),
    (Mark.EXIT, r"^\[taskcluster:error\]"),
    (Mark.JOB_NAME, r"^Complete job name: "),
    (Mark.POST, r"^Post job cleanup\.$"),
    (Mark.POST, r"^Cleaning up orphan processes$"),
    (Mark.POST, r"^(?:~~~ )?Running global pre-exit hook$"),
    (Mark.TALLY, r"^=+ (?:\d+ \w+, ){0,9}\d+ (?:failed|errors?)\b.{0,120} in [\d.]+ ?s"),
    (Mark.TALLY, r"^\d+ failed(?:, \d+ \w+)*(?:, \d+ \w+)? in [\d.]+ ?s"),
    (Mark.TALLY, r"^FAILED \((?:failures|errors)=\d+"),
    (Mark.TALLY, r"^(?:Tests|Test Suites|Test Files|Snapshots):? +.{0,60}\b\d+ failed"),
    (Mark.TALLY, r"^ *[1-9]\d* (?:failing|failed)$"),
    (Mark.TALLY, r"^(?:\[\w+\] )?Tests run: \d+, Failures: (?:[1-9]\d*|0, Errors: [1-9])"),
    (Mark.TALLY, r"^test result: FAILED"),
    (Mark.TALLY, r"^ *Summary \[ *[\d.]+s\]"),
    (Mark.TALLY, r"^\d+ examples?, [1-9]\d* failures?"),
    (Mark.TALLY, r"^\d+% tests passed, [1-9]\d* tests? failed"),
    (Mark.TALLY, r"^ *\[  FAILED  \] \d+ tests?"),
    (Mark.TALLY, r"^(?:Tests|Assertions): \d+, (?:Assertions|Failures|Errors): \d+"),
    (Mark.TALLY, r"^Found [1-9]\d* errors?(?: in \d+ files?)?"),
    (Mark.TALLY, r"^.{0,4}[1-9]\d* problems? \(\d+ errors?"),
    (Mark.TALLY, r"^ *[1-9]\d* of \d+ tests? failed"),
    (Mark.TALLY, r"^\d+ tests? completed, [1-9]\d* failed"),
    (Mark.TALLY, r"^Failed! +- Failed: +\d+"),
    (Mark.TALLY, r"^FAIL(?:ED)?\t"),
    (Mark.PLACE, r"^(?:\S*/)?(?:Docker|Container)file[\w.-]*:\d+$"),
    (Mark.FAILURES, r"^=+ (?:FAILURES|ERRORS) =+$"),
    (Mark.RETRY, r"(?i)\b(?:retrying|will retry|retry #?\d|retries? (?:left|remaining)|tries remaining)"),
    (Mark.RETRY, r"(?i)\b(?:backoff|re-?attempt)"),
    (Mark.RETRY, r"(?i)\battempt (?:#?\d+|\d+ of \d+)\b"),
    (Mark.PASSED_AGAIN, r"^\s*FLAKY \d+/\d+ \["),
    (Mark.PASSED_AGAIN, r"^\s*TRY [2-9] PASS \["),
    (Mark.PASSED_AGAIN, r"\bFLAKY, failed in \d+ out of \d+"),
    (Mark.PASSED_AGAIN, r"failed and then succeeded when run in a new process"),
    (Mark.PASSED_AGAIN, r"passed \d+ out of the required \d+ times\. Success!"),
    (Mark.PASSED_AGAIN, r"^(?:\[\w+\] )?Flakes:\s*$"),
    (Mark.PASSED_AGAIN, r"^\s+[1-9]\d* flaky$"),
    (Mark.PASSED_AGAIN, r"^\s*(?:✓|√) .+ \(retry x\d+\)"),
    (Mark.FAILED_AGAIN, r"^(?:The following tests failed consistently|FAILED CONSISTENTLY): "),
    (Mark.FAILED_AGAIN, r"^\s*TRY [2-9] (?:FAIL|SIG|ABORT|TIMEOUT)"),
    (Mark.FAILED_AGAIN, r"^=== FAIL: .+ \(re-run \d+\)"),
    (Mark.FAILED_AGAIN, r"^//\S+\s+FAILED in (?:2 out of 2|3 out of 3|4 out of 4|5 out of 5)\b"),
    (Mark.FAILED_AGAIN, r"^(?:RERUN \S+::|\S+::.+ RERUN\b)"),
    (Mark.FAILED_AGAIN, r"^\[ERROR\] +Run [2-9]: "),
    (Mark.FAILED_AGAIN, r"^\s+Retry #\d+ ─"),
    (Mark.FAILED_AGAIN, r"\(Attempt [2-9] of \d+\) "),
    (Mark.FAILED_AGAIN, r"^\[MinitestRetry\] retry '"),
    (Mark.FAILED_AGAIN, r"^RSpec::Retry: (?:2nd|3rd|[4-9]th) try "),
    (Mark.RECOVERED, r"^Command completed after (?:[2-9]|\d\d) attempt"),
    (Mark.GIVEN_UP, r"^(?:Error: )?Final attempt failed\."),
    (Mark.NOISE, r"^Exception ignored in"),
    (Mark.GREEN, r"^Finished: SUCCESS$"),
    (Mark.GREEN, r"^Job succeeded$"),
)  # fmt: skip
