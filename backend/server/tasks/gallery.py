"""Orders and searches the gallery's tasks by their summaries (docs/reference/http.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Summary = Mapping[str, Any]
# Why a server does not serve a task whose bundle was never made.
NOT_BUILT = "Not built yet: run `minga build`."


def missing(summary: Summary) -> int:
    """Returns how many volunteers a task lacks for a round; 0 once it is finished."""
    lacking: int = summary["wanted"] - summary["participants"]
    return 0 if summary["phase"] == "finished" else max(0, lacking)


def by_need(summaries: Iterable[Summary]) -> list[Summary]:
    """Sorts tasks by how much one more volunteer helps.

    First the tasks that lack volunteers, the fewest lacking first; then running tasks, then finished ones.
    Within a group, tasks of fewer participants come first; ties are sorted by title.
    """
    return sorted(summaries, key=_rank)


def _rank(summary: Summary) -> tuple[int, int, int, str]:
    lacking = missing(summary)
    group = 2 if summary["phase"] == "finished" else 0 if lacking else 1
    return group, lacking, summary["participants"], summary["title"]


def topics(summaries: Iterable[Summary]) -> list[str]:
    """Returns every topic once, the most frequent first; ties are sorted alphabetically."""
    counts = Counter(topic for summary in summaries for topic in dict.fromkeys(summary["topics"]))
    return sorted(counts, key=lambda topic: (-counts[topic], topic))


def words(summary: Summary) -> str:
    """Returns the text that a search covers: name, title, summary and topics, in lower case."""
    return " ".join([summary["name"], summary["title"], summary["summary"], *summary["topics"]]).lower()


@dataclass(frozen=True)
class Search:
    """A search query: words, all of which must occur, and a topic; empty ones match every task.

    `webapp/static/src/ui/task/gallery-search.ts` does the same in the browser, during typing.
    """

    words: str
    topic: str

    def matches(self, summary: Summary) -> bool:
        """Whether the task matches the query."""
        text = words(summary)
        return all(word in text for word in self.words.lower().split()) and (
            not self.topic or self.topic in summary["topics"]
        )
