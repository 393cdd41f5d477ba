"""Test reports to test cases: JUnit XML in the dialects of many tools, from files and zip archives, as a stream.

Nothing here trusts its input: memory stays bounded whatever a report holds, and a report that breaks gives what stood
before the break and says where it broke.
"""

from buildeye.testresults.junit import Report
from buildeye.testresults.places import Found, Limits, nothing_at, reports_in

__all__ = ["Found", "Limits", "Report", "nothing_at", "reports_in"]
