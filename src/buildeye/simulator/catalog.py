"""The past, indexed as the REST API asks for it."""

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

from buildeye.model import Job, PullRequest, Run
from buildeye.simulator.artifacts import Artifact, artifacts_of
from buildeye.simulator.facts import Commit, Past, Workflow
from buildeye.simulator.faults import Faults


class Catalog:
    """Look-ups in one past, shown with these faults; every mapping is made once, when first used."""

    def __init__(self, past: Past, faults: Faults | None = None) -> None:
        self.past = past
        self.faults = faults or Faults()

    @cached_property
    def attempts(self) -> dict[tuple[int, int], Run]:
        """Runs by id and attempt."""
        return {(run.id, run.run_attempt): run for run in self.past.attempts}

    @cached_property
    def runs(self) -> dict[int, Run]:
        """The latest attempt of each run by id, newest run first."""
        latest = {run.id: run for run in self.past.attempts}
        return dict(sorted(latest.items(), reverse=True))

    @cached_property
    def jobs(self) -> dict[int, Job]:
        """Jobs by id."""
        return {job.id: job for job in self.past.jobs}

    @cached_property
    def _jobs_of(self) -> dict[tuple[int, int], list[Job]]:
        found: dict[tuple[int, int], list[Job]] = defaultdict(list)
        for job in self.past.jobs:
            found[job.run_id, job.run_attempt].append(job)
        return found

    def jobs_of(self, run: Run) -> tuple[Job, ...]:
        """The jobs of one attempt."""
        return tuple(self._jobs_of.get((run.id, run.run_attempt), ()))

    @cached_property
    def artifacts(self) -> dict[int, Artifact]:
        """Artifacts by id, newest first."""
        return artifacts_of(self.past)

    @cached_property
    def commits(self) -> dict[str, Commit]:
        """Commits by full sha."""
        return {commit.sha: commit for commit in self.past.commits}

    @cached_property
    def pulls(self) -> dict[int, PullRequest]:
        """Pull requests by number, newest first."""
        return {pull.number: pull for pull in sorted(self.past.pulls, key=lambda pull: pull.number, reverse=True)}

    @cached_property
    def _branches(self) -> dict[str, str]:
        return {commit.branch: commit.sha for commit in self.past.commits}

    def workflow(self, name: str) -> Workflow | None:
        """A workflow by id or file name."""
        for workflow in self.past.workflows:
            if name in (str(workflow.id), workflow.path, workflow.path.rpartition("/")[2]):
                return workflow
        return None

    def resolve(self, ref: str) -> Commit | None:
        """The commit that a branch, a full sha or the first seven and more digits of one mean."""
        ref = ref.removeprefix("refs/").removeprefix("heads/").rpartition(":")[2]
        sha = self._branches.get(ref, ref)
        if sha in self.commits:
            return self.commits[sha]
        fits = [commit for commit in self.past.commits if len(ref) >= 7 and commit.sha.startswith(ref)]
        return fits[0] if len(fits) == 1 else None

    def history(self, commit: Commit) -> list[Commit]:
        """A commit and its ancestors, newest first."""
        found = [commit]
        while found[-1].parents:
            found.append(self.commits[found[-1].parents[0]])
        return found

    def pulls_of(self, commit: Commit) -> list[PullRequest]:
        """The pull request that a commit belongs to, as far as GitHub tells: merged with it, or open with it."""
        pull = self.pulls.get(commit.pull) if commit.pull is not None else None
        if pull is None or (commit.branch != "main" and pull.state != "open"):
            return []
        return [pull]

    def own(self, run: Run) -> Iterable[PullRequest]:
        """The pull requests GitHub names in a run: none when the branch lives in a fork."""
        return [pull for number in run.pull_requests if (pull := self.pulls[number]).author not in self.past.forks]
