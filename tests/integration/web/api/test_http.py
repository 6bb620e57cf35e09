from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from backend.__main__ import main
from tests.support.tasks.tiny_task import bring_own, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server, running

PERSON = {"Accept": "text/html,*/*"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("http")
    write_task(folder / "tasks" / "tiny")
    with running(folder / "tasks", folder / "data") as running_server:
        yield running_server


@pytest.fixture
def http(server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=PATIENCE) as client:
        yield client


@pytest.fixture
def bundle(http: httpx.Client) -> str:
    address: str = http.get("/api/tasks/tiny").json()["bundle"]
    return address


def test_the_api_says_what_a_model_asks_of_a_device(http: httpx.Client) -> None:
    model = http.get("/api/tasks/tiny/model").json()
    assert (model["name"], model["parameters"]) == ("tiny", {"trainable": 8, "state": 2})
    assert model["wire"]["update_up"] == 40
    assert {one["eligible"] for one in model["backends"]} == {"everywhere"}
    missing = http.get("/api/tasks/none/model")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not-found")


def test_the_api_lists_tasks_as_the_reference_says(http: httpx.Client) -> None:
    (task,) = http.get("/api/tasks").json()["tasks"]
    assert task == http.get("/api/tasks/tiny").json()
    assert {key: task[key] for key in task if key not in ("bundle", "weights", "offered_weights")} == {
        "name": "tiny",
        "title": "Tiny",
        "summary": "",
        "topics": [],
        "scheme": "federated",
        "aggregation": ["open"],
        "newcomers": "open",
        "lan": False,
        "version": 0,
        "offered": 0,
        "round": 0,
        "rounds": 100,
        "phase": "waiting",
        "state": "live",
        "trouble": None,
        "participants": 0,
        "needs_clients": True,
        "wanted": 2,
        "brings": None,
        "accuracy": None,
        "best": None,
        "ended": None,
        "parameters": 10,
        "examples": 30,
        "privacy": None,
    }


def test_the_page_of_a_task_for_own_data_says_how_many_also_where_its_file_does_not(tmp_path: Path) -> None:
    file = write_task(tmp_path / "tasks" / "own") / "task.toml"
    bring_own(file.parent, 1, 9, 0.0)
    file.write_text(file.read_text("utf-8").partition("[data.volunteer]")[0], "utf-8")
    with running(tmp_path / "tasks", tmp_path / "data") as own:
        page = httpx.get(f"{own.url}/tasks/own", timeout=PATIENCE)
    assert page.status_code == 200
    assert "1 to 100\u202f000 of them" in page.text


def test_history_starts_with_version_zero(http: httpx.Client) -> None:
    (version,) = http.get("/api/tasks/tiny/versions").json()["versions"]
    assert (version["version"], version["accepted"], version["evaluation"], version["loss"]) == (
        0,
        0,
        None,
        None,
    )
    assert http.get("/api/tasks/tiny/contributions").json() == {"contributions": [], "traffic": None}


def test_the_server_says_that_it_is_well(http: httpx.Client) -> None:
    answer = http.get("/healthz")
    assert (answer.status_code, answer.text) == (200, "ok")


def test_a_blob_is_immutable_and_its_hash_is_its_tag(http: httpx.Client, bundle: str) -> None:
    answer = http.get(f"/blobs/{bundle}")
    assert hashlib.sha256(answer.content).hexdigest() == bundle
    assert answer.headers["etag"] == f'"{bundle}"'
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert int(answer.headers["content-length"]) == len(answer.content)


@pytest.mark.parametrize("tags", ['"{}"', 'W/"{}"', '"other", "{}"', "*"])
def test_a_blob_that_is_cached_is_not_sent_again(http: httpx.Client, bundle: str, tags: str) -> None:
    answer = http.get(f"/blobs/{bundle}", headers={"If-None-Match": tags.format(bundle)})
    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["etag"] == f'"{bundle}"'


def test_a_blob_is_sent_again_to_who_has_another(http: httpx.Client, bundle: str) -> None:
    assert http.get(f"/blobs/{bundle}", headers={"If-None-Match": '"other"'}).status_code == 200


def test_part_of_a_blob_is_sent_by_range(http: httpx.Client, bundle: str) -> None:
    whole = http.get(f"/blobs/{bundle}").content
    part = http.get(f"/blobs/{bundle}", headers={"Range": "bytes=10-19"})
    assert (part.status_code, part.content) == (206, whole[10:20])
    assert part.headers["content-range"] == f"bytes 10-19/{len(whole)}"
    assert http.get(f"/blobs/{bundle}", headers={"Range": "bytes=-5"}).content == whole[-5:]
    assert http.get(f"/blobs/{bundle}", headers={"Range": "bytes=99999999-"}).status_code == 416
    stale = {"Range": "bytes=0-1", "If-Range": '"other"'}
    assert http.get(f"/blobs/{bundle}", headers=stale).content == whole


def test_the_head_of_a_blob_has_its_length(http: httpx.Client, bundle: str) -> None:
    answer = http.head(f"/blobs/{bundle}")
    assert answer.status_code == 200
    assert int(answer.headers["content-length"]) > 0
    assert answer.content == b""


@pytest.mark.parametrize(
    "path",
    [
        "/blobs/" + "0" * 64,
        "/blobs/..%2f..%2fetc%2fpasswd",
        "/blobs/x",
        "/api/tasks/nothing",
        "/api/tasks/nothing/versions",
        "/api/tasks/nothing/contributions",
        "/api/nothing",
        "/nothing",
        "/static/dist/..%2f..%2f..%2fpyproject.toml",
    ],
)
def test_what_is_not_there_is_told_in_json(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    assert answer.status_code == 404
    error = answer.json()["error"]
    assert error["code"] == "not-found"
    assert error["message"].endswith(".")


def test_a_person_gets_a_page_instead(http: httpx.Client) -> None:
    answer = http.get("/tasks/nothing", headers=PERSON)
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "Traceback" not in answer.text


def test_another_method_is_refused(http: httpx.Client) -> None:
    answer = http.post("/api/tasks", json={"name": "x"})
    assert answer.status_code == 405
    assert answer.json()["error"]["code"] == "method-not-allowed"
    assert "GET" in answer.headers["allow"]


@pytest.mark.parametrize(
    "path", ["/", "/tasks/tiny", "/api/tasks", "/healthz", "/nothing", "/static/dist/nothing.js"]
)
def test_every_answer_keeps_the_page_to_itself(http: httpx.Client, path: str) -> None:
    headers = http.get(path, headers=PERSON).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["script-src"] == "'self' 'wasm-unsafe-eval'"
    assert policy["form-action"] == "'self'"
    assert policy["object-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-embedder-policy"] == "require-corp"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


def test_the_owners_text_cannot_bring_scripts(http: httpx.Client) -> None:
    page = http.get("/tasks/tiny", headers=PERSON)
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    assert 'href="javascript:' not in page.text


def test_answers_of_the_api_are_fresh(http: httpx.Client) -> None:
    answer = http.get("/api/tasks")
    assert answer.headers["cache-control"] == "no-store"
    assert json.loads(answer.content)["tasks"]


def test_the_api_says_how_data_were_made(tmp_path: Path) -> None:
    task = write_task(tmp_path / "tasks" / "table") / "task.toml"
    (tmp_path / "in.csv").write_text("a,b,class\n" + "1,2,no\n3,4,yes\n" * 9)
    command = ["shard", str(tmp_path / "in.csv"), "--task", str(task), "--force", "--set", "kind=table"]
    columns = "columns=[{name='a',kind='number',scaling='minmax'},{name='b',kind='number'}]"
    assert main([*command, "--set", columns, "--set", "labels=[{name='class',kind='class'}]"]) == 0
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        data = httpx.get(f"{server.url}/api/tasks/table/data", timeout=PATIENCE).json()
    assert data["source"] == "shards"
    fitted = json.loads((task.parent / "shards" / "preprocess.json").read_bytes())
    assert data["preprocess"] == fitted
    assert (fitted["columns"][0]["divide"], fitted["label"][0]["classes"]) == (2.0, ["no", "yes"])


def test_the_api_says_in_sentences_who_can_learn_what(http: httpx.Client) -> None:
    told = http.get("/api/tasks/tiny/disclosure").json()
    assert set(told) == {"server", "participants", "readers"}
    assert "single update" in told["server"][0]
    page = http.get("/tasks/tiny", headers=PERSON).text
    for sentences in told.values():
        assert all(sentence in page for sentence in sentences)
    assert http.get("/api/tasks/nothing/disclosure").status_code == 404
