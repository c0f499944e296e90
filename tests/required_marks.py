"""Pytest plugin: says which ``browser`` and ``papers`` tests were skipped, and can forbid it.

Loaded by ``scripts/test.sh`` with ``-p tests.required_marks``. With ``--require-marks`` a run
fails when a test of these marks was skipped, when a whole module was skipped (its marks are not
known then), or when none of a mark ran. The last holds for whole runs only: naming paths, ``-k``
or ``-m`` asks for fewer tests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import pytest

MARKS = ("browser", "papers")


@dataclass(frozen=True)
class Skip:
    """A test, or a whole module, that did not run."""

    mark: str
    reason: str
    test: str


@dataclass
class Tally:
    """What happened to the tests of each mark."""

    ran: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MARKS, 0))
    skips: list[Skip] = field(default_factory=list)

    def problems(self, *, whole_run: bool) -> list[str]:
        """Why the run may not count as complete."""
        counts = Counter(skip.mark for skip in self.skips)
        found = [f"{mark}: {count} skipped" for mark, count in sorted(counts.items())]
        if whole_run:
            found += [f"{mark}: no test ran" for mark in MARKS if not self.ran[mark]]
        return found


TALLY = pytest.StashKey[Tally]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-marks",
        action="store_true",
        help=f"fail when tests marked {' or '.join(MARKS)} were skipped or did not run",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TALLY] = Tally()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    tally = item.config.stash[TALLY]
    expected_to_fail = hasattr(report, "wasxfail")
    for mark in MARKS:
        if item.get_closest_marker(mark) is None:
            continue
        if report.skipped and not expected_to_fail:
            tally.skips.append(Skip(mark, reason_of(report), item.nodeid))
        elif report.when == "call":
            tally.ran[mark] += 1
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.skipped:
        skip = Skip("unknown marks", reason_of(report), report.nodeid)
        collector.config.stash[TALLY].skips.append(skip)
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    if problems_of(session.config) and session.exitstatus in {
        pytest.ExitCode.OK,
        pytest.ExitCode.NO_TESTS_COLLECTED,
    }:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    skips = sorted(config.stash[TALLY].skips, key=lambda skip: (skip.mark, skip.reason, skip.test))
    problems = problems_of(config)
    if not skips and not problems:
        return
    terminalreporter.section("tests that need Chromium or the papers")
    for skip in skips:
        terminalreporter.write_line(f"{skip.mark}: skipped {skip.test}: {skip.reason}")
    for problem in problems:
        terminalreporter.write_line(f"required: {problem}", red=True)


def problems_of(config: pytest.Config) -> list[str]:
    """Why this run fails; empty unless the marks are required or when only collecting."""
    if not config.getoption("--require-marks") or config.getoption("collectonly"):
        return []
    narrowed = (
        config.args_source is pytest.Config.ArgsSource.ARGS
        or config.getoption("keyword")
        or config.getoption("markexpr")
    )
    return config.stash[TALLY].problems(whole_run=not narrowed)


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why it was skipped, as the test said it."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ").replace("\n", " ")
