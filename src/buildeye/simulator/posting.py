"""The endpoints that take something: comments on pull requests and check runs, with GitHub's limits and refusals."""

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from buildeye.simulator.answers import created, error_answer, json_answer, not_found
from buildeye.simulator.catalog import Catalog
from buildeye.simulator.endpoints import api_of, is_of, page_of
from buildeye.simulator.posts import Board, Check, check_json, comment_json
from buildeye.simulator.render_common import Json, moment, user

LONGEST_COMMENT: Final = 65_536
LONGEST_SUMMARY: Final = 65_535
CONCLUSIONS: Final = frozenset(
    ("action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out")
)
STATUSES: Final = frozenset(("queued", "in_progress", "completed", "waiting", "requested", "pending"))
Taker = Callable[[Catalog, Board, Request, Json], Response]


def comments(catalog: Catalog, board: Board, request: Request, sent: Json) -> Response:
    """`GET .../issues/{n}/comments`, oldest first."""
    del sent
    number = request.path_params["issue"]
    if number not in catalog.pulls:
        return not_found()
    found = list(board.comments_on(number))
    return page_of(request, found, lambda post: comment_json(api_of(request), catalog.past, post))


def add_comment(catalog: Catalog, board: Board, request: Request, sent: Json) -> Response:
    """`POST .../issues/{n}/comments`."""
    number = request.path_params["issue"]
    if number not in catalog.pulls:
        return not_found()
    if (refusal := _wrong_body(sent)) is not None:
        return refusal
    drawn = comment_json(api_of(request), catalog.past, board.comment(number, sent["body"]))
    return created(drawn, drawn["url"])


def comment(catalog: Catalog, board: Board, request: Request, sent: Json) -> Response:
    """`GET` and `PATCH .../issues/comments/{id}`."""
    post = next((post for post in board.comments if post.id == request.path_params["comment"]), None)
    if post is None:
        return not_found()
    if request.method == "PATCH":
        if (refusal := _wrong_body(sent)) is not None:
            return refusal
        post.body, post.updated_at = sent["body"], board.now()
    return json_answer(comment_json(api_of(request), catalog.past, post))


def checks(catalog: Catalog, board: Board, request: Request, sent: Json) -> Response:
    """`GET .../commits/{ref}/check-runs`, the newest of a name unless `filter=all`; reads `check_name` and `status`."""
    del sent
    commit = catalog.resolve(request.path_params["ref"])
    if commit is None:
        return error_answer(422, f"No commit found for SHA: {request.path_params['ref']}")
    query = request.query_params
    found = [check for check in board.checks if check.head_sha == commit.sha]
    found = [check for check in found if query.get("check_name") in (None, check.name)]
    found = [check for check in found if query.get("status") in (None, check.status)]
    if query.get("filter", "latest") == "latest":
        found = list({check.name: check for check in found}.values())
    return page_of(request, found[::-1], lambda check: check_json(api_of(request), catalog.past, check), "check_runs")


def add_check(catalog: Catalog, board: Board, request: Request, sent: Json) -> Response:
    """`POST .../check-runs`."""
    name, sha = sent.get("name"), sent.get("head_sha")
    if not isinstance(name, str) or not name or not isinstance(sha, str):
        return error_answer(422, 'Invalid request.\n\n"name", "head_sha" weren\'t supplied.')
    if (refusal := _wrong_check(sent)) is not None:
        return refusal
    if sha not in catalog.commits:
        return error_answer(422, f"No commit found for SHA: {sha}")
    check = board.check(name, sha)
    _change(board, check, sent)
    drawn = check_json(api_of(request), catalog.past, check)
    return created(drawn, drawn["url"])


def change_check(catalog: Catalog, board: Board, request: Request, sent: Json) -> Response:
    """`PATCH .../check-runs/{id}`."""
    check = next((check for check in board.checks if check.id == request.path_params["check"]), None)
    if check is None:
        return not_found()
    if (refusal := _wrong_check(sent)) is not None:
        return refusal
    _change(board, check, sent)
    return json_answer(check_json(api_of(request), catalog.past, check))


