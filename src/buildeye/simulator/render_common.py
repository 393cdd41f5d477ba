"""GitHub's JSON for what every answer contains: people, repositories, times, node ids."""

from base64 import b64encode
from datetime import datetime
from typing import Any
from zlib import crc32

Json = dict[str, Any]

_USER_URLS = {
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
    "organizations_url": "/orgs",
    "repos_url": "/repos",
    "events_url": "/events{/privacy}",
    "received_events_url": "/received_events",
}
_REPOSITORY_URLS = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
}


def moment(at: datetime | None) -> str | None:
    """A time as GitHub writes it, in whole seconds of UTC."""
    return None if at is None else f"{at:%Y-%m-%dT%H:%M:%SZ}"


def number_of(*name: object) -> int:
    """A stable id for a thing that the story gives none."""
    return crc32("/".join(map(str, name)).encode()) + 1_000_000


def node(kind: str, number: int) -> str:
    """A node id of GitHub's look."""
    return f"{kind}_{b64encode(str(number).encode()).decode().rstrip('=')}"


def user(api: str, login: str, kind: str = "User") -> Json:
    """A simple user; `api` is the base URL of the API."""
    number = number_of("user", login)
    url = f"{api}/users/{login}"
    return {
        "login": login,
        "id": number,
        "node_id": node("U", number),
        "avatar_url": f"https://avatars.githubusercontent.com/u/{number}?v=4",
        "gravatar_id": "",
        "url": url,
        "html_url": f"https://github.com/{login}",
        **{key: url + path for key, path in _USER_URLS.items()},
        "type": kind,
        "site_admin": False,
    }


def repository(api: str, owner: str, name: str, fork: bool = False) -> Json:
    """A minimal repository."""
    number = number_of("repository", owner, name)
    url = f"{api}/repos/{owner}/{name}"
    return {
        "id": number,
        "node_id": node("R", number),
        "name": name,
        "full_name": f"{owner}/{name}",
        "private": False,
        "owner": user(api, owner, "User" if fork else "Organization"),
        "html_url": f"https://github.com/{owner}/{name}",
        "description": "A simulated plugin for accelerators",
        "fork": fork,
        "url": url,
        **{key: url + path for key, path in _REPOSITORY_URLS.items()},
    }


def full_repository(api: str, owner: str, name: str, created: datetime, pushed: datetime, open_pulls: int) -> Json:
    """The repository as `GET /repos/{owner}/{repo}` shows it."""
    web = f"github.com/{owner}/{name}"
    counts = {"forks": 41, "open_issues": open_pulls, "watchers": 318}
    return {
        **repository(api, owner, name),
        **{key: value for name_, value in counts.items() for key, value in ((name_, value), (f"{name_}_count", value))},
        "created_at": moment(created),
        "updated_at": moment(pushed),
        "pushed_at": moment(pushed),
        "clone_url": f"https://{web}.git",
        "git_url": f"git://{web}.git",
        "ssh_url": f"git@github.com:{owner}/{name}.git",
        "svn_url": f"https://{web}",
        "mirror_url": None,
        "homepage": "",
        "language": "Python",
        "license": None,
        "default_branch": "main",
        "size": 48211,
        "stargazers_count": 318,
        "network_count": 41,
        "subscribers_count": 23,
        "archived": False,
        "disabled": False,
        "visibility": "public",
        "topics": [],
        **{f"has_{what}": what in ("issues", "projects", "wiki") for what in _FEATURES},
    }


_FEATURES = ("issues", "projects", "wiki", "pages", "downloads", "discussions")
