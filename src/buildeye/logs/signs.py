"""Lines in which tools say what they installed, pulled or are: how to find them in raw bytes, and what they name.

Formats are those that the tools print on Linux runners. A line counts only in its whole form, from its first character
on, so that a test which prints something alike adds nothing.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from buildeye.model.environment import ThingKind

CONDA, SYSTEM = 1, 2
"""Ranks: what conda installs for the sake of other packages, and packages of the operating system."""

Named = Iterable[tuple[str, str]]
"""Names and values."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A line that names something.

    `raw` finds its line in raw bytes (a linear-time pattern, without anchors); rows of tables need none. `line` reads
    the cleaned line: its groups are `name` and `value`, and `name` here stands for the group where the line has none.
    With `pair`, one line gives the name and another the value. `opens` is a table that begins after the line. The names
    of `python` packages are compared as the Python index does; of too many things those with a high `rank` give way
    first; `gems` count only where bundler itself was seen.
    """

    kind: ThingKind
    line: re.Pattern[str]
    raw: str = ""
    name: str = ""
    read: Callable[[re.Match[str]], Named] | None = None
    python: bool = False
    rank: int = 0
    gems: bool = False
    pair: str = ""
    opens: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below a heading: the first comes within `start` lines, and `gap` lines may be between two."""

    rows: tuple[Sign, ...]
    start: int
    gap: int = 0


_NAME = r"(?P<name>[A-Za-z0-9][\w.+-]{0,120})"
_NPM = r"(?P<name>(?:@[\w.~-]{1,80}/)?[A-Za-z0-9][\w.-]{0,120})"
_VALUE = r"(?P<value>\d[\w.+!~:-]{0,80})"
_DOTTED = r"(?P<value>\d+(?:\.\d+)+[\w.+!-]{0,60})"
_SHA = r"(?P<value>[0-9a-f]{40})"
_DIGEST = r"(?P<value>sha256:[0-9a-f]{64})"
_IMAGE = r"(?P<name>[a-z0-9][\w./:-]{0,250})"
_REPOSITORY = r"(?P<name>[\w.-]{1,100}/[\w.-]{1,100})"
_PLUGIN = r"(?:[a-z0-9-]+-maven-plugin|maven-[a-z0-9-]+-plugin)"
_JAR_RAW = r"Download(ed|ing)?( from \S+)?:? https?://\S+\.jar"
_JAR = (
    r"^Download(?:ed)?(?: from \S+)?:? https?://\S+/{but}(?P<name>[^/\s]+)/(?P<folder>\d[^/\s]*)"
    r"/(?P=name)-(?P<file>[^/\s]+)\.jar(?: .*)?$"
)


def _items(text: str) -> Named:
    """`a-1.2 b-c-3.4`: the version is what follows the last dash."""
    for item in re.split(r",? +", text):
        name, _, value = item.rpartition("-")
        if name and value[:1].isdigit():
            yield name, value


def _installed(found: re.Match[str]) -> Named:
    return _items(found["items"])


def _pytest_header(found: re.Match[str]) -> Named:
    yield "python", found["python"]
    yield from _items(found["items"])


def _plugins(found: re.Match[str]) -> Named:
    return ((f"pytest plugin {name}", value) for name, value in _items(found["items"]))


def _nothing(_found: re.Match[str]) -> Named:
    """A row that belongs to its table and names nothing from outside, such as a package of the workspace."""
    return ()


def _jar(found: re.Match[str]) -> Named:
    """A snapshot is what was deployed last under its version, so the time in the name of its file is its value."""
    folder, file = found["folder"], found["file"]
    base = folder.removesuffix("-SNAPSHOT")
    deployed = re.match(re.escape(base) + r"-\d{8}\.\d{6}-\d+", file) if base != folder else None
    if deployed:
        yield found["name"], deployed[0]
    elif file.startswith(folder):
        yield found["name"], folder


def _git_package(found: re.Match[str]) -> Named:
    """A package that cargo or uv took from a repository: its commit is part of what it is."""
    commit = found["commit"]
    yield found["name"], f"{found['value']}#{commit}" if commit else found["value"]


def _image(raw: str, line: str, **more: str) -> Sign:
    return Sign("image", re.compile(line), raw, **more)  # type: ignore[arg-type]


def _tool(raw: str, line: str, name: str = "", **more: str) -> Sign:
    return Sign("tool", re.compile(line), raw, name, **more)  # type: ignore[arg-type]