def myself(catalog: Catalog, board: Board, request: Request, sent: Json) -> Response:
    """`GET /user`: refused to the tokens of workflows and Apps."""
    del sent
    if not board.login:
        return error_answer(403, "Resource not accessible by integration")
    joined = moment(catalog.past.commits[0].at)
    counts = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
    names = dict.fromkeys(("name", "company", "blog", "location", "email", "hireable", "bio"))
    told = {**user(api_of(request), board.login), **names, **counts, "created_at": joined, "updated_at": joined}
    return json_answer(told)


def _change(board: Board, check: Check, sent: Json) -> None:
    output = sent.get("output") or {}
    check.external_id = sent.get("external_id", check.external_id)
    check.title, check.summary = output.get("title", check.title), output.get("summary", check.summary)
    check.status = sent.get("status", check.status)
    if "conclusion" in sent:
        check.status, check.conclusion, check.completed_at = "completed", sent["conclusion"], board.now()


def _wrong_body(sent: Json) -> Response | None:
    body = sent.get("body")
    if not isinstance(body, str):
        return error_answer(422, 'Invalid request.\n\n"body" wasn\'t supplied.')
    if not body.strip():
        return _refused("IssueComment", "Body cannot be blank")
    if len(body) > LONGEST_COMMENT:
        return _refused("IssueComment", f"Body is too long (maximum is {LONGEST_COMMENT} characters)")
    return None


def _wrong_check(sent: Json) -> Response | None:
    output = sent.get("output") or {}
    if sent.get("status", "queued") not in STATUSES or sent.get("conclusion", "success") not in CONCLUSIONS:
        return error_answer(422, "Invalid request.\n\nA status or conclusion is not a member of its list.")
    if sent.get("status") == "completed" and "conclusion" not in sent:
        return error_answer(422, 'Invalid request.\n\n"conclusion" wasn\'t supplied.')
    if output and not (output.get("title") and output.get("summary")):
        return error_answer(422, 'Invalid request.\n\n"title", "summary" weren\'t supplied.')
    if len(output.get("summary", "")) > LONGEST_SUMMARY:
        return _refused("CheckRun", f"Summary exceeds a maximum length of {LONGEST_SUMMARY}")
    return None


def _refused(resource: str, message: str) -> Response:
    told = {"resource": resource, "code": "unprocessable", "field": "data", "message": message}
    return error_answer(422, "Validation Failed", errors=[told])


def posting_routes(catalog: Catalog, board: Board) -> list[Route]:
    """The routes over one board; they go before those of the past, whose commits take any path."""

    def serve(taker: Taker, bound: bool = True) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            if bound and not is_of(catalog, request):
                return not_found()
            body = await request.body()
            try:
                sent: Any = json.loads(body) if body else {}
            except ValueError:
                return error_answer(400, "Problems parsing JSON")
            if not isinstance(sent, dict):
                return error_answer(400, "Body should be a JSON object")
            return taker(catalog, board, request, sent)

        return endpoint

    below = "/repos/{owner}/{repo}"
    return [
        Route(f"{below}/issues/{{issue:int}}/comments", serve(comments), methods=["GET"]),
        Route(f"{below}/issues/{{issue:int}}/comments", serve(add_comment), methods=["POST"]),
        Route(f"{below}/issues/comments/{{comment:int}}", serve(comment), methods=["GET", "PATCH"]),
        Route(f"{below}/check-runs", serve(add_check), methods=["POST"]),
        Route(f"{below}/check-runs/{{check:int}}", serve(change_check), methods=["PATCH"]),
        Route(f"{below}/commits/{{ref}}/check-runs", serve(checks), methods=["GET"]),
        Route("/user", serve(myself, bound=False), methods=["GET"]),
    ]
