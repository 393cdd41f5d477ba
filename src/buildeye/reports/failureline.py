"""One failure as one line of a pull request's comment: which job, what failed, how sure, and what comes next.

All that comes from logs, tests and people stands in code spans or is escaped, and is masked once more: it notifies
nobody, links to nothing and breaks nothing.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from buildeye.logs.secrets import mask
from buildeye.model import Cause, Cost, JobFinding, Level, Suggestion, Verdict
from buildeye.reports import headline
from buildeye.reports.commentwords import comment_words, counted
from buildeye.reports.markdown import code, link, prose
from buildeye.reports.origin import (
    OF_TRUNK,
    Told,
    first_seen,
    is_flaky,
    named_culprits,
    origin_phrase,
    tries_phrase,
)
from buildeye.reports.whose import Failure, Whose, is_judged, retry_of
from buildeye.reports.words import Language, category_label, percent, uncapitalised, words
from buildeye.triage.situation import Retry

MOST_NAMED = 5
RERUN = "gh run rerun"

_MARKS = re.compile(r"^(?:E\s+|##\[error\])\s*")
_SHA = re.compile(r"[0-9a-f]{7,40}")
_COSTS = list(Cost)


def failure_line(failure: Failure, language: Language) -> str:
    """The list item of one failure, without a line feed."""
    say = comment_words(language)
    parts = [_sentence(_sure(failure, language), say), *_more(failure, language)]
    return say["item"].format(job=_jobs(failure, say), what=_what(failure.first, say), rest="".join(parts).rstrip())


def runs_to_rerun(failures: Sequence[Failure]) -> list[int]:
    """The runs in which a re-run may help some of these failures, oldest first."""
    helped = (run.run.id for failure in failures for run, job in failure.jobs if retry_of(run, job) is not Retry.NO)
    return sorted(set(helped))


def base_branch(failure: Failure, say: Mapping[str, str]) -> str:
    """The branch that the pull request goes into."""
    pull = failure.jobs[0][0].pull_request
    return literal(pull.base_ref, 60) if pull and pull.base_ref else say["base"]


def literal(text: str, limit: int) -> str:
    """Text of others in a code span, masked; empty for empty text."""
    return code(mask(text), limit)


def quiet(text: str, limit: int = 300) -> str:
    """Text of others as words, masked: `#123` in it refers to nothing, `@name` calls nobody."""
    return prose(mask(text), limit, references=False)


def some(items: Iterable[str], say: Mapping[str, str], most: int = MOST_NAMED) -> str:
    """The first of a list, and how many more there are."""
    listed = list(items)
    told = say["list"].join(listed[:most])
    rest = len(listed) - most
    return say["names.more"].format(list=told, count=rest) if rest > 0 else told


def _jobs(failure: Failure, say: Mapping[str, str]) -> str:
    first, others = failure.jobs[0], failure.jobs[1:]
    run, job = first
    name = literal(job.job.name, 80) or str(job.job.id)
    shown = f"**{link(name, job.job.html_url)}**"
    workflow = literal(run.run.name, 60)
    if workflow and workflow != name:
        shown = say["item.workflow"].format(job=shown, workflow=workflow)
    if not others:
        return shown
    named = [link(literal(o.job.name, 60) or str(o.job.id), o.job.html_url) for _, o in others]
    return counted(say, "item.more", len(others), job=shown, names=some(named, say))


def _what(job: JobFinding, say: Mapping[str, str]) -> str:
    diagnosis = job.diagnosis
    key = diagnosis.key_line
    line = literal(_MARKS.sub("", key.text), 200) if key else ""
    if not diagnosis.tests:
        return line or quiet(diagnosis.summary) or say["what.silent" if is_judged(job.verdict) else "what.unread"]
    number = len(diagnosis.tests)
    form = {1: "tests.one", 2: "tests.two"}.get(number, "tests.many")
    test = literal(diagnosis.tests[0], 120)
    tests = say[form].format(test=test, count=number - 1)
    return say["what"].format(tests=tests, line=line) if line else tests


def _sure(failure: Failure, language: Language) -> str:
    say, verdict = comment_words(language), failure.verdict
    if not is_judged(verdict):
        return say["sure.waiting"]
    if headline.claimed(failure.first) is Cause.UNKNOWN:
        return _unsure(verdict, language)
    label = quiet(category_label(language, verdict.category), 60)
    if failure.whose is Whose.OUTSIDE and verdict.cause is not Cause.INFRASTRUCTURE:
        label = say["label.flaky"].format(label=uncapitalised(label))
    told = say[f"sure.{verdict.level}"].format(label=label, percent=percent(verdict.confidence))
    person = [say["item.person"].format(person=literal(verdict.person, 60))] if verdict.person else []
    return say["comma"].join([told, *_runner(failure, say), *person])


def _unsure(verdict: Verdict, language: Language) -> str:
    """What is said where no cause may be named: which would be next."""
    say = comment_words(language)
    if verdict.level is not Level.NONE:
        return say["label.unknown"]
    told = say["sure.none"].format(label=say["label.unknown"], percent=percent(verdict.confidence))
    cause, probability = next(iter(verdict.otherwise), (Cause.UNKNOWN, 0.0))
    if cause is Cause.UNKNOWN:
        return told
    guess = say["sure.next"].format(cause=words(language)[f"cause.{cause}"], percent=percent(probability))
    return say["comma"].join([say["label.unknown"], guess])


def _runner(failure: Failure, say: Mapping[str, str]) -> list[str]:
    """The runner of a failure of the infrastructure, when all its jobs had the same."""
    names = {job.job.runner_name or "" for _, job in failure.jobs}
    name = names.pop() if len(names) == 1 else ""
    told = name and headline.claimed(failure.first) is Cause.INFRASTRUCTURE
    return [say["item.runner"].format(runner=literal(name, 60))] if told else []


def _more(failure: Failure, language: Language) -> list[str]:
    """What follows the judgement: who or what brought it, how often it passed, or what to do."""
    say = comment_words(language)
    told = Told(failure.verdict, failure.jobs[0][0].pull_request, base_branch(failure, say), language, _span)
    if failure.whose is Whose.OTHERS:
        if failure.verdict.category in OF_TRUNK:
            parts = (_culprits(failure, say), _range(failure, say), _related(failure, say))
        else:
            parts = (origin_phrase(told), "", _related(failure, say))
        return [_sentence(text, say) for text in parts if text]
    tries = tries_phrase(told, say["again"]) if is_flaky(failure.verdict) else ""
    advice = _advice(failure, say)
    return [*([_sentence(tries, say)] if tries else []), *([say["item.do"].format(advice=advice)] if advice else [])]


def _span(text: str) -> str:
    return literal(text, 160)


def _culprits(failure: Failure, say: Mapping[str, str]) -> str:
    verdict = failure.verdict
    sure, culprits = named_culprits(verdict, failure.jobs[0][0].pull_request)
    pair = verdict.category == "concurrent-merge" and len(culprits) > 1 and sure != ".possible"
    named = [
        say["culprit.one"].format(
            change=f"#{culprit.pull_request}" if culprit.pull_request else _commit(failure, culprit.sha),
            percent=percent(culprit.probability),
        )
        for culprit in culprits[: 2 if pair else 3]
    ]
    return say[f"culprit{'.pair' if pair else ''}{sure}"].format(list=some(named, say)) if named else ""


def _range(failure: Failure, say: Mapping[str, str]) -> str:
    branch = base_branch(failure, say)
    found = failure.verdict.merge_range
    if found is None:
        seen = _commit(failure, first_seen(failure.verdict))
        return say["range.open"].format(branch=branch, bad=seen) if seen else ""
    bad, good = _commit(failure, found.bad), _commit(failure, found.good)
    if not good:
        return say["range.open"].format(branch=branch, bad=bad) if bad else ""
    told = say["range.one" if found.merges == 1 else "range"].format(branch=branch, good=good, bad=bad)
    if found.merges < 2:
        return told
    between = link(say["range.count"].format(count=found.merges), f"{_web(failure)}/compare/{found.good}...{found.bad}")
    return say["range.merges"].format(range=told, commits=between)


def _commit(failure: Failure, sha: str) -> str:
    """A commit, linked to its page; empty for what is none."""
    return link(code(sha[:10]), f"{_web(failure)}/commit/{sha}") if _SHA.fullmatch(sha) else ""


def _web(failure: Failure) -> str:
    """The repository's web address, taken from the run; empty when it does not tell."""
    web, mark, _ = failure.jobs[0][0].run.html_url.partition("/actions/")
    return web if mark else ""


