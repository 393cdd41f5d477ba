"""The REST endpoints: each a small function from the catalog and a request to an answer."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from buildeye.model import Job, PullRequest, Run
from buildeye.simulator.answers import error_answer, gone, json_answer, not_found, redirect, signature
from buildeye.simulator.artifacts import Artifact, artifact_json, artifact_zip
from buildeye.simulator.catalog import Catalog
from buildeye.simulator.logs import has_log, render_log, zip_logs
from buildeye.simulator.queries import SEARCH_LIMIT, InvalidQuery, Page, filtered, select_runs
from buildeye.simulator.render_common import Json, full_repository
from buildeye.simulator.render_git import commit_json, comparison, file_entry, head_owner, pull_json
from buildeye.simulator.render_runs import annotations_json, job_json, run_json, workflow_json
from buildeye.simulator.statuspage import PAGE, incidents

T = TypeVar("T")
Handler = Callable[[Catalog, Request], Response]
STORE = "/_stored"
"""Where signed files are; these addresses need no token and cost nothing."""


def api_of(request: Request) -> str:
    """The base URL of the API, without a slash at the end."""
    return str(request.base_url).rstrip("/")


def page_of(
    request: Request, items: Sequence[T], draw: Callable[[T], Json], name: str = "", shown: int | None = None
) -> Response:
    """One page of a list; under `name` with a total count, or as a bare array. At most `shown` items can be reached."""
    page, query = Page.of(request.query_params), dict(request.query_params)
    reachable = items if shown is None else items[:shown]
    drawn = [draw(item) for item in page.cut(reachable)]
    links = page.links(f"{api_of(request)}{request.url.path}", query, len(reachable))
    body = {"total_count": len(items), name: drawn} if name else drawn
    return json_answer(body, {"link": links} if links else None)


def _number(request: Request, name: str) -> int:
    return int(request.path_params[name])


def repository(catalog: Catalog, request: Request) -> Response:
    """`GET /repos/{owner}/{repo}`."""
    past = catalog.past
    waiting = sum(pull.state == "open" for pull in past.pulls)
    times = past.commits[0].at, past.commits[-1].at
    return json_answer(full_repository(api_of(request), past.owner, past.name, *times, waiting))


def workflows(catalog: Catalog, request: Request) -> Response:
    """`GET .../actions/workflows`."""
    return page_of(
        request, catalog.past.workflows, lambda one: workflow_json(api_of(request), catalog, one), "workflows"
    )


def _runs(catalog: Catalog, request: Request, among: Iterable[Run]) -> Response:
    try:
        listed = (run for run in among if catalog.faults.listed(run.id, request.state.number))
        found = select_runs(listed, request.query_params)
    except InvalidQuery as error:
        return error_answer(422, str(error))
    shown = SEARCH_LIMIT if filtered(request.query_params) else None
    return page_of(request, found, lambda run: run_json(api_of(request), catalog, run), "workflow_runs", shown)


def runs(catalog: Catalog, request: Request) -> Response:
    """`GET .../actions/runs`."""
    return _runs(catalog, request, catalog.runs.values())


def workflow_runs(catalog: Catalog, request: Request) -> Response:
    """`GET .../actions/workflows/{id or file}/runs`."""
    workflow = catalog.workflow(request.path_params["workflow"])
    if workflow is None:
        return not_found()
    return _runs(catalog, request, (run for run in catalog.runs.values() if run.workflow_id == workflow.id))


def run(catalog: Catalog, request: Request) -> Response:
    """`GET .../actions/runs/{id}`: its latest attempt."""
    found = catalog.runs.get(_number(request, "run"))
    return json_answer(run_json(api_of(request), catalog, found)) if found else not_found()


def attempt(catalog: Catalog, request: Request) -> Response:
    """`GET .../actions/runs/{id}/attempts/{n}`."""
    found = catalog.attempts.get((_number(request, "run"), _number(request, "attempt")))
    return json_answer(run_json(api_of(request), catalog, found)) if found else not_found()


def _jobs(catalog: Catalog, request: Request, found: Sequence[Job]) -> Response:
    return page_of(request, found, lambda job: job_json(api_of(request), catalog, job), "jobs")


def run_jobs(catalog: Catalog, request: Request) -> Response:
    """`GET .../actions/runs/{id}/jobs`: of the latest attempt, or of all with `filter=all`."""
    found = catalog.runs.get(_number(request, "run"))
    if found is None:
        return not_found()
    attempts = [found]
    if request.query_params.get("filter") == "all":
        attempts = [catalog.attempts[found.id, number] for number in range(found.run_attempt, 0, -1)]
    return _jobs(catalog, request, [job for one in attempts for job in catalog.jobs_of(one)])


def attempt_jobs(catalog: Catalog, request: Request) -> Response:
    """`GET .../actions/runs/{id}/attempts/{n}/jobs`."""
    found = catalog.attempts.get((_number(request, "run"), _number(request, "attempt")))
    return _jobs(catalog, request, catalog.jobs_of(found)) if found else not_found()


def job(catalog: Catalog, request: Request) -> Response:
    """`GET .../actions/jobs/{id}`."""
    found = catalog.jobs.get(_number(request, "job"))
    return json_answer(job_json(api_of(request), catalog, found)) if found else not_found()


def annotations(catalog: Catalog, request: Request) -> Response:
    """`GET .../check-runs/{job id}/annotations`."""
    found = catalog.jobs.get(_number(request, "job"))
    return page_of(request, annotations_json(api_of(request), catalog, found), dict) if found else not_found()


def job_logs(catalog: Catalog, request: Request) -> Response:
    """`GET .../actions/jobs/{id}/logs`: 302 to the text; 404 without a log, 410 when it has expired."""
    found = catalog.jobs.get(_number(request, "job"))
    if found is None or not has_log(found) or found.id in catalog.faults.no_job_logs:
        return not_found()
    if catalog.past.log_expired(found):
        return gone()
    return redirect(api_of(request), catalog.past.seed, f"{STORE}/jobs/{found.id}.txt")


def run_logs(catalog: Catalog, request: Request) -> Response:
    """`GET .../actions/runs/{id}/logs`: 302 to a zip of the latest attempt; 404 while it goes on, 410 when expired."""
    return _run_logs(catalog, request, catalog.runs.get(_number(request, "run")))


def attempt_logs(catalog: Catalog, request: Request) -> Response:
    """`GET .../actions/runs/{id}/attempts/{n}/logs`: as `run_logs`, of that attempt."""
    found = catalog.attempts.get((_number(request, "run"), _number(request, "attempt")))
    return _run_logs(catalog, request, found)


def _run_logs(catalog: Catalog, request: Request, found: Run | None) -> Response:
    kept = [job for job in catalog.jobs_of(found) if has_log(job)] if found else []
    if found is None or found.status != "completed" or not kept:
        return not_found()
    if any(catalog.past.log_expired(job) for job in kept):
        return gone()
    return redirect(api_of(request), catalog.past.seed, f"{STORE}/runs/{found.id}-{found.run_attempt}.zip")


def stored_log(catalog: Catalog, request: Request) -> Response:
    """The text of one log, for whoever has the signed address."""
    found = catalog.jobs.get(_number(request, "job"))
    if not _signed(catalog, request) or found is None or not has_log(found):
        return PlainTextResponse("AuthenticationFailed", 403)
    return Response(render_log(catalog.past, found), media_type="text/plain; charset=utf-8")


def stored_zip(catalog: Catalog, request: Request) -> Response:
    """The zip of one run's logs, for whoever has the signed address."""
    found = catalog.attempts.get((_number(request, "run"), _number(request, "attempt")))
    if not _signed(catalog, request) or found is None:
        return PlainTextResponse("AuthenticationFailed", 403)
    return Response(zip_logs(catalog.past, catalog.jobs_of(found)), media_type="application/zip")