def _python(raw: str, line: str, read: Callable[[re.Match[str]], Named] | None = None) -> Sign:
    return Sign("package", re.compile(line), raw, read=read, python=True)


def _conda(raw: str, line: str) -> Sign:
    return Sign("package", re.compile(line), raw, python=True, rank=CONDA)


def _package(raw: str, line: str, read: Callable[[re.Match[str]], Named] | None = None) -> Sign:
    return Sign("package", re.compile(line), raw, read=read)


def _system(raw: str, line: str) -> Sign:
    return Sign("package", re.compile(line), raw, rank=SYSTEM)


IMAGES = (
    _image(r"Digest: sha256:[0-9a-f]", rf"^Digest: {_DIGEST}$", pair="pull"),
    _image(
        r"Status: (Downloaded newer image|Image is up to date) for ",
        rf"^Status: (?:Downloaded newer image|Image is up to date) for {_IMAGE}(?:@sha256:[0-9a-f]{{64}})?$",
        pair="pull",
    ),
    _image(r"FROM \S+@sha256:", rf"^(?:#\d+ )?(?:\[[^\]]{{1,120}}\] )?FROM {_IMAGE}@{_DIGEST}(?: [aA][sS] \S+)?$"),
    _image(r"resolve \S+@sha256:", rf"^(?:#\d+ )?resolve {_IMAGE}@{_DIGEST}(?: [\d.]+s)?(?: done)?$"),
    _image(r"docker-image://\S+@sha256:", rf"^(?:#\d+ )?docker-image://{_IMAGE}@{_DIGEST}$"),
    _image(r"with digest \S+@sha256:", rf"^Using [dD]ocker image \S+ for {_IMAGE} with digest \S+@{_DIGEST}\b"),
    _image(r"sing( docker)? image \S+@sha256:", rf"^Using(?: docker)? image:? {_IMAGE}@{_DIGEST}\b"),
    _image(r"uccessfully pulled image ", rf'\bSuccessfully pulled image "{_IMAGE}(?:@{_DIGEST})?"(?: in |$)'),
    _image(
        r"[iI]mage ?ID\W{1,8}\S+@sha256:",
        rf'^\s*"?[iI]mage ?ID"?:\s+"?(?:docker-pullable://)?{_IMAGE}@{_DIGEST}"?,?$',
    ),
    _image(r"##\[group\]Initialize containers", r"^##\[group\]Initialize containers$", opens="containers"),
    _image(r"##\[group\] ?Inputs\s", r"^##\[group\] ?Inputs$", opens="inputs"),
)

