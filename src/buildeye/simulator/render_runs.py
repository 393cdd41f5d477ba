"""GitHub's JSON for workflows, runs, jobs and their annotations."""

from buildeye.model import Job, PullRequest, Run, Step
from buildeye.simulator.catalog import Catalog
from buildeye.simulator.facts import Workflow
from buildeye.simulator.logs import minutes_of
from buildeye.simulator.render_common import Json, moment, node, number_of, repository, user
from buildeye.simulator.render_git import head_owner, simple_commit


def workflow_json(api: str, catalog: Catalog, workflow: Workflow) -> Json:
    """A workflow file."""
    url = f"{api}/repos/{catalog.past.full_name}/actions/workflows/{workflow.id}"
    web = f"https://github.com/{catalog.past.full_name}"
    first = moment(catalog.past.commits[0].at)
    return {
        "id": workflow.id,
        "node_id": node("W", workflow.id),
        "name": workflow.name,
        "path": workflow.path,
        "state": "active",
        "created_at": first,
        "updated_at": first,
        "url": url,
        "html_url": f"{web}/blob/main/{workflow.path}",
        "badge_url": f"{web}/actions/workflows/{workflow.path.rpartition('/')[2]}/badge.svg",
    }


def _pull_minimal(api: str, catalog: Catalog, pull: PullRequest) -> Json:
    past = catalog.past
    url = f"{api}/repos/{past.full_name}"
    repo = {"id": number_of("repository", past.owner, past.name), "url": url, "name": past.name}
    return {
        "url": f"{url}/pulls/{pull.number}",
        "id": number_of("pull", pull.number),
        "number": pull.number,
        "head": {"ref": pull.head_ref, "sha": pull.head_sha, "repo": repo},
        "base": {"ref": pull.base_ref, "sha": pull.base_sha, "repo": repo},
    }


def run_json(api: str, catalog: Catalog, run: Run) -> Json:
    """One attempt of a run."""
    past = catalog.past
    url = f"{api}/repos/{past.full_name}/actions/runs/{run.id}"
    suite = number_of("suite", run.id)
    pulls = [catalog.pulls[number] for number in run.pull_requests]
    owner = head_owner(catalog, pulls[0]) if pulls else past.owner
    head = repository(api, owner, past.name, owner != past.owner)
    previous = f"{url}/attempts/{run.run_attempt - 1}" if run.run_attempt > 1 else None
    return {
        "id": run.id,
        "name": run.name,
        "node_id": node("WFR", run.id),
        "check_suite_id": suite,
        "check_suite_node_id": node("CS", suite),
        "head_branch": run.head_branch,
        "head_sha": run.head_sha,
        "path": run.path,
        "run_number": run.run_number,
        "run_attempt": run.run_attempt,
        "referenced_workflows": [],
        "event": run.event,
        "display_title": run.display_title,
        "status": run.status,
        "conclusion": run.conclusion,
        "workflow_id": run.workflow_id,
        "url": url,
        "html_url": run.html_url,
        "pull_requests": [_pull_minimal(api, catalog, pull) for pull in catalog.own(run)],
        "created_at": moment(run.created_at),
        "updated_at": moment(run.updated_at),
        "run_started_at": moment(run.run_started_at),
        "actor": user(api, run.actor),
        "triggering_actor": user(api, run.triggering_actor),
        "jobs_url": f"{url}/jobs",
        "logs_url": f"{url}/logs",
        "check_suite_url": f"{api}/repos/{past.full_name}/check-suites/{suite}",
        "artifacts_url": f"{url}/artifacts",
        "cancel_url": f"{url}/cancel",
        "rerun_url": f"{url}/rerun",
        "previous_attempt_url": previous,
        "workflow_url": f"{api}/repos/{past.full_name}/actions/workflows/{run.workflow_id}",
        "head_commit": simple_commit(catalog.commits[run.head_sha]),
        "repository": repository(api, past.owner, past.name),
        "head_repository": head,
    }


def _step_json(step: Step) -> Json:
    return {
        "name": step.name,
        "status": step.status,
        "conclusion": step.conclusion,
        "number": step.number,
        "started_at": moment(step.started_at),
        "completed_at": moment(step.completed_at),
    }


def job_json(api: str, catalog: Catalog, job: Job) -> Json:
    """One job of one attempt."""
    url = f"{api}/repos/{catalog.past.full_name}"
    return {
        "id": job.id,
        "run_id": job.run_id,
        "workflow_name": job.workflow_name,
        "head_branch": job.head_branch,
        "run_url": f"{url}/actions/runs/{job.run_id}",
        "run_attempt": job.run_attempt,
        "node_id": node("CR", job.id),
        "head_sha": job.head_sha,
        "url": f"{url}/actions/jobs/{job.id}",
        "html_url": job.html_url,
        "status": job.status,
        "conclusion": job.conclusion,
        "created_at": moment(job.created_at),
        "started_at": moment(job.started_at),
        "completed_at": moment(job.completed_at),
        "name": job.name,
        "steps": [_step_json(step) for step in job.steps],
        "check_run_url": f"{url}/check-runs/{job.id}",
        "labels": list(job.labels),
        "runner_id": job.runner_id,
        "runner_name": job.runner_name,
        "runner_group_id": None if job.runner_name is None else 1,
        "runner_group_name": job.runner_group_name,
    }


_LOST = (
    "The self-hosted runner: {runner} lost communication with the server. "
    "Verify the machine is running and has a healthy network connection."
)
_ANNOTATED = {
    "runner-lost": _LOST,
    "runner-gone": _LOST,
    "job-timeout": "The job running on runner {runner} has exceeded the maximum execution time of {minutes} minutes.",
    "by-user": "The run was canceled by @{actor}.",
    "fail-fast": 'The strategy configuration was canceled because "{leg}" failed',
    "out-silent": "GitHub Actions has encountered an internal error when running your job.",
    "crowd-never": "This request was automatically failed because there were no enabled runners online to process "
    "the request for more than 1 days.",
    "superseded": "Canceling since a higher priority waiting request for {branch} exists",
}


def annotations_json(api: str, catalog: Catalog, job: Job) -> list[Json]:
    """What GitHub notes beside a failed or cancelled job; for a lost runner it is the only text there is."""
    key = catalog.past.plots[job.id].failure
    if job.conclusion not in ("failure", "cancelled"):
        return []
    run = catalog.attempts[job.run_id, job.run_attempt]
    message = _ANNOTATED.get(key, "Process completed with exit code 1.")
    return [
        {
            "path": ".github",
            "blob_href": f"https://github.com/{catalog.past.full_name}/blob/{job.head_sha}/.github",
            "start_line": 1,
            "end_line": 1,
            "start_column": None,
            "end_column": None,
            "annotation_level": "failure",
            "title": "",
            "message": message.format(
                runner=job.runner_name,
                branch=job.head_branch,
                minutes=minutes_of(job),
                actor=run.triggering_actor,
                leg=next((other.name for other in catalog.jobs_of(run) if other.conclusion == "failure"), ""),
            ),
            "raw_details": "",
        }
    ]
