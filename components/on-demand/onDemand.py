"""Starts and stops the containers of models on demand for llama-swap, and trusts Docker alone.

    python3 -I on-demand.py run | start CONTAINER | stop-all

llama-swap takes a server for stopped once the `start` that it ran for it has ended. Here the
container outlives it: a `start` that llama-swap ends *lets go* of its container, and whoever comes
next decides, by what Docker says. A start that is accepted first stops what has no room beside it.
One that is refused stops nothing, and what was let go for it is taken back. What nobody takes,
`run` stops. All of them decide under one lock.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

# Seconds. A mark is left for as long before the container is stopped; one that is asked back waits
# for llama-swap's turn.
LET_GO = 2
ASKED_BACK = 30
LOOK = 30
# Docker's answers; for a stop it comes on top of the container's own grace.
DOCKER = 30
STOP = 30
# llama-swap kills a start that doesn't end within five seconds of its TERM.
END = 3
SWAPS = 1000

# llama-swap's name for a server that it starts or has; one that is stopping is let go in a moment.
NAMED = ("starting", "ready")
# How containers end that somebody stopped.
ENDED = (0, 137, 143)

ended = threading.Event()


class Fault(Exception):
    """What Docker, llama-swap or a file did not do, as a sentence for people."""


class LetGo(Exception):
    """llama-swap, or whoever runs this, wants this process to end."""


def say(text: str) -> None:
    with contextlib.suppress(OSError):
        print(f"on demand: {text}", flush=True)


# What is decided, told by what Docker, llama-swap and the state folder say. Nothing here asks or
# writes anything.


def fits(sets: list, containers: set) -> bool:
    """Whether these run together by the ledger. One alone always may."""
    return len(containers) < 2 or any(containers <= set(each) for each in sets)


def no_room(sets: list, kept: set, others: list) -> list:
    """Those of `others` that have no room beside `kept` and those of `others` before them."""
    kept, out = set(kept), []
    for container in others:
        if fits(sets, kept | {container}):
            kept.add(container)
        else:
            out.append(container)
    return out


def decide(own: str, sets: list, seen: dict) -> dict:
    """What a start of `own` does: `{"end"}`, `{"refuse"}`, or `{"take", "stops"}`.

    `seen`: `running` containers; those that llama-swap has `named`, and its `states`; `marks` by
    container; the `failed` record of `own` that still holds.
    """
    named, marks = {*seen["named"], own}, seen["marks"]
    stopping = marks.get(own, {}).get("stopping", False)
    take = own in seen["running"] and not stopping
    # Its server answered llama-swap while it was being stopped: only an end makes llama-swap wait
    # for a new one.
    if seen["states"].get(own) not in (NAMED if take else ("starting",)):
        return {"end": "llama-swap doesn't start it any more"}
    if seen.get("failed") and not take:
        return {"refuse": seen["failed"]["sentence"]}
    if not fits(sets, named):
        return {"refuse": "it has no room beside " + " and ".join(sorted(named - {own}))}
    others = [each for each in seen["running"] if each not in named]
    stops = no_room(sets, named, others)
    return {"take": take, "stops": stops + ([own] if stopping and own in seen["running"] else [])}


def care(sets: list, seen: dict, now: float, look: bool) -> dict:
    """What `run` does now: containers to `stop`, to `ask` llama-swap for, and marks to `forget`.

    `look`: also at containers that nobody let go. Somebody started them by hand, or their `start`
    was killed.
    """
    known, marks = set(seen["named"]), seen["marks"]
    forget = [each for each in marks if each not in seen["running"] and each not in known]
    free = [each for each in seen["running"] if each not in seen["named"]]
    back = [each for each in free if marks.get(each, {}).get("back") and marks[each]["due"] > now]
    orphans = [each for each in free if each not in marks] if look else []
    out = no_room(sets, known, back + orphans)
    due = [each for each in free if each in marks and marks[each]["due"] <= now]
    return {
        "stop": due + out,
        "ask": [each for each in back + orphans if each not in out],
        "orphans": orphans,
        "forget": forget,
    }


ERROR = re.compile(r"error|exception|fatal|failed|killed|out of memory|not found|closed:", re.I)
# They say that there was an error, not which.
NOT_TELLING = re.compile(r"root cause|engine core init|EngineDead|core proc|vLLM ended|Traceback", re.I)
SECRET = re.compile(r"((?:key|token|secret|password|authorization|bearer)\S{0,3}[\s=:'\"]+)[^\s'\",]+", re.I)
TOKEN = re.compile(r"\b(?:hf_|sk-)\w{8,}")


def telling_line(log: str) -> str:
    """The line of a log that says best why its server ended."""
    lines = [re.sub(r"\x1b\[[\d;]*m|[\x00-\x1f\x7f]", "", each).strip() for each in log.split("\n")]
    lines = [each for each in lines if each]
    errors = [each for each in lines if ERROR.search(each) and not NOT_TELLING.search(each)]
    return (errors or lines or ["its log is empty"])[-1][:300]


def without_secrets(text: str, secrets: list) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***") if len(secret) > 3 else text
    return TOKEN.sub("***", SECRET.sub(r"\1***", text))


def answer_of(path: str, sentence: str) -> dict:
    """The sentence as the error of whoever asks: Anthropic's or OpenAI's."""
    if path.startswith("/v1/messages"):
        return {"type": "error", "error": {"type": "api_error", "message": sentence}}
    error = {"message": sentence, "type": "server_error", "param": None, "code": "not_started"}
    return {"error": error}


# Docker, as its command.


def docker(*arguments: str, seconds: float = DOCKER, until=ended.is_set, whole: bool = False) -> str:
    """Runs `docker` and returns what it printed, or raises a fault that says why it didn't.

    It has a session of its own, so that a signal to ours never ends it half-way. `until`: what lets
    go of it. `whole`: its errors are part of its answer, as of `docker logs`.
    """
    errors = subprocess.STDOUT if whole else subprocess.PIPE
    try:
        child = subprocess.Popen(
            ["docker", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    except OSError as error:
        raise Fault(f"docker can't be run: {error}") from error
    last, let_go = time.monotonic() + seconds, None
    while True:
        try:
            out, err = child.communicate(timeout=0.1)
            break
        except subprocess.TimeoutExpired:
            if until():
                let_go = let_go or time.monotonic() + (END if arguments[0] == "start" else 0)
                if arguments[0] == "stop":
                    raise LetGo() from None  # It goes on: what it stops is marked.
            if time.monotonic() < min(last, let_go or last):
                continue
            child.kill()
            child.communicate()
            if let_go:
                raise LetGo() from None
            raise Fault(f"`docker {arguments[0]}` did not answer within {seconds:.0f} s") from None
    if child.returncode == 0:
        return out.decode(errors="replace")
    said = ((err or b"").decode(errors="replace").strip().split("\n") or [""])[-1]
    raise Fault(said or f"`docker {arguments[0]}` ended with {child.returncode}")


SHOWN = '{"id":{{json .Id}},"state":{{json .State}},"env":{{json .Config.Env}}}'


def inspect(container: str) -> dict | None:
    """The container, or None where there is none."""
    try:
        return json.loads(docker("inspect", "--type", "container", "--format", SHOWN, container))
    except Fault as fault:
        if "no such container" in str(fault).lower():
            return None
        raise


class Machine:
    """What is declared, and the state folder."""

    def __init__(self) -> None:
        env = os.environ
        self.name = env["LOCAL_SERVING_MACHINE"]
        self.listen = env["LOCAL_SERVING_LISTEN"]
        self.key_file = env.get("LOCAL_SERVING_KEY_FILE", "")
        self.state = env["LOCAL_SERVING_STATE"]
        with open(env["LOCAL_SERVING_DECLARED"], encoding="utf-8") as file:
            declared = json.load(file)
        self.sets = declared["sets"]
        self.start_within = declared["startWithinSeconds"]
        self.retry_after = declared["retryAfterSeconds"]
        self.servers = {each["container"]: each for each in declared["servers"]}
        self.longest_grace = max(each["graceSeconds"] for each in declared["servers"])

    def key(self) -> str:
        if not self.key_file:
            return ""
        with open(self.key_file, encoding="utf-8") as file:
            return file.read().strip()

    def key_of(self, container: str) -> str:
        return self.servers[container]["key"] if container in self.servers else container

    # The state folder. A disk that is full must not stop a server, nor keep one from stopping.

    def path(self, *names: str) -> str:
        return os.path.join(self.state, *names)

    @contextlib.contextmanager
    def lock(self, seconds: float = float("inf"), until=ended.is_set):
        """Holds the lock; without it after these seconds, which the block is told."""
        last, held = time.monotonic() + seconds, False
        try:
            handle = os.open(self.path("lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Fault(f"the lock in {self.state} can't be opened: {error.strerror}") from error
        try:
            while not held:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    held = True
                except BlockingIOError:
                    if until():
                        raise LetGo() from None
                    if time.monotonic() >= last:
                        break
                    time.sleep(0.05)
            yield held
        finally:
            os.close(handle)

    def write(self, folder: str, name: str, content: dict) -> None:
        try:
            os.makedirs(self.path(folder), mode=0o700, exist_ok=True)
            temporary = self.path(folder, f".{name}.{os.getpid()}")
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(content, file)
            os.replace(temporary, self.path(folder, name))
        except OSError as error:
            say(f"{folder}/{name} can't be written: {error}")

    def read(self, folder: str, name: str) -> dict | None:
        try:
            with open(self.path(folder, name), encoding="utf-8") as file:
                content = json.load(file)
            return content if isinstance(content, dict) else None
        except (OSError, ValueError):
            return None

    def forget(self, folder: str, name: str) -> None:
        with contextlib.suppress(OSError):
            os.remove(self.path(folder, name))

    def mark(self, container: str, due: float, **more: object) -> None:
        self.write("letgo", self.key_of(container), {"container": container, "due": due, **more})

    def marks(self) -> dict:
        names = []
        with contextlib.suppress(OSError):
            names = [each for each in os.listdir(self.path("letgo")) if not each.startswith(".")]
        found = [self.read("letgo", each) for each in names]
        return {each["container"]: each for each in found if each and "container" in each and "due" in each}

    def event(self, event: str, container: str, **more: object) -> None:
        at = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        line = {"at": at.replace("+00:00", "Z"), "event": event, "server": self.key_of(container), **more}
        say(" ".join([event, line["server"], *(f"{name}={value}" for name, value in more.items())]))
        with contextlib.suppress(OSError), open(self.path("swaps.jsonl"), "a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(json.dumps(line) + "\n")
            file.flush()
            if file.tell() > 200 * SWAPS:
                file.seek(0)
                kept = file.readlines()[-SWAPS:]
                file.seek(0)
                file.truncate()
                file.writelines(kept)

    def failure(self, container: str, id: str | None, now: float) -> dict | None:
        """The record of this very container that still holds."""
        record = self.read("failed", f"{self.key_of(container)}.json")
        if not record or record.get("container") != id or not isinstance(record.get("time"), (int, float)):
            return None
        return record if 0 <= now - record["time"] < self.retry_after and record.get("sentence") else None

    # What runs.

    def running(self) -> list:
        """On-request containers of this machine that run."""
        filters = [f"label=local-serving.machine={self.name}", "label=local-serving.start=onRequest"]
        return docker(
            "ps", *(word for each in filters for word in ("--filter", each)), "--format", "{{.Names}}"
        ).split()

    def ask(self, method: str, path: str, seconds: float) -> bytes:
        """Asks llama-swap."""
        host, _, port = self.listen.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=seconds)
        try:
            key = os.environ.get("LOCAL_SERVING_SWAP_KEY") or self.key()
            connection.request(method, path, headers={"Authorization": f"Bearer {key}"} if key else {})
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise Fault(f"llama-swap answers {path} with {answer.status}")
            return body
        except (OSError, http.client.HTTPException) as error:
            raise Fault(f"llama-swap does not answer {path}: {error}") from error
        finally:
            connection.close()

    def wants(self, container: str) -> None:
        """Asks llama-swap for a server, without waiting: it starts it, or notes that it was used."""
        path = f"/upstream/{urllib.parse.quote(self.servers[container]['model'])}/health"

        def asks() -> None:
            with contextlib.suppress(Fault, OSError):
                self.ask("GET", path, 10)

        threading.Thread(target=asks, daemon=True).start()

    def seen(self) -> dict:
        """What runs, then what llama-swap names, then what was let go: in this order one that is let
        go meanwhile has its mark."""
        running = self.running()
        try:
            states = {each["model"]: each["state"] for each in json.loads(self.ask("GET", "/running", 10))["running"]}
        except (ValueError, KeyError, TypeError) as error:
            raise Fault("llama-swap's /running is not as this version knows it") from error
        by_state = {each: states.get(server["model"]) for each, server in self.servers.items()}
        marks = self.marks()
        # A server that failed, and whose container doesn't run, only has its sentence to say.
        saying = {
            each for each in self.servers if each not in running and self.read("failed", f"{self.key_of(each)}.json")
        }
        return {
            "running": running,
            "named": [each for each, state in by_state.items() if state in NAMED and each not in saying],
            "states": by_state,
            "marks": marks,
        }

    def stop(self, containers: list, until=ended.is_set) -> None:
        """Stops containers side by side, each with its own grace; marked, so that nobody takes one
        while it stops."""
        faults = []

        def stops(container: str) -> None:
            grace = self.servers.get(container, {}).get("graceSeconds", self.longest_grace)
            try:
                docker("stop", "-t", str(grace), container, seconds=grace + STOP, until=until)
            except LetGo as error:
                faults.append(error)
                return
            except Fault as fault:
                if "no such container" not in str(fault).lower():
                    faults.append(Fault(f"{container} can't be stopped: {fault}"))
                    return
            self.forget("letgo", self.key_of(container))

        for container in containers:
            self.mark(container, 0, stopping=True)
        threads = [threading.Thread(target=stops, args=(each,)) for each in containers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for fault in sorted(faults, key=lambda each: isinstance(each, Fault)):
            raise fault


class Start:
    """`start CONTAINER`: runs for as long as llama-swap takes the server for started."""

    def __init__(self, machine: Machine, container: str) -> None:
        self.machine, self.container = machine, container
        self.server = machine.servers[container]
        self.parent = os.getppid()
        self.began = time.monotonic()
        self.id: str | None = None
        # Whether the container may run because of this start.
        self.holds = False

    def over(self) -> bool:
        """Whether llama-swap, which is the parent, wants an end or is gone."""
        return ended.is_set() or os.getppid() != self.parent

    def run(self) -> int:
        try:
            return self.start()
        except LetGo:
            # What this start came to take back is let go anew.
            back = self.machine.marks().get(self.container, {}).get("back")
            if self.holds or back:
                self.machine.mark(self.container, time.time() + LET_GO)
                self.machine.event("letGo", self.container)
            return 0

    def start(self) -> int:
        machine, container = self.machine, self.container
        try:
            with machine.lock(until=self.over):
                found = self.begin()
        except Fault as fault:
            return self.refuse(str(fault))
        if found is None:
            return 0
        if "refuse" in found:
            return self.refuse(found["refuse"], found.get("retry", 5))
        if found["take"]:
            machine.event("taken", container)
        return self.accompany(found["take"])

    def begin(self) -> dict | None:
        """Decides, stops what has no room, and starts the container; under the lock."""
        machine, container = self.machine, self.container
        shown = inspect(container)
        self.id = shown and shown["id"]
        seen = machine.seen()
        record = machine.failure(container, self.id, time.time())
        decision = decide(container, machine.sets, {**seen, "failed": record})
        if "end" in decision:
            say(f"{container}: {decision['end']}")
            return None
        if shown is None and "refuse" not in decision:
            decision = {"refuse": f"{self.server['model']} did not start: there is no container {container}"}
        if "refuse" in decision:
            self.keep_let_go(seen)
            return {**decision, "retry": machine.retry_after - (time.time() - record["time"]) if record else 5}
        if decision["stops"]:
            machine.stop(decision["stops"], until=self.over)
            if container in decision["stops"] and machine.seen()["states"].get(container) != "starting":
                return None
        machine.forget("failed", f"{self.server['key']}.json")
        if not decision["take"]:
            if self.over():
                raise LetGo()
            stops = [machine.key_of(each) for each in decision["stops"] if each != container]
            machine.event("start", container, **({"stops": stops} if stops else {}))
            self.holds = True
            try:
                docker("start", container, seconds=2 * DOCKER, until=self.over)
            except Fault as fault:
                # Docker may do late what it didn't answer.
                machine.mark(container, 0, stopping=True)
                self.holds = False
                return {"refuse": self.failed(f"Docker does not start its container: {fault}")}
        self.holds = True
        machine.forget("letgo", self.server["key"])
        return decision

    def keep_let_go(self, seen: dict) -> None:
        """What was let go for this server, which doesn't start, is to be taken back by `run`."""
        for container, mark in seen["marks"].items():
            if container in seen["running"] and container in self.machine.servers and not mark.get("stopping"):
                self.machine.mark(container, time.time() + ASKED_BACK, back=True)

    def accompany(self, taken: bool) -> int:
        """Watches the container until it ends."""
        machine, container = self.machine, self.container
        last = min(time.monotonic(), self.began + 30) + machine.start_within
        ready = gone = False
        asked = time.monotonic()
        waiting = None
        while True:
            if self.over():
                if waiting:
                    waiting.kill()
                raise LetGo()
            if not ready and self.healthy():
                ready = True
                if not taken or time.monotonic() - asked > 2:
                    machine.event("ready", container, seconds=round(time.monotonic() - self.began))
                machine.wants(container)
            if not ready and time.monotonic() > last:
                return self.too_late(waiting)
            if waiting is None:
                waiting = subprocess.Popen(
                    ["docker", "wait", self.id or container],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            if waiting.poll() is not None:
                failed_wait, waiting = waiting.returncode != 0, None
                try:
                    shown = inspect(self.id or container)
                except Fault:
                    # The daemon restarts. With live-restore the container outlives it.
                    gone = True
                    ended.wait(1)
                    continue
                if shown is None or not shown["state"]["Running"]:
                    return self.container_ended(shown, ready, gone)
                gone = gone or failed_wait
            ended.wait(0.2)

    def healthy(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.server["port"], timeout=2)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def container_ended(self, shown: dict | None, ready: bool, gone: bool) -> int:
        self.holds = False
        code = shown["state"]["ExitCode"] if shown else None
        how = "its container was removed" if shown is None else f"its container ended with {code}"
        if ready:
            self.machine.event("stopped", self.container, reason=how)
            return 0 if code in ENDED else 1
        seconds = round(time.monotonic() - self.began)
        # Stopped or removed by somebody, or ended with Docker: nothing is wrong with the server.
        stopped = shown is None or gone or code in (0, 143)
        line = "" if shown is None else f": {self.said(shown)}"
        return self.refuse(self.failed(f"{how} after {seconds} s{line}", not stopped))

    def too_late(self, waiting: subprocess.Popen | None) -> int:
        shown = None
        with contextlib.suppress(Fault):
            shown = inspect(self.id or self.container)
        line = f": {self.said(shown)}" if shown else ""
        try:
            # Without the lock: a lock that others wait for is not held for this.
            self.machine.stop([self.container], until=self.over)
        except Fault as fault:
            say(str(fault))
        if waiting:
            waiting.kill()
        self.holds = False
        return self.refuse(self.failed(f"it was not ready within {self.machine.start_within} s{line}"))

    def said(self, shown: dict) -> str:
        try:
            log = docker(
                "logs", "--tail", "200", "--since", shown["state"]["StartedAt"], shown["id"], seconds=10, whole=True
            )
        except Fault:
            return "its log can't be read"
        named = [each.partition("=") for each in shown.get("env") or []]
        secrets = [value for name, _, value in named if re.search("KEY|TOKEN|SECRET|PASSWORD", name)]
        with contextlib.suppress(OSError):
            secrets.append(self.machine.key())
        return without_secrets(telling_line(log), secrets)

    def failed(self, reason: str, kept: bool = True) -> str:
        """Records that the server did not start, and returns the sentence."""
        machine, key = self.machine, self.server["key"]
        sentence = f"{self.server['model']} did not start: {reason}; serving logs {key}"
        if kept:
            at = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
            record = {"container": self.id, "at": at, "time": time.time(), "sentence": sentence}
            machine.write("failed", f"{key}.json", record)
        machine.event("failed", self.container, reason=reason)
        return sentence

    def refuse(self, sentence: str, retry: float = 5) -> int:
        """Answers on the server's own port until a second after the last answer, or five without."""
        if not sentence.startswith(self.server["model"]):
            sentence = f"{self.server['model']} did not start: {sentence}"
        if self.over():
            raise LetGo()
        self.machine.event("refused", self.container, reason=sentence)
        record = self.machine.failure(self.container, self.id, time.time())
        retry = max(1, int(self.machine.retry_after - (time.time() - record["time"]) if record else retry))
        answers(self.server["port"], sentence, retry, self.over)
        return 1


def answers(port: int, sentence: str, retry: int, over) -> None:
    """Answers 200 to /health, and the sentence to everything else."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    busy: set = set()
    last = [time.monotonic() + 4]

    class Answer(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            busy.add(self)
            try:
                super().handle_one_request()
            finally:
                busy.discard(self)

        def read_body(self) -> None:
            """An answer before the end of a long request would reach nobody."""
            if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
                while True:
                    size = int(self.rfile.readline().split(b";")[0] or b"0", 16)
                    self.rfile.read(size + 2)
                    if size == 0:
                        return
            left = int(self.headers.get("Content-Length") or 0)
            while left > 0:
                read = self.rfile.read(min(left, 1 << 20))
                left -= len(read) or left

        def answer(self) -> None:
            if self.path == "/health":
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.read_body()
            body = json.dumps(answer_of(self.path, sentence)).encode()
            self.send_response(503)
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(body)),
                "Retry-After": str(retry),
                "x-should-retry": "false",
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            last[0] = time.monotonic()

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = answer

        def log_message(self, *_: object) -> None:
            """Says nothing of each request."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def server_bind(self) -> None:
            """Without the look-up of its own name, which may take long."""
            socket.socket.setsockopt(self.socket, socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.bind(self.server_address)
            self.server_name, self.server_port = self.server_address

        def handle_error(self, *_: object) -> None:
            """A client that left is no error of ours."""

    with Server(("127.0.0.1", port), Answer) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        until = time.monotonic() + max(5, min(retry, 60))
        while time.monotonic() < min(last[0] + 1, until) and not over():
            time.sleep(0.05)
        least = time.monotonic() + 2
        while busy and time.monotonic() < least:
            time.sleep(0.02)
        server.shutdown()


class Run:
    """`run`: llama-swap, and care for what nobody has."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.asked: dict = {}

    def run(self) -> int:
        os.makedirs(self.machine.state, mode=0o700, exist_ok=True)
        if not (self.waits("Docker", self.docker_answers) and self.waits(self.machine.listen, self.address_there)):
            return 0
        stop_all(self.machine)
        env = dict(os.environ)
        key = self.machine.key()
        if key:
            env["LOCAL_SERVING_SWAP_KEY"] = os.environ["LOCAL_SERVING_SWAP_KEY"] = key
        command = [env["LOCAL_SERVING_PROGRAM"], "-config", env["LOCAL_SERVING_CONFIG"], "-listen", self.machine.listen]
        swap = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL)
        threading.Thread(target=self.cares, daemon=True).start()
        while swap.poll() is None:
            if ended.wait(0.2):
                swap.terminate()
                swap.wait()
                return 0
        say(f"llama-swap ended with {swap.returncode}")
        return 0 if ended.is_set() else 1

    def waits(self, what: str, there) -> bool:
        waited = 0
        while not ended.is_set():
            if there():
                return True
            if waited % 60 == 0:
                say(f"waiting for {what}")
            waited += 1
            ended.wait(1)
        return False

    def docker_answers(self) -> bool:
        try:
            self.machine.running()
            return True
        except (Fault, LetGo):
            return False

    def address_there(self) -> bool:
        with socket.socket() as probe:
            try:
                probe.bind((self.machine.listen.rpartition(":")[0], 0))
            except OSError as error:
                return error.errno != errno.EADDRNOTAVAIL
            return True

    def cares(self) -> None:
        looked, said = time.monotonic(), ""
        while not ended.wait(1):
            look = time.monotonic() - looked >= LOOK
            if not look and not self.machine.marks():
                continue
            try:
                with self.machine.lock(1) as held:
                    if held:
                        self.care(look)
                        looked = time.monotonic() if look else looked
                said = ""
            except LetGo:
                return
            except Exception as error:  # Whatever it was, the next second looks again.
                if str(error) != said:
                    said = str(error)
                    say(said)

    def care(self, look: bool) -> None:
        machine = self.machine
        seen = machine.seen()
        todo = care(machine.sets, seen, time.time(), look)
        for container in todo["orphans"]:
            machine.event("orphan", container, reason="llama-swap does not know that it runs")
        for container in todo["forget"]:
            machine.forget("letgo", machine.key_of(container))
        for container in todo["ask"]:
            if container not in machine.servers:
                todo["stop"].append(container)
            elif time.monotonic() - self.asked.get(container, 0) > 12:
                self.asked[container] = time.monotonic()
                machine.wants(container)
        if todo["stop"]:
            machine.stop(todo["stop"])
            for container in todo["stop"]:
                machine.event("stopped", container, reason="nobody asked for it")


def stop_all(machine: Machine) -> int:
    """Stops every on-request container of the machine."""
    os.makedirs(machine.state, mode=0o700, exist_ok=True)
    try:
        with machine.lock(10):
            containers = machine.running()
            machine.stop(containers)
            for container in containers:
                machine.event("stopped", container, reason="llama-swap's unit starts or ends")
            for mark in machine.marks():
                machine.forget("letgo", machine.key_of(mark))
    except Fault as fault:
        # `run` waits for Docker and does this again.
        say(str(fault))
    return 0


def main(action: str = "", container: str = "") -> int:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    machine = Machine()
    if action == "run":
        return Run(machine).run()
    if action == "stop-all":
        return stop_all(machine)
    if action == "start" and container in machine.servers:
        return Start(machine, container).run()
    say("on-demand.py run | start CONTAINER | stop-all")
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:3]))
    except LetGo:
        sys.exit(0)
    except (Fault, OSError, KeyError, ValueError) as error:
        say(f"{type(error).__name__}: {error}")
        sys.exit(1)
