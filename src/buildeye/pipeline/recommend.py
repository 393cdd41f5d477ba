"""The stage that gives each finding its advice."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from buildeye.model import Finding
from buildeye.triage.advice import advise
from buildeye.triage.templates import Template, packaged_templates


def recommend(
    findings: Iterable[Finding], templates: Sequence[Template] | None = None, base_branch: str = ""
) -> list[Finding]:
    """The findings with what to do about them; without `templates` by those that come with Build-Eye.

    `base_branch` is the branch that is watched, for runs that belong to no pull request.
    """
    known = packaged_templates() if templates is None else templates
    return [replace(finding, suggestions=advise(finding, known, base_branch)) for finding in findings]