PACKAGES = (
    _python(r"Successfully installed [A-Za-z0-9]", r"^\s*Successfully installed (?P<items>\S.*)$", _installed),
    _python(
        r"Requirement already satisfied: ",
        rf"^\s*Requirement already satisfied: {_NAME}(?![\w.+-])(?:\[[^\]]{{1,100}}\])?[^(]{{0,300}} in \S+"
        r"(?: \(from [^()]{1,1000}\))? \((?P<value>\d[^()\s]*)\)$",
    ),
    _python(
        r" [+~] [A-Za-z0-9._-]+==[0-9]",
        rf"^ [+~] {_NAME}=={_VALUE}(?: \(from git\+\S+@(?P<commit>[0-9a-f]{{7,40}})\))?$",
        _git_package,
    ),
    _python(r"\[(pip3|conda)\] \S+(==| +)[0-9]", rf"^\[(?:pip3|conda)\] {_NAME}(?:==| +){_VALUE}(?: .*)?$"),
    _conda(r"Linking [A-Za-z0-9_.-]+-[0-9]", r"^Linking (?P<name>[\w.-]{1,120})-(?P<value>\d[\w.+!]*)-\w+$"),
    _conda(
        r"/(linux|noarch|osx|win)\S*::", r"^\s+\S+ +\S+/[\w-]+::(?P<name>[\w.-]{1,120})-(?P<value>\d[\w.+!]*)-\w+ *$"
    ),
    _conda(
        r"  \+ [A-Za-z0-9_.-]+ +[0-9]\S* +[a-z0-9]+_",
        r"^\s+\+ (?P<name>[\w.-]{1,120}) +(?P<value>\d[\w.+!]*) +\w{3,80} +\S+(?: +\S+)?$",
    ),
    _package(
        r" (Installing|Updating|Upgrading|Downgrading) \S+ \(",
        rf"^\s*[-•] (?:Installing|Updating|Upgrading|Downgrading) (?P<name>[A-Za-z0-9][\w./-]{{0,120}})"
        rf" \((?:\S+ [-=]> )?v?{_VALUE}(?: [0-9a-f]{{7}})?\)(?::.*)?$",
    ),
    _system(r"Setting up \S+ \(", rf"^Setting up {_NAME}(?::\w+)? \({_VALUE}\) \.\.\.$"),
    _system(r"/ ?[0-9]+\) (Inst|Upgr)", rf"^\( *\d+/\d+\) (?:Installing|Upgrading) {_NAME} \((?:\S+ -> )?{_VALUE}\)$"),
    _system(
        r"Installing +: \S+-[0-9]",
        r"^\s*Installing +: (?P<name>[\w.+-]{1,120}?)-(?:\d+:)?(?P<value>\d[\w.+~]*-[\w.+~]+)\.\w+ +\d+/\d+\s*$",
    ),
    _package(r"added \S+@[0-9]", rf"^added {_NPM}@{_VALUE}(?: .*)?$"),
    _package(r"\+ \S+@[0-9]", rf"^\+ {_NPM}@{_DOTTED}$"),
    _package(r"(├|└|\+-|`-)\S* \S+@[0-9]", rf"^(?:[├└]─*┬? ?|[+`]-+ ){_NPM}@{_DOTTED}(?: deduped)?$"),
    Sign("package", re.compile(r"^(?:d|devD|optionalD)ependencies:(?: .*)?$"), r"ependencies:", opens="pnpm"),
    _package(
        r"(Compiling|Checking|Downloaded) \S+ v[0-9]",
        rf"^\s*(?:Compiling|Checking|Downloaded) {_NAME} v{_VALUE}"
        r"(?: \((?:git\+)?https?://[^)#]*#(?P<commit>[0-9a-f]{7,40})\))?$",
        _git_package,
    ),
    _package(r"go: downloading ", r"^go: downloading (?P<name>[\w.-]+\.[\w./~-]{1,200}) (?P<value>v\d[\w.+-]{0,80})$"),
    Sign("package", re.compile(_JAR.format(but="(?!" + _PLUGIN + "/)")), _JAR_RAW, read=_jar),
    Sign(
        "package",
        re.compile(rf"^\s*(?:Installing|Using) {_NAME} {_DOTTED}(?: \(was \S+\))?(?: with native extensions)?$"),
        r"(Installing|Using) \S+ [0-9]+\.",
        gems=True,
    ),
    _package(
        r"Installed \S+ [0-9]\S* from https?://", rf"^\s*(?:info : )?Installed {_NAME} {_VALUE} from https?://\S+.*$"
    ),
    Sign(
        "package", re.compile(r"^# packages in environment at "), r"# packages in environment at ", opens="conda list"
    ),
    Sign("package", re.compile(r"^Package +Version(?: +\w.*)?$"), r"Package +Version", opens="pip list"),
    Sign(
        "package",
        re.compile(r"^(?:\+|\$|##\[group\]Run|\[command\]) ?(?:\S+ ){0,3}(?:\S*/)?pip3? freeze\s*$"),
        r"pip3? freeze",
        opens="pip freeze",
    ),
)

