"""What a user may set: `config.yaml` and the environment read into one `Settings`.

Importing this package loads pydantic; commands that need no settings import it lazily.
"""

from buildeye.config.loading import DEFAULT_PATH, load_settings
from buildeye.config.pipelines import pipeline_type
from buildeye.config.settings import Settings

__all__ = ["DEFAULT_PATH", "Settings", "load_settings", "pipeline_type"]
