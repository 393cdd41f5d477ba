"""What clients wrote: comments and check runs, in memory, and GitHub's JSON for them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from buildeye.simulator.facts import Past
from buildeye.simulator.render_common import Json, moment, node, number_of, user

ACTIONS = "github-actions[bot]"
"""Who writes with the token of a workflow."""
APP_ID = 15368
"""The App that such tokens belong to."""


@dataclass(slots=True)
class Post:
    """One comment on an issue or a pull request."""

    id: int
    issue: int
    body: str
    author: str
    created_at: datetime
    updated_at: datetime


@dataclass(slots=True)
class Check:
    """One check run; `title` and `summary` are of its output."""

    id: int
    name: str
    head_sha: str
    status: str = "queued"
    conclusion: str | None = None
    external_id: str = ""
    title: str | None = None
    summary: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None


@dataclass(slots=True)
class Board:
    """All that was written so far. `login` writes; `clock` gives Unix time. Tests may put posts of others here."""

    login: str
    clock: Callable[[], float]
    comments: list[Post] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    _last: int = 3_500_000_000

    def now(self) -> datetime:
        """The time by this board's clock."""
        return datetime.fromtimestamp(self.clock(), UTC)

    def comment(self, issue: int, body: str, author: str | None = None) -> Post:
        """Add a comment, by the owner of the token unless told."""
        post = Post(self._next(), issue, body, author or self.login or ACTIONS, self.now(), self.now())
        self.comments.append(post)
        return post

    def check(self, name: str, head_sha: str) -> Check:
        """Add a check run."""
        check = Check(self._next(), name, head_sha, started_at=self.now())
        self.checks.append(check)
        return check

    def comments_on(self, issue: int) -> Iterator[Post]:
        """The comments of one issue or pull request, oldest first."""
        return (post for post in self.comments if post.issue == issue)

    def _next(self) -> int:
        self._last += 1
        return self._last


def comment_json(api: str, past: Past, post: Post) -> Json:
    """A comment."""
    url = f"{api}/repos/{past.full_name}/issues"
    web = f"https://github.com/{past.full_name}/pull/{post.issue}"
    is_bot = post.author.endswith("[bot]")
    return {
        "url": f"{url}/comments/{post.id}",
        "html_url": f"{web}#issuecomment-{post.id}",
        "issue_url": f"{url}/{post.issue}",
        "id": post.id,
        "node_id": node("IC", post.id),
        "user": user(api, post.author, "Bot" if is_bot else "User"),
        "created_at": moment(post.created_at),
        "updated_at": moment(post.updated_at),
        "author_association": "NONE" if is_bot else "CONTRIBUTOR",
        "body": post.body,
        "performed_via_github_app": None,
    }


def check_json(api: str, past: Past, check: Check) -> Json:
    """A check run."""
    url = f"{api}/repos/{past.full_name}/check-runs/{check.id}"
    web = f"https://github.com/{past.full_name}/runs/{check.id}"
    return {
        "id": check.id,
        "name": check.name,
        "node_id": node("CR", check.id),
        "head_sha": check.head_sha,
        "external_id": check.external_id,
        "url": url,
        "html_url": web,
        "details_url": web,
        "status": check.status,
        "conclusion": check.conclusion,
        "started_at": moment(check.started_at),
        "completed_at": moment(check.completed_at),
        "output": {
            "title": check.title,
            "summary": check.summary,
            "text": None,
            "annotations_count": 0,
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": number_of("suite", check.head_sha)},
        "app": _app_json(api),
        "pull_requests": [],
    }


def _app_json(api: str) -> Json:
    return {
        "id": APP_ID,
        "slug": "github-actions",
        "node_id": node("A", APP_ID),
        "client_id": "Iv1.05c79e9ad1f6bdfa",
        "owner": user(api, "github", "Organization"),
        "name": "GitHub Actions",
        "description": "Automate your workflow from idea to production",
        "external_url": "https://help.github.com/en/actions",
        "html_url": "https://github.com/apps/github-actions",
        "created_at": "2018-07-30T09:30:17Z",
        "updated_at": "2024-04-10T20:33:16Z",
        "permissions": {"checks": "write", "pull_requests": "write", "actions": "write"},
        "events": [],
    }