TOOLS = (
    _tool(r"Current runner version: '", rf"^Current runner version: '{_VALUE}'$", "actions-runner"),
    _tool(r"Running with gitlab-runner ", rf"^Running with gitlab-runner {_VALUE} \(", "gitlab-runner"),
    _tool(
        r"Download action repository '",
        rf"^Download action repository '(?P<name>[\w./-]{{3,200}}@(?![0-9a-f]{{40}}')[\w./+-]{{1,100}})'"
        rf" \(SHA:{_SHA}\)$",
    ),
    _tool(r"Syncing repository: ", rf"^Syncing repository: {_REPOSITORY}$", pair="checkout"),
    _tool(
        r"git log -1 --format=", r"^\[command\]\S*git(?:\.exe\"?)? log -1 --format=", pair="checkout", opens="commit"
    ),
    _tool(
        r"Resolved https?://\S+ to commit ",
        rf"^\s*Resolved https?://[^/\s]+/(?P<name>[\w.-]{{1,100}}/[\w.-]{{1,100}}?)(?:\.git)? to commit {_SHA}$",
    ),
    _tool(r"Successfully set up ", rf"^Successfully set up CPython \({_VALUE}\)\.?$", "python"),
    _tool(r"Successfully set up ", rf"^Successfully set up (?P<name>PyPy|GraalPy) {_VALUE} with Python \(", ""),
    _tool(r"Java configuration:", r"^Java configuration:$", opens="java"),
    _tool(r"##\[group\]Environment details", r"^##\[group\]Environment details$", opens="node"),
    _tool(r"Now using node v", rf"^Now using node v{_VALUE}(?: |$)", "node"),
    _tool(r"using pnpm v", rf"^Done in [\d.]+m?s(?: using pnpm v{_VALUE})$", "pnpm"),
    _tool(r"yarn (install|run) v", rf"^yarn (?:install|run) v{_VALUE}$", "yarn"),
    _tool(r" Yarn [0-9]", rf"^➤ YN0000: · Yarn {_VALUE}$", "yarn"),
    Sign(
        "tool",
        re.compile(r"^platform \w+ -- Python (?P<python>\d[\w.+]*)[^,]*, (?P<items>pytest-\d.*?)(?: -- .*)?$"),
        r"platform [a-z0-9]+ -- Python ",
        read=_pytest_header,
    ),
    Sign(
        "tool",
        re.compile(r"^plugins: (?P<items>[\w.-]+-\d[\w.+]*(?:, [\w.-]+-\d[\w.+]*)*)$"),
        r"plugins: \S+-[0-9]",
        read=_plugins,
    ),
    _tool(
        r"ompiler identification is ",
        r"^(?:-- )?The (?P<name>\w{1,12} compiler) identification is (?P<value>[A-Za-z]\w* \d[\w.]*)",
    ),
    _tool(r"gcc version [0-9]", rf"^gcc version {_VALUE}(?: \(|$)", "gcc"),
    _tool(r"(gcc|g\+\+|cc) \(\S.*\) [0-9]", rf"^(?P<name>gcc|g\+\+)(?:-\d+)? \([^)]+\) {_VALUE}$"),
    _tool(r"clang version [0-9]", rf"^(?:(?:Ubuntu|Debian|Apple|Homebrew) )?clang version {_VALUE}", "clang"),
    _tool(r"cmake version [0-9]", rf"^cmake version {_VALUE}$", "cmake"),
    _tool(r"git version [0-9]", rf"^git version {_VALUE}(?: \(.*\))?$", "git"),
    _tool(r"go version go[0-9]", r"^go version go(?P<value>\d[\w.-]*) \w+/\w+$", "go"),
    _tool(r"go: downloading go[0-9]", r"^go: downloading go(?P<value>\d[\w.-]*) \(\w+/\w+\)$", "go"),
    _tool(r"rustc [0-9]", r"^(?:.{1,80} - )?rustc (?P<value>\d[\w.-]* \([0-9a-f]{7,10} [\d-]{10}\))", "rustc"),
    _tool(r"cargo [0-9]", r"^cargo (?P<value>\d[\w.-]* \([0-9a-f]{7,10} [\d-]{10}\))$", "cargo"),
    _tool(r"(openjdk|java) version \"", r'^(?:openjdk|java) version "(?P<value>[\w.+-]+)"', "java"),
    _tool(r"Apache Maven [0-9]", rf"^Apache Maven {_VALUE} \([0-9a-f]{{6,40}}", "maven"),
    _tool(r"Welcome to Gradle ", r"^Welcome to Gradle (?P<value>\d[\w.-]*)!$", "gradle"),
    _tool(
        r"--- [a-z0-9-]+(-plugin)?:[0-9][A-Za-z0-9.-]*:",
        r"^--- (?P<name>[a-z][a-z0-9-]{1,80}):(?P<value>\d[\w.-]{0,60}):[\w-]+ \(.+\) @ \S+ ---$",
    ),
    Sign("tool", re.compile(_JAR.format(but="(?=" + _PLUGIN + "/)")), _JAR_RAW, read=_jar),
    _tool(
        r"ruby [0-9]\S* \([0-9-]+",
        r"^ruby (?P<value>\d[\w.]*) \(\d{4}-\d\d-\d\d (?:revision|patchlevel) ?\w+\)",
        "ruby",
    ),
    _tool(r"PHP [0-9]\S* \(cli\)", rf"^PHP {_VALUE} \(cli\)", "php"),
    _tool(r"Docker version [0-9]", rf"^Docker version {_VALUE}, build \w+$", "docker"),
    _tool(r"Cuda compilation tools, ", r"^Cuda compilation tools, release [\d.]+, V(?P<value>[\d.]+)$", "cuda"),
    _tool(r"NVIDIA-SMI [0-9]", r"^\| NVIDIA-SMI \S+ +Driver Version: (?P<value>[\d.]+) ", "nvidia driver"),
    _tool(r"npu-smi [0-9]", r"^\| npu-smi \S+ +Version: (?P<value>\d[\w.]*) +\|$", "npu driver"),
    _tool(r"package_name=Ascend-", r"^package_name=(?P<name>Ascend-[\w-]{1,60})$", pair="cann", opens="cann"),
    _tool(r"PyTorch version *: ", rf"^PyTorch version *: {_VALUE}$", "torch"),
    _tool(r"CUDA runtime version *: ", rf"^CUDA runtime version *: {_VALUE}$", "cuda"),
    _tool(
        r"vLLM (Ascend |API server )?[vV]ersion",
        rf"^(?:.{{0,80}}\] )?vLLM (?:API server )?[vV]ersion:? {_VALUE}(?: \(.*\))?$",
        "vllm",
    ),
    _tool(r"vLLM Ascend Version", rf"^vLLM Ascend Version: {_VALUE}(?: \(.*\))?$", "vllm-ascend"),
    _tool(
        r"Initializing an? (V[01] )?LLM engine \(v",
        r"\bInitializing an? (?:V[01] )?LLM engine \(v(?P<value>\d[\w.+]*)\) with config: ",
        "vllm",
    ),
)

