"""Why a deployment stands as it does, in plain words: its limits, and what of the boundary is near."""

from buildeye.deploy.explain.limits import limit_text
from buildeye.deploy.explain.past import past_of
from buildeye.model.boundary import boundary_text, near_text, rejections_left

__all__ = ["boundary_text", "limit_text", "near_text", "past_of", "rejections_left"]
