"""The fixed words of a deployment's report, once a language; what judges and people said is not translated."""

import json
from collections.abc import Mapping
from typing import Final

from buildeye.model.deployments import Deployment, SignalKind, State
from buildeye.reports.words import Language

SIGNAL_NAMES: Final = {
    SignalKind.PROCESS: "process",
    SignalKind.HTTP: "http",
    SignalKind.CANARY: "canary",
    SignalKind.RATE: "rate",
}
"""Signals as people say them."""

HAPPENED: Final = {
    "start": "its process is being started",
    "started": "its process runs; waiting until it is healthy",
    "start_failed": "its process did not start",
    "healthy": "it is healthy",
    "unhealthy": "it did not become healthy; the old version still serves",
    "cut_over": "requests are being sent to it",
    "switched": "requests go to it; the previous version stays warm",
    "switch_failed": "requests could not be sent to it",
    "anomaly": "a signal failed",
    "roll_back": "requests go back to the previous version",
    "hold": "held: a person must look",
    "returned": "the previous version serves again",
    "return_failed": "the previous version could not take over; this one still serves",
    "clean": "watched to the end, nothing bad was seen",
    "deadline": "too little was seen to call it clean; it stays in service",
    "ask": "a person must look",
    "resume": "watched again",
    "promote": "promoted by a person",
    "supersede": "a later deployment took over",
    "abort": "aborted; it got no requests",
}
"""What an event of a deployment says that gives no reason of its own, by its name."""


_ENGLISH: Final = {
    State.HEALTH_FAILED: "never became healthy, it got no requests",
    State.ANOMALY_DETECTED: "bad, a return to {previous} begins",
    State.ROLLING_BACK: "being rolled back to {previous}",
    State.ROLLED_BACK: "rolled back to {previous}",
    State.ROLLBACK_FAILED: "still serves although it is bad, {previous} could not take over",
    State.CLOSED_INSUFFICIENT_DATA: "too little was seen to call it clean, it stays in service",
    State.NEEDS_ATTENTION: "a person must look, it stays in service",
    "no-previous": "an earlier version",
    "after": " after ",
    "because": ": ",
    "join": " ",
    "http-down": "{in_a_row} failed health checks",
    "http-flaps": "{failed} of {probes} health checks failed",
    "crashes": "{within} crashes",
    "slow-crashes": "{within} crashes",
    "process-ended": "its process ended",
    "canary-failed": "a canary task failed twice",
    "rate-fell": "only {approved} of {judged} tasks were approved",
    "both-fail": "both versions fail their health checks",
    "environment": "both versions fail the canary task",
    "summary.served": "`{version}` got requests from {cutover} on{lasted}.",
    "summary.lasted": ", for {span}",
    "summary.never": "`{version}` never got requests.",
    "summary.back": "`{previous}` serves again.",
    "summary.kept": "`{previous}` serves as before.",
    "summary.stays": "`{version}` still serves.",
    "summary.ci": "CI of its commit: {sentence}.",
    "summary.forced": "It was deployed by force, although a version of this name was bad before.",
    "section.summary": "Summary",
    "section.seen": "What was seen",
    "section.boundary": "The boundary of the approval rate",
    "section.timeline": "Timeline",
    "section.ci": "CI of its commit",
    "section.log": "Log of the version",
    "section.next": "What to do next",
    "column.signal": "Signal",
    "column.status": "Status",
    "column.says": "What it says",
    "column.numbers": "Numbers",
    "column.when": "When (UTC)",
    "column.state": "State",
    "column.what": "What happened",
    "column.by": "By",
    "boundary": "A version that changed nothing {fails}. It stood at {good} of {judged}{p}.",
    "boundary.p": " (p = {p:.2g})",
    "seen.nothing": "No signal was sampled.",
    "ci.unknown": "No commit was given: `--commit SHA` links a deployment with its runs.",
    "log.reason": "**Diagnosis:** {cause} / {category}, {percent} % sure. {summary}",
    "log.none": "No log of its process was kept.",
    "next.look": "Look at the numbers once more:",
    "next.fix": "Mend it, and deploy the mended version:",
    "next.force": "Was it not the version's fault? Deploy it again by force:",
    "next.watch": "See how the return goes:",
    "next.back": "Go back by hand, if you know a version that works:",
    "next.return": "Go back if you do not trust it:",
    "next.promote": "Call it good, if you know better:",
    "next.resume": "Or let it be watched on, when what disturbed the checks is over:",
    "next.verdict": "See what CI held of the failures of this commit:",
}