def _artifacts(catalog: Catalog, request: Request, among: Iterable[Artifact]) -> Response:
    name = request.query_params.get("name")
    found = [artifact for artifact in among if name in (None, artifact.name)]
    return page_of(request, found, lambda one: artifact_json(api_of(request), catalog.past, one), "artifacts")


def artifacts(catalog: Catalog, request: Request) -> Response:
    """`GET .../actions/artifacts`, newest first; reads `name`."""
    return _artifacts(catalog, request, catalog.artifacts.values())


def run_artifacts(catalog: Catalog, request: Request) -> Response:
    """`GET .../actions/runs/{id}/artifacts`: of all attempts."""
    found = catalog.runs.get(_number(request, "run"))
    if found is None:
        return not_found()
    return _artifacts(catalog, request, [one for one in catalog.artifacts.values() if one.job.run_id == found.id])


def artifact(catalog: Catalog, request: Request) -> Response:
    """`GET .../actions/artifacts/{id}`."""
    found = catalog.artifacts.get(_number(request, "artifact"))
    return json_answer(artifact_json(api_of(request), catalog.past, found)) if found else not_found()


def artifact_archive(catalog: Catalog, request: Request) -> Response:
    """`GET .../actions/artifacts/{id}/zip`: 302 to the zip; 410 when it has expired."""
    found = catalog.artifacts.get(_number(request, "artifact"))
    if found is None:
        return not_found()
    if catalog.past.log_expired(found.job):
        return error_answer(410, "Artifact has expired")
    return redirect(api_of(request), catalog.past.seed, f"{STORE}/artifacts/{found.id}.zip")


