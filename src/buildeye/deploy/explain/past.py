"""Past deployments with what CI says of their commits: the rows of `deploy history`."""

from collections.abc import Iterable, Mapping

from buildeye.deploy.standing import PastDeployment
from buildeye.insight.commits import CommitStory
from buildeye.model.deployments import Deployment


def past_of(
    deployments: Iterable[Deployment], stories: Mapping[str, CommitStory], reports: Mapping[str, str] | None = None
) -> list[PastDeployment]:
    """A row each, in the order given. `stories` is by commit, `reports` the path of a report by deployment id."""
    return [_past(each, stories.get(each.commit), (reports or {}).get(each.id, "")) for each in deployments]


def _past(deployment: Deployment, story: CommitStory | None, report: str) -> PastDeployment:
    lasted = deployment.closed.since(deployment.created) if deployment.closed else None
    if story is None or not deployment.commit:
        return PastDeployment(deployment, lasted, report=report)
    overruled = tuple(f"{job.name} {job.word}" for job in story.overruled)
    return PastDeployment(deployment, lasted, story.sentence, story.green, overruled, report)
