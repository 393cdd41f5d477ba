"""Why an answer is empty: nothing failed, or nothing is known? Who asks would take the second for the first."""

from typing import Final

from buildeye.warehouse import Warehouse

_NAMED: Final = 5


def why_nothing(warehouse: Warehouse, repository: str, branch: str = "") -> str:
    """A sentence that nothing is known of a repository (`owner/name`), or of its branch; '' when something is.

    Raises what `Warehouse.ask` raises.
    """
    held = [str(row["repository_full_name"]) for row in warehouse.ask("repositories")]
    if repository not in held:
        names = ", ".join(held[:_NAMED]) + (f" and {len(held) - _NAMED} more" if len(held) > _NAMED else "")
        return f"the warehouse holds nothing of {repository}; it holds {names or 'nothing at all'}"
    if branch and not warehouse.ask("branch_commits", repository=repository, branch=branch, limit=1, ending=""):
        return f"the warehouse knows no commit of {branch} of {repository}"
    return ""