def stored_artifact(catalog: Catalog, request: Request) -> Response:
    """The zip of one artifact, for whoever has the signed address."""
    found = catalog.artifacts.get(_number(request, "artifact"))
    if not _signed(catalog, request) or found is None:
        return PlainTextResponse("AuthenticationFailed", 403)
    return Response(artifact_zip(catalog.past, found), media_type="application/zip")


def _signed(catalog: Catalog, request: Request) -> bool:
    return request.query_params.get("sig") == signature(catalog.past.seed, request.url.path)


def pulls(catalog: Catalog, request: Request) -> Response:
    """`GET .../pulls`, newest first; reads `state`, `base`, `head` (owner:branch), `sort` and `direction`."""
    query = request.query_params
    state, base, head = query.get("state", "open"), query.get("base"), query.get("head")
    if state not in ("open", "closed", "all"):
        return error_answer(422, "Validation Failed")

    def wanted(pull: PullRequest) -> bool:
        label = f"{head_owner(catalog, pull)}:{pull.head_ref}"
        return state in ("all", pull.state) and base in (None, pull.base_ref) and head in (None, label)

    found = [pull for pull in catalog.pulls.values() if wanted(pull)]
    if query.get("sort") == "updated":
        found.sort(key=lambda pull: pull.updated_at or catalog.past.now, reverse=True)
    if query.get("direction") == "asc":
        found.reverse()
    return page_of(request, found, lambda pull: pull_json(api_of(request), catalog, pull))


def pull(catalog: Catalog, request: Request) -> Response:
    """`GET .../pulls/{n}`."""
    found = catalog.pulls.get(_number(request, "pull"))
    return json_answer(pull_json(api_of(request), catalog, found, detailed=True)) if found else not_found()


def pull_files(catalog: Catalog, request: Request) -> Response:
    """`GET .../pulls/{n}/files`."""
    found = catalog.pulls.get(_number(request, "pull"))
    if found is None:
        return not_found()
    name, sha = catalog.past.full_name, found.head_sha
    return page_of(request, found.changed_files, lambda path: file_entry(api_of(request), name, sha, path))


def commits(catalog: Catalog, request: Request) -> Response:
    """`GET .../commits`: the history of `sha` (a branch or commit; main when not given), newest first."""
    start = catalog.resolve(request.query_params.get("sha") or "main")
    if start is None:
        return not_found()
    name = catalog.past.full_name
    return page_of(request, catalog.history(start), lambda commit: commit_json(api_of(request), name, commit))


