"""What is written to GitHub: comments on a pull request, and check runs on a commit. Nothing is posted twice.

A POST whose answer was lost is looked for before it is sent again: a comment by its first line, a check run by its name
and its mark.
"""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import httpx2

from buildeye.github.answers import Answers
from buildeye.github.convert import Fields
from buildeye.github.facts import Comment, PostedCheck
from buildeye.github.wire import Asked, ForbiddenError, NotFoundError, Wire, read_json

COMMENTS = "pull requests: write"
CHECKS = "checks: write"
MARK = "build-eye"
"""The `external_id` of check runs of ours."""
SOME_BOT = "[bot]"
"""Stands for the login of an App whose name is not known."""


class Posting:
    """Writes to one repository (`owner`, `repo`). Every method raises OutsideError when GitHub fails or refuses.

    ForbiddenError: the token may not. NotFoundError: there is no such pull request, comment or commit.
    """

    def __init__(self, wire: Wire, client: httpx2.Client, per_page: int, owner: str, repo: str) -> None:
        self._wire = wire
        self._client = client
        self._answers = Answers(wire, client, per_page)
        self._name = f"{owner}/{repo}"
        self._path = f"/repos/{quote(owner, safe='')}/{quote(repo, safe='')}"

    def login(self) -> str:
        """The login that the token belongs to; SOME_BOT for an App's, which may not ask, empty when nobody tells."""
        try:
            data = self._answers.one("/user", Asked(self._name, "user of the token"))
        except ForbiddenError:
            return SOME_BOT
        except NotFoundError:
            return ""
        return Fields(data, "the user of the token").text("login")

    def comments(self, number: int) -> list[Comment]:
        """All comments on a pull request, oldest first."""
        asked = Asked(self._name, f"pull request {number}", COMMENTS)
        pages = self._answers.pages(f"{self._path}/issues/{number}/comments", {}, asked)
        return sorted((comment_from(entry) for page in pages for entry in page), key=lambda comment: comment.id)

    def create_comment(self, number: int, body: str, find: Callable[[], Comment | None]) -> Comment:
        """Post a comment; `find` looks for it among those that are there."""
        asked = Asked(self._name, f"comment on pull request {number}", COMMENTS)
        path = f"{self._path}/issues/{number}/comments"
        return self._wire.post(
            self._client, path, {"body": body}, asked, lambda answer: comment_from(read_json(answer)), find
        )

    def edit_comment(self, comment: Comment, body: str) -> Comment:
        """Give a comment another text."""
        asked = Asked(self._name, f"comment {comment.id}", COMMENTS)
        path = f"{self._path}/issues/comments/{comment.id}"
        return comment_from(self._wire.patch(self._client, path, {"body": body}, asked))

    def checks(self, sha: str, name: str) -> list[PostedCheck]:
        """The check runs of one name on a commit, the newest of each App, oldest first."""
        asked = Asked(self._name, f"commit {sha}", "checks: read")
        path = f"{self._path}/commits/{quote(sha, safe='')}/check-runs"
        pages = self._answers.pages(path, {"check_name": name, "filter": "latest"}, asked, "check_runs")
        return sorted((check_from(entry) for page in pages for entry in page), key=lambda check: check.id)

    def create_check(
        self, sha: str, name: str, conclusion: str, title: str, summary: str, find: Callable[[], PostedCheck | None]
    ) -> PostedCheck:
        """Post a completed check run on a commit; `find` looks for it among those that are there."""
        asked = Asked(self._name, f"check run on {sha[:10]}", CHECKS)
        body = {"name": name, "head_sha": sha, "external_id": MARK, **_outcome(conclusion, title, summary)}
        path = f"{self._path}/check-runs"
        return self._wire.post(self._client, path, body, asked, lambda answer: check_from(read_json(answer)), find)

    def edit_check(self, check: PostedCheck, conclusion: str, title: str, summary: str) -> PostedCheck:
        """Let a check run end otherwise."""
        asked = Asked(self._name, f"check run {check.id}", CHECKS)
        path = f"{self._path}/check-runs/{check.id}"
        return check_from(self._wire.patch(self._client, path, _outcome(conclusion, title, summary), asked))


def comment_from(data: object) -> Comment:
    """A comment on an issue or a pull request."""
    fields = Fields(data, "a comment")
    author = fields.within("user")
    return Comment(
        fields.number("id"),
        fields.text("body", optional=True),
        author.text("login", optional=True),
        author.text("type", optional=True) == "Bot",
        fields.within("performed_via_github_app").number("id", 0),
        fields.text("html_url", optional=True),
    )


def check_from(data: object) -> PostedCheck:
    """A check run with what it shows."""
    fields = Fields(data, "a check run")
    output = fields.within("output")
    return PostedCheck(
        fields.number("id"),
        fields.required_text("status"),
        fields.text("conclusion", optional=True),
        output.text("title", optional=True),
        output.text("summary", optional=True),
        fields.text("external_id", optional=True),
        fields.within("app").number("id", 0),
        fields.text("html_url", optional=True),
    )


def _outcome(conclusion: str, title: str, summary: str) -> Mapping[str, Any]:
    output = {"title": title, "summary": summary}
    return {"status": "completed", "conclusion": conclusion, "output": output}
