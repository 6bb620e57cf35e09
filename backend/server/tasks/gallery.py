"""The gallery's order and search, over tasks' summaries (docs/reference/http.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Summary = Mapping[str, Any]


def missing(summary: Summary) -> int:
    """How many volunteers a task lacks for a round; 0 once it is finished."""
    lacking: int = summary["wanted"] - summary["participants"]
    return 0 if summary["phase"] == "finished" else max(0, lacking)


def by_need(summaries: Iterable[Summary]) -> list[Summary]:
    """Where one more helps most comes first: tasks that lack few, that lack more, that run, finished ones.

    Running tasks of fewer participants come first; ties go by title.
    """
    return sorted(summaries, key=_rank)


def _rank(summary: Summary) -> tuple[int, int, int, str]:
    lacking = missing(summary)
    group = 2 if summary["phase"] == "finished" else 0 if lacking else 1
    return group, lacking, summary["participants"], summary["title"]


def topics(summaries: Iterable[Summary]) -> list[str]:
    """Every topic once, the most frequent first; ties go by the alphabet."""
    counts = Counter(topic for summary in summaries for topic in dict.fromkeys(summary["topics"]))
    return sorted(counts, key=lambda topic: (-counts[topic], topic))


def words(summary: Summary) -> str:
    """What a search looks through: name, title, summary and topics, in lower case."""
    return " ".join([summary["name"], summary["title"], summary["summary"], *summary["topics"]]).lower()


@dataclass(frozen=True)
class Search:
    """What somebody looks for: words, all of which must be found, and a topic; empty ones ask for nothing.

    `webapp/static/src/ui/task/gallery-search.ts` does the same while somebody types.
    """

    words: str
    topic: str

    def finds(self, summary: Summary) -> bool:
        """Whether the task is one of those looked for."""
        text = words(summary)
        return all(word in text for word in self.words.lower().split()) and (
            not self.topic or self.topic in summary["topics"]
        )
