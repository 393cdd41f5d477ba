"""GitHub's JSON for commits, comparisons and pull requests."""

from collections.abc import Sequence
from hashlib import sha1
from typing import Any

from buildeye.model import PullRequest
from buildeye.simulator.catalog import Catalog
from buildeye.simulator.facts import Commit
from buildeye.simulator.render_common import Json, moment, node, number_of, repository, user

_LINKS = ("self", "html", "issue", "comments", "review_comments", "review_comment", "commits", "statuses")


def file_entry(api: str, full_name: str, sha: str, path: str) -> Json:
    """One changed file, with counts that depend on its path and commit only."""
    added, removed = number_of("added", sha, path) % 80 + 1, number_of("removed", sha, path) % 30
    patch = "\n".join([f"@@ -1,{removed} +1,{added} @@", *["-    old = 1"] * removed, *["+    new = 2"] * added])
    return {
        "sha": sha1(f"{sha}/{path}".encode(), usedforsecurity=False).hexdigest(),
        "filename": path,
        "status": "modified",
        "additions": added,
        "deletions": removed,
        "changes": added + removed,
        "blob_url": f"https://github.com/{full_name}/blob/{sha}/{path}",
        "raw_url": f"https://github.com/{full_name}/raw/{sha}/{path}",
        "contents_url": f"{api}/repos/{full_name}/contents/{path}?ref={sha}",
        "patch": patch,
    }


def tree_of(sha: str) -> str:
    """The sha of the tree of a commit."""
    return sha1(f"tree/{sha}".encode(), usedforsecurity=False).hexdigest()


def _signature(commit: Commit) -> Json:
    return {"name": commit.author, "email": f"{commit.author}@example.org", "date": moment(commit.at)}


def simple_commit(commit: Commit) -> Json:
    """The commit as a run shows it."""
    person = {key: value for key, value in _signature(commit).items() if key != "date"}
    return {
        "id": commit.sha,
        "tree_id": tree_of(commit.sha),
        "message": commit.message,
        "timestamp": moment(commit.at),
        "author": person,
        "committer": person,
    }


def commit_json(api: str, full_name: str, commit: Commit, detailed: bool = False) -> Json:
    """A commit; `detailed` adds what only `GET /commits/{ref}` shows: files and their counts."""
    url = f"{api}/repos/{full_name}/commits/{commit.sha}"
    web = f"https://github.com/{full_name}/commit/"
    verification = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}
    tree = {"sha": tree_of(commit.sha), "url": f"{api}/repos/{full_name}/git/trees/{tree_of(commit.sha)}"}
    answer: Json = {
        "sha": commit.sha,
        "node_id": node("C", number_of("commit", commit.sha)),
        "url": url,
        "html_url": web + commit.sha,
        "comments_url": f"{url}/comments",
        "commit": {
            "url": f"{api}/repos/{full_name}/git/commits/{commit.sha}",
            "author": _signature(commit),
            "committer": _signature(commit),
            "message": commit.message,
            "comment_count": 0,
            "tree": tree,
            "verification": verification,
        },
        "author": user(api, commit.author),
        "committer": user(api, commit.author),
        "parents": [
            {"sha": parent, "url": f"{api}/repos/{full_name}/commits/{parent}", "html_url": web + parent}
            for parent in commit.parents
        ],
    }
    if detailed:
        files = [file_entry(api, full_name, commit.sha, path) for path in commit.files]
        added, removed = (sum(file[key] for file in files) for key in ("additions", "deletions"))
        answer |= {"stats": {"additions": added, "deletions": removed, "total": added + removed}, "files": files}
    return answer


def comparison(api: str, catalog: Catalog, base: Commit, head: Commit) -> Json | None:
    """What `head` has that `base` has not; None when they share no history."""
    full_name = catalog.past.full_name
    ours, theirs = catalog.history(base), catalog.history(head)
    known = {commit.sha for commit in ours}
    fork = next((commit for commit in theirs if commit.sha in known), None)
    if fork is None:
        return None
    ahead, behind = theirs[: theirs.index(fork)], ours[: ours.index(fork)]
    status = {(False, False): "identical", (True, False): "ahead", (False, True): "behind", (True, True): "diverged"}
    paths = sorted({path for commit in ahead for path in commit.files})
    web = f"https://github.com/{full_name}/compare/{base.sha}...{head.sha}"
    return {
        "url": f"{api}/repos/{full_name}/compare/{base.sha}...{head.sha}",
        "html_url": web,
        "permalink_url": web,
        "diff_url": f"{web}.diff",
        "patch_url": f"{web}.patch",
        "base_commit": commit_json(api, full_name, base),
        "merge_base_commit": commit_json(api, full_name, fork),
        "status": status[bool(ahead), bool(behind)],
        "ahead_by": len(ahead),
        "behind_by": len(behind),
        "total_commits": len(ahead),
        "commits": [commit_json(api, full_name, commit) for commit in reversed(ahead)],
        "files": [file_entry(api, full_name, head.sha, path) for path in paths],
    }