_CHINESE: Final = {
    State.HEALTH_FAILED: "未能变为健康，没有接收任何请求",
    State.ANOMALY_DETECTED: "有问题，开始回到 {previous}",
    State.ROLLING_BACK: "正在回滚到 {previous}",
    State.ROLLED_BACK: "已回滚到 {previous}",
    State.ROLLBACK_FAILED: "有问题但仍在服务，{previous} 无法接替",
    State.CLOSED_INSUFFICIENT_DATA: "观察到的数据太少，不能称为干净，继续服务",
    State.NEEDS_ATTENTION: "需要人来看，继续服务",
    "no-previous": "更早的版本",
    "after": "：",
    "because": "：",
    "join": " ",
    "http-down": "连续 {in_a_row} 次健康检查失败",
    "http-flaps": "{probes} 次健康检查中 {failed} 次失败",
    "crashes": "进程崩溃 {within} 次",
    "slow-crashes": "进程崩溃 {within} 次",
    "process-ended": "进程结束",
    "canary-failed": "金丝雀任务失败两次",
    "rate-fell": "{judged} 个任务中只有 {approved} 个通过",
    "both-fail": "新旧版本的健康检查都失败",
    "environment": "新旧版本的金丝雀任务都失败",
    "summary.served": "`{version}` 从 {cutover} 起接收请求{lasted}。",
    "summary.lasted": "，历时 {span}",
    "summary.never": "`{version}` 从未接收请求。",
    "summary.back": "`{previous}` 重新服务。",
    "summary.kept": "`{previous}` 照常服务。",
    "summary.stays": "`{version}` 仍在服务。",
    "summary.ci": "其提交的 CI：{sentence}。",
    "summary.forced": "这是强制部署：同名版本此前有问题。",
    "section.summary": "摘要",
    "section.seen": "观察到的信号",
    "section.boundary": "通过率的边界",
    "section.timeline": "时间线",
    "section.ci": "其提交的 CI",
    "section.log": "该版本的日志",
    "section.next": "下一步",
    "column.signal": "信号",
    "column.status": "状态",
    "column.says": "说明",
    "column.numbers": "数字",
    "column.when": "时间（UTC）",
    "column.state": "状态",
    "column.what": "发生了什么",
    "column.by": "由谁",
    "boundary": "没有变化的版本 {fails}。当时为 {judged} 个中 {good} 个{p}。",
    "boundary.p": "（p = {p:.2g}）",
    "seen.nothing": "没有采样任何信号。",
    "ci.unknown": "没有给出提交：`--commit SHA` 把部署与其运行联系起来。",
    "log.reason": "**诊断：** {cause} / {category}，把握 {percent} %。{summary}",
    "log.none": "没有保留其进程的日志。",
    "next.look": "再看一遍数字：",
    "next.fix": "修好后部署新版本：",
    "next.force": "如果不是该版本的错，强制重新部署：",
    "next.watch": "看回滚的进展：",
    "next.back": "如果知道一个可用的版本，手动回去：",
    "next.return": "如果不信任它，回去：",
    "next.promote": "如果你更清楚，认定它为好：",
    "next.resume": "或者等干扰检查的情况过去后继续观察：",
    "next.verdict": "看 CI 对该提交的失败的判断：",
}

BECAUSE: Final = ("http-down", "http-flaps", "crashes", "slow-crashes", "process-ended", "canary-failed", "rate-fell",
                  "both-fail", "environment")  # fmt: skip
"""The reasons of judges that a title tells in words of its own; the numbers in them are the judge's."""

_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {"en": _ENGLISH, "zh": _CHINESE}


def deploy_words(language: Language) -> Mapping[str, str]:
    """The table of one language; a state's claim is under the state's own name."""
    return _WORDS[language]


def why_rolled_back(deployment: Deployment) -> str:
    """The sentence of a deployment's `rollback_reason`: that of the signal, where a signal as JSON stands there."""
    try:
        signal = json.loads(deployment.rollback_reason)
    except ValueError:
        return deployment.rollback_reason
    if not isinstance(signal, dict):
        return deployment.rollback_reason
    name = str(signal.get("signal_type") or signal.get("signal") or "")
    says = str(signal.get("says") or signal.get("detail") or signal.get("reason") or "failed")
    known = {kind.value: word for kind, word in SIGNAL_NAMES.items()}
    return ": ".join(filter(None, (known.get(name, name), says)))
