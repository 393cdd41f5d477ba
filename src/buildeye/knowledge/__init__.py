"""Knowledge as data: packs of failure rules (`*.toml`), most specific domain first, and files of advice."""

from pathlib import Path

FOLDER = Path(__file__).parent

PACK_ORDER = (
    "ascend", "vllm", "cuda", "pytorch",
    "github-actions", "kubernetes", "containers", "resources", "network", "packages", "git",
    "pytest", "python", "lint", "javascript", "go", "rust", "jvm", "cpp", "dotnet", "ruby", "php", "languages",
    "generic",
)  # fmt: skip


def pack_files() -> list[Path]:
    """The packs that come with Build-Eye, in reading order; a pack not named in PACK_ORDER comes last."""
    rank = {name: i for i, name in enumerate(PACK_ORDER)}
    return sorted(FOLDER.glob("*.toml"), key=lambda p: (rank.get(p.stem, len(rank)), p.stem))


def advice_files() -> list[Path]:
    """The files of advice that come with Build-Eye, in reading order."""
    return sorted((FOLDER / "advice").glob("*.toml"))