RUNNER = (
    Sign(
        "runner-image",
        re.compile(r"^##\[group\](?:Runner Image|Virtual Environment)$"),
        r"##\[group\](Runner Image|Virtual Environment)\s",
        opens="runner image",
    ),
)

SIGNS: tuple[Sign, ...] = IMAGES + PACKAGES + TOOLS + RUNNER

TABLES = {
    "runner image": Table(
        (
            Sign("runner-image", re.compile(r"^(?:Image|Environment): (?P<name>[\w.-]{1,80})$"), pair="runner image"),
            Sign("runner-image", re.compile(rf"^Version: {_VALUE}$"), pair="runner image"),
        ),
        start=4,
        gap=4,
    ),
    "containers": Table((Sign("image", re.compile(rf"^\s*image: {_IMAGE}(?:@{_DIGEST})?$")),), start=8, gap=8),
    "inputs": Table(
        (Sign("image", re.compile(rf"^\s*image\w*: (?P<name>[a-z0-9][\w./-]{{0,250}}:[\w.-]+)(?:@{_DIGEST})?$")),),
        start=30,
        gap=30,
    ),
    "commit": Table((Sign("tool", re.compile(rf"^'?{_SHA}'?$"), pair="checkout"),), start=1),
    "java": Table((Sign("tool", re.compile(rf"^\s*Version: {_VALUE}$"), name="java"),), start=2),
    "node": Table((Sign("tool", re.compile(rf"^(?P<name>node|npm|yarn): v?{_VALUE}$")),), start=4, gap=2),
    "cann": Table((Sign("tool", re.compile(r"^version=(?P<value>\d[\w.-]*)$"), pair="cann"),), start=2),
    "conda list": Table(
        (
            Sign(
                "package",
                re.compile(r"^(?P<name>[\w.-]{1,120}) +(?P<value>\d\S{0,80}) +\w+(?: +[\w./:-]+)?$"),
                python=True,
                rank=CONDA,
            ),
        ),
        start=3,
    ),
    "pip list": Table(
        (Sign("package", re.compile(r"^(?P<name>[A-Za-z0-9][\w.-]{0,120}) +(?P<value>\d\S{0,80})$"), python=True),),
        start=2,
        gap=1,
    ),
    "pip freeze": Table((Sign("package", re.compile(rf"^{_NAME}=={_VALUE}$"), python=True),), start=25, gap=1),
    "pnpm": Table(
        (
            Sign("package", re.compile(rf"^\+ {_NPM} {_DOTTED}(?: \(.*\))?$")),
            Sign("package", re.compile(r"^[+-] \S+ (?:<- )?\S+"), read=_nothing),
        ),
        start=2,
        gap=1,
    ),
}

OWN = re.compile(r"^Working directory is '[^']*/(?P<own>[^/']+)/(?P=own)(?:/[^']*)?'$")
"""What GitHub's checkout says first: the folder of a job is named twice after its repository."""
OWN_RAW = r"Working directory is '"
GEMS = re.compile(r"^(?:Fetching gem metadata from |Bundle (?:complete|updated)|Bundled gems are installed)")
"""What bundler says once; without it lines of its form are not its own."""
GEMS_RAW = r"(Fetching gem metadata from |Bundle (complete|updated)|Bundled gems are installed)"
