"""deploy.yaml: how a service is started, checked, cut over and watched."""

from buildeye.deploy.spec.filling import filled, for_version, missing, template
from buildeye.deploy.spec.loading import DEFAULT_NAME, load_spec, saved, spec_of
from buildeye.deploy.spec.model import Profile, Promote, RateSource, ServiceSpec
from buildeye.deploy.spec.starter import starter

__all__ = [
    "DEFAULT_NAME",
    "Profile",
    "Promote",
    "RateSource",
    "ServiceSpec",
    "filled",
    "for_version",
    "load_spec",
    "missing",
    "saved",
    "spec_of",
    "starter",
    "template",
]
