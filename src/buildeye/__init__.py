"""Build-Eye: why did the build fail, whose problem is it, and is what we deployed healthy?"""

__version__ = "0.1.0"
