# ruff: noqa: E501 - reports stand here as tools write them
"""Reports as the tools write them, shortened, each with what has to be read from it.

A row of what has to be read: name, classname, file, seconds, result.
"""

from dataclasses import dataclass

Row = tuple[str, str, str, float, str]


@dataclass(frozen=True)
class Dialect:
    """A report and its cases."""

    xml: str
    cases: tuple[Row, ...]


DIALECTS = {
    "pytest": Dialect(
        """<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="1"
        failures="1" skipped="2" tests="5" time="0.131" timestamp="2026-11-30T12:00:00.1+00:00" hostname="box">
        <properties><property name="seed" value="7"/></properties>
        <testcase classname="tests.test_a.TestA" name="test_one[1-&lt;b&gt;]" time="0.002">
          <properties><property name="owner" value="core"/></properties>
          <system-out>printed &lt;failure&gt;</system-out></testcase>
        <testcase classname="tests.test_a" name="test_two" time="0.001"><failure message="assert 1 == 2">def test_two():
&gt;       assert 1 == 2
E       assert 1 == 2</failure></testcase>
        <testcase classname="tests.test_a" name="test_three" time="0.000"><skipped type="pytest.skip"
          message="no gpu">tests/test_a.py:9: no gpu</skipped></testcase>
        <testcase classname="tests.test_a" name="test_four" time="0.000"><skipped type="pytest.xfail" message=""/>
        </testcase>
        <testcase classname="" name="tests.test_b" time="0.000"><error message="collection failure">E   ImportError
        </error></testcase></testsuite></testsuites>""",
        (
            ("test_one[1-<b>]", "tests.test_a.TestA", "", 0.002, "passed"),
            ("test_two", "tests.test_a", "", 0.001, "failed"),
            ("test_three", "tests.test_a", "", 0.0, "skipped"),
            ("test_four", "tests.test_a", "", 0.0, "skipped"),
            ("tests.test_b", "pytest", "", 0.0, "error"),
        ),
    ),
    "pytest, the older family, with file and line": Dialect(
        """<testsuite name="pytest"><testcase classname="tests.test_a" file="tests/test_a.py" line="11" name="test_x"
        time="0.5"></testcase></testsuite>""",
        (("test_x", "tests.test_a", "tests/test_a.py", 0.5, "passed"),),
    ),
    "Surefire with re-runs": Dialect(
        """<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="3.0"
        xsi:noNamespaceSchemaLocation="surefire-test-report.xsd" name="org.acme.RetryTest" time="1,204.5" tests="3">
        <properties><property name="java.version" value="21"/></properties>
        <testcase name="heals" classname="org.acme.RetryTest" time="1,204.25">
          <flakyFailure message="expected: 1" type="AssertionFailedError">
            <stackTrace><![CDATA[AssertionFailedError at RetryTest.java:9]]></stackTrace>
            <system-out><![CDATA[noise]]></system-out></flakyFailure>
          <flakyError type="IOException"><stackTrace><![CDATA[IOException]]></stackTrace></flakyError></testcase>
        <testcase name="stays broken" classname="org.acme.RetryTest" time="0.1">
          <failure message="again" type="AssertionFailedError"><![CDATA[first]]></failure>
          <rerunFailure message="again" type="AssertionFailedError"><stackTrace>second</stackTrace></rerunFailure>
        </testcase>
        <testcase name="is off" classname="org.acme.RetryTest" time="0"><skipped message="JIRA-1"/></testcase>
        </testsuite>""",
        (
            ("heals", "org.acme.RetryTest", "", 1204.25, "flaky"),
            ("stays broken", "org.acme.RetryTest", "", 0.1, "failed"),
            ("is off", "org.acme.RetryTest", "", 0.0, "skipped"),
        ),
    ),
    "Gradle": Dialect(
        """<testsuite name="acme.CalcTest" tests="2" skipped="0" failures="1" errors="0" time="0.03">
        <properties/><testcase name="adds()" classname="acme.CalcTest" time="0.01"/>
        <testcase name="divides()" classname="acme.CalcTest" time="0.02"><failure message="java.lang.ArithmeticException"
        type="java.lang.ArithmeticException">java.lang.ArithmeticException
	at acme.Calc.divide(Calc.java:7)</failure></testcase><system-out><![CDATA[a]]></system-out>
        <system-err><![CDATA[b]]></system-err></testsuite>""",
        (
            ("adds()", "acme.CalcTest", "", 0.01, "passed"),
            ("divides()", "acme.CalcTest", "", 0.02, "failed"),
        ),
    ),
    "jest-junit": Dialect(
        """<testsuites name="jest tests" tests="2" failures="1" errors="0" time="1.9">
        <testsuite name="sum" errors="0" failures="1" skipped="0" time="0.8" tests="2" file="src/sum.test.js">
        <testcase classname="sum adds" name="sum adds" time="0.003"></testcase>
        <testcase classname="sum fails" name="sum fails" time="0.01"><failure>Error: expect(received)
    at Object.toBe (src/sum.test.js:9:20)</failure></testcase></testsuite></testsuites>""",
        (
            ("sum adds", "sum adds", "src/sum.test.js", 0.003, "passed"),
            ("sum fails", "sum fails", "src/sum.test.js", 0.01, "failed"),
        ),
    ),
    "gotestsum": Dialect(
        """<testsuites tests="3" failures="1" errors="0" time="1.1"><testsuite tests="3" failures="1" time="1.0"
        name="acme/store" timestamp="2026-11-30T12:00:00Z"><properties><property name="go.version" value="go1.25"/>
        </properties><testcase classname="acme/store" name="TestPut" time="0.010000"/>
        <testcase classname="acme/store" name="TestGet/missing" time="0.0"><skipped message="=== RUN   TestGet"/></testcase>
        <testcase classname="acme/store" name="TestDel" time="0.02"><failure message="Failed"
        type="">=== RUN   TestDel
    store_test.go:9: gone</failure></testcase></testsuite></testsuites>""",
        (
            ("TestPut", "acme/store", "", 0.01, "passed"),
            ("TestGet/missing", "acme/store", "", 0.0, "skipped"),
            ("TestDel", "acme/store", "", 0.02, "failed"),
        ),
    ),
    "CTest": Dialect(
        """<testsuite name="Linux-c++" tests="4" failures="1" disabled="1" skipped="1" hostname="" time="3">
        <testcase name="parse" classname="parse" time="0.5" status="run"><system-out>ok</system-out></testcase>
        <testcase name="link" classname="link" time="0.25" status="fail"><failure message="Failed"/><system-out>no
        </system-out></testcase>
        <testcase name="gpu" classname="gpu" time="0" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
        <testcase name="off" classname="off" time="0" status="disabled"/></testsuite>""",
        (
            ("parse", "parse", "", 0.5, "passed"),
            ("link", "link", "", 0.25, "failed"),
            ("gpu", "gpu", "", 0.0, "skipped"),
            ("off", "off", "", 0.0, "skipped"),
        ),
    ),
    "cargo-nextest": Dialect(
        """<testsuites name="nextest-run" tests="3" failures="1" errors="0" uuid="1" time="0.4">
        <testsuite name="acme::store" tests="3" disabled="0" errors="0" failures="1">
        <testcase name="put" classname="acme::store" timestamp="2026-11-30T12:00:00Z" time="0.01">
          <flakyFailure timestamp="2026-11-30T12:00:00Z" time="0.01" message="thread 'put' panicked" type="test failure">
          panicked at src/lib.rs:7<system-out>x</system-out></flakyFailure></testcase>
        <testcase name="get" classname="acme::store" time="0.02"><failure message="m" type="test failure with exit code 101">
          panicked</failure><rerunFailure time="0.01" message="m" type="test failure">panicked</rerunFailure></testcase>
        <testcase name="del" classname="acme::store" time="0.03"/></testsuite></testsuites>""",
        (
            ("put", "acme::store", "", 0.01, "flaky"),
            ("get", "acme::store", "", 0.02, "failed"),
            ("del", "acme::store", "", 0.03, "passed"),
        ),
    ),
    "NUnit, converted": Dialect(
        """<testsuites><testsuite name="Acme.dll" tests="2"><testsuite name="Acme.Tests">
        <testcase name="Adds" assertions="1" time="0.02" status="Passed" classname="Acme.Tests.Calc"/>
        <testcase name="Later" executed="False" time="" status="Skipped" classname="Acme.Tests.Calc"/>
        <testcase name="Breaks" assertions="1" time="0,035" status="Failed" classname="Acme.Tests.Calc">
        <failure message="Expected: 4">at Acme.Tests.Calc.Breaks()</failure></testcase></testsuite></testsuite></testsuites>""",
        (
            ("Adds", "Acme.Tests.Calc", "", 0.02, "passed"),
            ("Later", "Acme.Tests.Calc", "", 0.0, "skipped"),
            ("Breaks", "Acme.Tests.Calc", "", 0.035, "failed"),
        ),
    ),
    "GoogleTest": Dialect(
        """<testsuites tests="3" failures="1" disabled="1" errors="0" time="0.1" name="AllTests">
        <testsuite name="Math" tests="3"><testcase name="Adds" file="math_test.cc" line="9" status="run"
        result="completed" time="0.01" classname="Math"/>
        <testcase name="DISABLED_Off" file="math_test.cc" line="12" status="notrun" result="suppressed" time="0"
        classname="Math"/>
        <testcase name="Breaks" file="math_test.cc" line="15" status="run" result="completed" time="0.02"
        classname="Math"><failure message="first" type=""><![CDATA[first]]></failure><failure message="second"
        type=""><![CDATA[second]]></failure></testcase></testsuite></testsuites>""",
        (
            ("Adds", "Math", "math_test.cc", 0.01, "passed"),
            ("DISABLED_Off", "Math", "math_test.cc", 0.0, "skipped"),
            ("Breaks", "Math", "math_test.cc", 0.02, "failed"),
        ),
    ),
    "nested suites that hand their file down": Dialect(
        """<testsuites><testsuite name="spec" file="spec/a_spec.rb"><testsuite name="inner"><testcase name="deep"/>
        </testsuite><testcase name="shallow"/></testsuite><testsuite name="other"><testcase name="elsewhere"/></testsuite>
        </testsuites>""",
        (
            ("deep", "inner", "spec/a_spec.rb", 0.0, "passed"),
            ("shallow", "spec", "spec/a_spec.rb", 0.0, "passed"),
            ("elsewhere", "other", "", 0.0, "passed"),
        ),
    ),
    "a suite that fails as a whole": Dialect(
        """<testsuites><testsuite name="db"><error message="no connection">refused</error><testcase name="a"/></testsuite>
        </testsuites>""",
        (("db", "db", "", 0.0, "error"), ("a", "db", "", 0.0, "passed")),
    ),
    "re-runs as PyTorch and pytest-rerunfailures write them": Dialect(
        """<testsuite name="pytest"><testcase classname="T" name="test_a" time="1"><rerun message="m">t</rerun></testcase>
        </testsuite>""",
        (("test_a", "T", "", 1.0, "flaky"),),
    ),
    "a namespace": Dialect(
        """<j:testsuites xmlns:j="urn:junit"><j:testsuite name="s"><j:testcase name="a"><j:failure/></j:testcase>
        </j:testsuite></j:testsuites>""",
        (("a", "s", "", 0.0, "failed"),),
    ),
}