def commit(catalog: Catalog, request: Request) -> Response:
    """`GET .../commits/{ref}`."""
    ref = request.path_params["ref"]
    found = catalog.resolve(ref)
    if found is None:
        return error_answer(422, f"No commit found for SHA: {ref}")
    return json_answer(commit_json(api_of(request), catalog.past.full_name, found, detailed=True))


def commit_pulls(catalog: Catalog, request: Request) -> Response:
    """`GET .../commits/{sha}/pulls`."""
    ref = request.path_params["ref"]
    found = catalog.resolve(ref)
    if found is None:
        return error_answer(422, f"No commit found for SHA: {ref}")
    return page_of(request, catalog.pulls_of(found), lambda pull: pull_json(api_of(request), catalog, pull))


def compare(catalog: Catalog, request: Request) -> Response:
    """`GET .../compare/{base}...{head}`."""
    base, dots, head = request.path_params["basehead"].partition("...")
    ours, theirs = catalog.resolve(base), catalog.resolve(head)
    if not dots or ours is None or theirs is None:
        return not_found()
    body = comparison(api_of(request), catalog, ours, theirs)
    return json_answer(body) if body else not_found()


ENDPOINTS: tuple[tuple[str, Handler], ...] = (
    ("", repository),
    ("/actions/workflows", workflows),
    ("/actions/workflows/{workflow}/runs", workflow_runs),
    ("/actions/runs", runs),
    ("/actions/runs/{run:int}", run),
    ("/actions/runs/{run:int}/jobs", run_jobs),
    ("/actions/runs/{run:int}/logs", run_logs),
    ("/actions/runs/{run:int}/artifacts", run_artifacts),
    ("/actions/artifacts", artifacts),
    ("/actions/artifacts/{artifact:int}", artifact),
    ("/actions/artifacts/{artifact:int}/zip", artifact_archive),
    ("/actions/runs/{run:int}/attempts/{attempt:int}", attempt),
    ("/actions/runs/{run:int}/attempts/{attempt:int}/jobs", attempt_jobs),
    ("/actions/runs/{run:int}/attempts/{attempt:int}/logs", attempt_logs),
    ("/actions/jobs/{job:int}", job),
    ("/actions/jobs/{job:int}/logs", job_logs),
    ("/check-runs/{job:int}/annotations", annotations),
    ("/pulls", pulls),
    ("/pulls/{pull:int}", pull),
    ("/pulls/{pull:int}/files", pull_files),
    ("/commits", commits),
    ("/commits/{ref}/pulls", commit_pulls),
    ("/commits/{ref:path}", commit),
    ("/compare/{basehead:path}", compare),
)
"""Paths below `/repos/{owner}/{repo}`, the more particular first."""


def routes(catalog: Catalog) -> list[Route]:
    """All routes over one past; GitHub does not mind the case of owner and repository, nor does this."""

    def serve(handler: Handler, bound: bool = True) -> Callable[[Request], Response]:
        def endpoint(request: Request) -> Response:
            if bound and not is_of(catalog, request):
                return not_found()
            return handler(catalog, request)

        return endpoint

    served = [Route(f"/repos/{{owner}}/{{repo}}{path}", serve(handler)) for path, handler in ENDPOINTS]
    store = (
        ("/jobs/{job:int}.txt", stored_log),
        ("/runs/{run:int}-{attempt:int}.zip", stored_zip),
        ("/artifacts/{artifact:int}.zip", stored_artifact),
    )
    served += [Route(STORE + path, serve(handler, bound=False)) for path, handler in store]
    return [*served, Route(f"{PAGE}/incidents.json", serve(incidents, bound=False))]


def is_of(catalog: Catalog, request: Request) -> bool:
    """Whether a request is about the repository of the past."""
    asked = f"{request.path_params['owner']}/{request.path_params['repo']}"
    return asked.lower() == catalog.past.full_name.lower()