def head_owner(catalog: Catalog, pull: PullRequest) -> str:
    """Who owns the repository that the branch of a pull request lives in."""
    return pull.author if pull.author in catalog.past.forks else catalog.past.owner


def _side(api: str, owner: str, name: str, home: str, ref: str, sha: str) -> Json:
    number = number_of("repository", owner, name)
    extra = {
        "clone_url": f"https://github.com/{owner}/{name}.git",
        "default_branch": "main",
        "visibility": "public",
        "has_issues": True,
        "has_projects": True,
        "has_wiki": True,
        "has_pages": False,
        "has_downloads": False,
        "has_discussions": False,
        "archived": False,
        "disabled": False,
        "mirror_url": None,
        "homepage": None,
        "language": "Python",
        "license": None,
        "size": 48211,
        "pushed_at": "2026-01-01T00:00:00Z",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "git_url": f"git://github.com/{owner}/{name}.git",
        "ssh_url": f"git@github.com:{owner}/{name}.git",
        "svn_url": f"https://github.com/{owner}/{name}",
        **dict.fromkeys(("forks", "forks_count", "open_issues", "open_issues_count", "watchers"), 0),
        **dict.fromkeys(("watchers_count", "stargazers_count"), number % 50),
    }
    return {
        "label": f"{owner}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": user(api, owner),
        "repo": {**repository(api, owner, name, owner != home), **extra},
    }


def pull_json(api: str, catalog: Catalog, pull: PullRequest, detailed: bool = False) -> Json:
    """A pull request; `detailed` adds what only `GET /pulls/{n}` shows."""
    past = catalog.past
    url, issue = (f"{api}/repos/{past.full_name}/{kind}/{pull.number}" for kind in ("pulls", "issues"))
    number = number_of("pull", pull.number)
    done = moment(pull.updated_at) if pull.state == "closed" else None
    statuses = f"{api}/repos/{past.full_name}/statuses/{pull.head_sha}"
    review_comment = f"{api}/repos/{past.full_name}/pulls/comments{{/number}}"
    comments = (f"{issue}/comments", f"{url}/comments", review_comment)
    links = (url, pull.html_url, issue, *comments, f"{url}/commits", statuses)
    answer: Json = {
        "url": url,
        "id": number,
        "node_id": node("PR", number),
        "html_url": pull.html_url,
        "diff_url": f"{pull.html_url}.diff",
        "patch_url": f"{pull.html_url}.patch",
        "issue_url": issue,
        **{f"{name}_url": link for name, link in zip(_LINKS[3:], links[3:], strict=True)},
        "number": pull.number,
        "state": pull.state,
        "locked": False,
        "title": pull.title,
        "user": user(api, pull.author),
        "body": None,
        "labels": [],
        "milestone": None,
        "created_at": moment(pull.created_at),
        "updated_at": moment(pull.updated_at),
        "closed_at": done,
        "merged_at": moment(pull.merged_at),
        "merge_commit_sha": pull.merge_commit_sha,
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "head": _side(api, head_owner(catalog, pull), past.name, past.owner, pull.head_ref, pull.head_sha),
        "base": _side(api, past.owner, past.name, past.owner, pull.base_ref, pull.base_sha),
        "_links": {name: {"href": link} for name, link in zip(_LINKS, links, strict=True)},
        "author_association": "CONTRIBUTOR",
        "auto_merge": None,
        "draft": False,
    }
    return answer | _details(api, catalog, pull) if detailed else answer


def _details(api: str, catalog: Catalog, pull: PullRequest) -> Json:
    entries: Sequence[Json] = [
        file_entry(api, catalog.past.full_name, pull.head_sha, path) for path in pull.changed_files
    ]
    merged = pull.merged_at is not None
    counts: dict[str, Any] = {key: sum(entry[key] for entry in entries) for key in ("additions", "deletions")}
    return counts | {
        "changed_files": len(entries),
        "comments": 0,
        "review_comments": 0,
        "commits": sum(commit.pull == pull.number and commit.branch != "main" for commit in catalog.past.commits),
        "merged": merged,
        "mergeable": None if pull.state == "closed" else True,
        "rebaseable": None,
        "mergeable_state": "unknown" if pull.state == "closed" else "clean",
        "maintainer_can_modify": False,
        "merged_by": user(api, "maint-lu") if merged else None,
    }