def _related(failure: Failure, say: Mapping[str, str]) -> str:
    run = failure.jobs[0][0]
    told = {culprit.pull_request for culprit in failure.verdict.culprits}
    own = run.pull_request.number if run.pull_request else 0
    numbers = failure.verdict.related_pull_requests
    others = [f"#{number}" for number in dict.fromkeys(numbers) if number not in {own, *told}]
    return _capital(say["related"].format(list=some(others, say))) if others else ""


def _advice(failure: Failure, say: Mapping[str, str]) -> str:
    """The cheapest thing to do for this failure alone; re-running is told once for all."""
    given = [*failure.first.diagnosis.suggestions, *_of_run(failure)]
    found = [suggestion for suggestion in given if not suggestion.command.startswith(RERUN)]
    if found:
        return _suggestion(min(found, key=lambda suggestion: _COSTS.index(suggestion.cost)))
    return say["do.change"] if failure.whose is Whose.CHANGE else ""


def _of_run(failure: Failure) -> tuple[Suggestion, ...]:
    run, job = failure.jobs[0]
    return run.suggestions if run.verdict.job_id == job.job.id else ()


def _suggestion(suggestion: Suggestion) -> str:
    title = quiet(suggestion.title, 200)
    command = suggestion.command.strip()
    return f"{title}: {literal(command, 200)}" if command and "\n" not in command else title


def _sentence(text: str, say: Mapping[str, str]) -> str:
    return text.rstrip(".。") + say["stop"] if text else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
