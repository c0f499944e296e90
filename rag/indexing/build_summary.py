"""BuildSummary: what became of each input of a build."""

from __future__ import annotations

from dataclasses import dataclass, field

from rag.indexing.generation import IndexManifest


@dataclass
class BuildSummary:
    """What became of each input; ``indexed + skipped + failed = inputs`` always holds."""

    inputs: int = 0
    indexed: int = 0
    removed: int = 0
    skipped: dict[str, list[str]] = field(default_factory=dict)
    failed: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    chunks: int = 0
    overlap: float = 0.0
    seconds: float = 0.0
    manifest: IndexManifest | None = None

    def skip(self, reason: str, name: str) -> None:
        """Count a file that is left out for a reason that is not a fault of the run."""
        self.skipped.setdefault(reason, []).append(name)

    def fail(self, reason: str, name: str) -> None:
        """Count a file that should have become a paper but did not."""
        self.failed.setdefault(reason, []).append(name)

    @property
    def skipped_count(self) -> int:
        """Files left out."""
        return sum(len(names) for names in self.skipped.values())

    @property
    def failed_count(self) -> int:
        """Files that failed."""
        return sum(len(names) for names in self.failed.values())

    def lines(self) -> list[str]:
        """The summary for a terminal."""
        lines = [
            f"{self.indexed} indexed + {self.skipped_count} skipped + {self.failed_count} failed "
            f"= {self.inputs} inputs"
        ]
        for kind, reasons in (("skipped", self.skipped), ("failed", self.failed)):
            for reason, names in sorted(reasons.items()):
                shown = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
                lines.append(f"  {kind}, {reason}: {len(names)} ({shown})")
        if self.removed:
            lines.append(f"  removed from the index: {self.removed}")
        lines += [f"  note: {note}" for note in self.notes]
        lines.append(f"mean overlap between neighbouring chunks: {self.overlap:.1%}")
        if self.manifest:
            lines.append(
                f"index {self.manifest.fingerprint}: {self.manifest.papers} papers, "
                f"{self.manifest.chunks} chunks, {self.seconds:.0f} s"
            )
        return lines
