"""Starts and stops the containers of models on demand for llama-swap, and trusts Docker alone.

    python3 -I on-demand.py run | start CONTAINER | stop-all

llama-swap takes a server for stopped once the `start` that it ran for it has ended. Here the
container outlives it: a `start` that llama-swap ends *lets go* of its container, and whoever comes
next decides, by what Docker says. A start that is accepted first stops what has no room beside it.
One that is refused stops nothing, and what was let go for it is taken back. What nobody takes,
`run` stops. All of them decide under one lock.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import errno
import fcntl
import functools
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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer

# Seconds. What was let go is stopped after the first, or the second where it is asked back.
LET_GO, ASKED_BACK = 2, 30
# Between two looks at all that runs.
LOOK = 30
# For an answer of Docker; a stop has the container's grace before it.
DOCKER = 30
# For `docker start` to end after a TERM: after five, llama-swap kills.
END = 3
# Lines of swaps.jsonl.
SWAPS = 1000

# States of a server that llama-swap counts on; one that is stopping is let go in a moment.
COUNTED = ("starting", "ready")

# Set by TERM.
ended = threading.Event()


class Fault(Exception):
    """What Docker, llama-swap or a file didn't do, as a sentence for people, without secrets."""

    def __init__(self, text: str) -> None:
        super().__init__(without_secrets(text))


class LetGo(Exception):
    """Whoever runs this wants it to end."""


def say(text: str) -> None:
    with contextlib.suppress(OSError):
        print(f"on demand: {text}", flush=True)


def iso_now() -> str:
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    return now.replace("+00:00", "Z")


# Decisions. They ask and write nothing.


def fits(sets: list, containers: set) -> bool:
    """Whether these run together by the ledger. One alone always may."""
    return len(containers) < 2 or any(containers <= set(each) for each in sets)


def no_room(sets: list, kept: set, others: list) -> list:
    """Those of `others` that have no room beside `kept` and the ones of `others` before them."""
    kept, out = set(kept), []
    for container in others:
        if fits(sets, kept | {container}):
            kept.add(container)
        else:
            out.append(container)
    return out


def decide(own: str, sets: list, seen: dict, failed: dict | None) -> dict:
    """What a start of `own` does: {"end"}, {"refuse"}, or {"take", "stops"}.

    `seen` is `Machine.seen`'s, `failed` the record of its last start where that still holds.
    """
    named, marks = {*seen["named"], own}, seen["marks"]
    stopping = marks.get(own, {}).get("stopping", False)
    take = own in seen["running"] and not stopping
    # One that answered llama-swap while it was being stopped: only an end of this start makes
    # llama-swap wait for a new one.
    if seen["states"].get(own) not in (COUNTED if take else ("starting",)):
        return {"end": "llama-swap does not start it any more"}
    if failed and not take:
        return {"refuse": failed["sentence"]}
    if not fits(sets, named):
        return {"refuse": "it has no room beside " + " and ".join(sorted(named - {own}))}
    stops = no_room(sets, named, [each for each in seen["running"] if each not in named])
    return {"take": take, "stops": stops + [own] * (stopping and own in seen["running"])}


def care(sets: list, seen: dict, now: float, look: bool) -> dict:
    """What `run` does: containers to `stop`, to `ask` llama-swap for, and marks to `forget`.

    With `look`, also `orphans` that nobody let go: they were started by hand, or their `start` was
    killed.
    """
    named, marks, running = seen["named"], seen["marks"], seen["running"]
    free = [each for each in running if each not in named]
    due = [each for each in free if each in marks and marks[each]["due"] <= now]
    back = [each for each in free if marks.get(each, {}).get("back") and each not in due]
    orphans = [each for each in free if each not in marks] if look else []
    out = no_room(sets, set(named), back + orphans)
    # What is asked back and has no room waits: whoever starts by now stops it, or its turn comes.
    return {
        "stop": due + [each for each in out if each in orphans],
        "ask": [each for each in back + orphans if each not in out],
        "orphans": orphans,
        "forget": [each for each in marks if each not in running and each not in named],
    }


ERROR = re.compile(r"error|exception|fatal|failed|killed|out of memory|not found|closed:", re.I)
# So do these, but not which. What points to a cause elsewhere is in the table below.
EMPTY = r"core proc|vLLM ended|Traceback"
COLOURS = re.compile(r"\x1b\[[\d;]*m|[\x00-\x09\x0b-\x1f\x7f]")
# Characters of a log that are looked at, and lines of it.
LOG, LOG_LINES = 1 << 16, 200
# What stands for a secret.
HIDDEN = "***"
# What a secret looks like and what gives no reason, which whoever writes this file puts here.
FORMS: dict = {}


def telling_line(log: str) -> str:
    """The line of a log that says best why its server ended."""
    lines = [line for line in (each.strip() for each in COLOURS.sub("", log).split("\n")) if line]
    empty = re.compile(f"{EMPTY}|{FORMS['pointsElsewhere']}")
    errors = [line for line in lines if ERROR.search(line) and not empty.search(line)]
    return (errors or lines or ["its log is empty"])[-1][:300]


@functools.lru_cache(maxsize=None)
def patterns(group: str) -> dict:
    """Those of a group of the table, by name. Few starts need any."""
    return {name: re.compile(each) for name, each in FORMS[group].items()}


# How JSON writes blanks inside of a text, and what stands for each while that is searched.
ESCAPES = (("\\\\n", "\v\v\n"), ("\\n", "\v\n"), ("\\r", "\f\n"), ("\\t", "\v\t"))


def without_secrets(text: str, secrets: list | tuple = ()) -> str:
    """The text without these secrets, and without all that looks like one by the table."""
    text = COLOURS.sub("", text)
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN) if len(secret) > 3 else text
    escapes = () if re.search("[\v\f]", text) else ESCAPES
    for written, blank in escapes:
        text = text.replace(written, blank)
    lower = text.lower()
    for words, pattern in FORMS["forms"]:
        if any(word in lower for word in words):
            text = re.sub(pattern, without_secret, text)
    for written, blank in escapes:
        text = text.replace(blank, written)
    # A secret may have ended inside of what stood for its line's end.
    return re.sub("[\v\f]", "", text) if escapes else text


def without_secret(match: re.Match) -> str:
    """What stands for a match: its secret is taken out, if it is one."""
    found = match.groupdict()
    if found.get("none") is not None:
        return match[0]
    name, value = found.get("name"), found.get("value") or ""
    secret = not is_placeholder(value) if name is None else is_secret(name, value)
    return f"{found.get('before') or ''}{HIDDEN}" if secret else match[0]


def is_secret_name(name: str) -> bool:
    names = patterns("names")
    parts = re.split(r"[^a-z\d]+", re.sub(r"([a-z\d])([A-Z])", r"\1_\2", name).lower())
    parts = [part for part in parts if re.search("[a-z]", part)]
    last, plain = parts[-1] if parts else "", "_".join(parts)
    if names["reference"].search(last) or names["folder"].search(name):
        return False
    if "public" in parts or parts[:1] == ["env"]:
        return False
    return bool(names["secret"].search(plain)) and not names["textToken"].search(plain)


def is_secret(name: str, value: str) -> bool:
    names, values = patterns("names"), patterns("values")
    if names["login"].search(name):
        login = re.sub(r"[^A-Za-z\d+/]|=.*", "", value)
        login = login[:-1] if len(login) % 4 == 1 else login
        text = base64.b64decode(login + "=" * (-len(login) % 4)).decode("latin1")
        return bool(values["login"].search(text))
    if not is_secret_name(name) or is_placeholder(value):
        return False
    if names["common"].search(name) and not re.search(r"\d", value):
        return False
    return not values["figure"].search(value) or bool(names["strict"].search(name))


def is_placeholder(value: str) -> bool:
    values, text = patterns("values"), value.strip()
    for _ in range(FORMS["fallbacks"]):
        inner = values["fallback"].search(text)
        text = inner[1].strip() if inner else text
    word = re.sub("^sk-", "", text.lower().replace("_", "-"))
    stands = values["standIn"].search(text) or values["placeholder"].search(word)
    return bool(stands) or word in FORMS["placeholders"]


def answer_of(path: str, sentence: str) -> dict:
    """The sentence as an error of the interface that was asked: Anthropic's or OpenAI's."""
    if path.startswith("/v1/messages"):
        return {"type": "error", "error": {"type": "api_error", "message": sentence}}
    error = {"message": sentence, "type": "server_error", "param": None, "code": "not_started"}
    return {"error": error}


# Docker.


def docker(*words: str, seconds: float = DOCKER, until=ended.is_set, merged: bool = False) -> str:
    """Runs `docker` and returns what it printed, or raises what it said instead.

    It is in a session of its own: a signal to this process never ends it half-way. Once `until`
    says so nobody waits for it; a `stop` goes on, and what it stops is marked. `merged`: with what
    it prints to stderr.
    """
    errors = subprocess.STDOUT if merged else subprocess.PIPE
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": errors}
    try:
        child = subprocess.Popen(["docker", *words], start_new_session=True, **pipes)
    except OSError as error:
        raise Fault(f"docker can't be run: {error}") from error
    last, let_go = time.monotonic() + seconds, False
    while True:
        try:
            out, err = child.communicate(timeout=0.1)
            break
        except subprocess.TimeoutExpired:
            if until() and not let_go:
                let_go, last = True, time.monotonic() + (END if words[0] == "start" else 0)
            if time.monotonic() < last:
                continue
            if words[0] != "stop" or not let_go:
                child.kill()
                child.communicate()
            if let_go:
                raise LetGo() from None
            raise Fault(f"`docker {words[0]}` did not answer within {seconds:.0f} s") from None
    if child.returncode == 0:
        return out.decode(errors="replace")
    lines = (err or out).decode(errors="replace").strip().split("\n")
    reasons = [line for line in lines if line.strip() and not re.match(FORMS["noReason"], line)] or lines
    raise Fault(reasons[-1] or f"`docker {words[0]}` ended with {child.returncode}")


SHOWN = '{"id":{{json .Id}},"state":{{json .State}},"env":{{json .Config.Env}}}'


def is_missing(fault: Fault) -> bool:
    return "no such container" in str(fault).lower()


def inspect(container: str) -> dict | None:
    """The container, or None where there is none."""
    try:
        return json.loads(docker("inspect", "--type", "container", "--format", SHOWN, container))
    except Fault as fault:
        if is_missing(fault):
            return None
        raise


class Machine:
    """What is declared, what runs, and the state folder.

    A folder that can't be written neither stops a server nor keeps one from stopping.
    """

    def __init__(self) -> None:
        self.name = os.environ["LOCAL_SERVING_MACHINE"]
        self.listen = os.environ["LOCAL_SERVING_LISTEN"]
        self.key_file = os.environ.get("LOCAL_SERVING_KEY_FILE", "")
        self.state = os.environ["LOCAL_SERVING_STATE"]
        with open(os.environ["LOCAL_SERVING_DECLARED"], encoding="utf-8") as file:
            declared = json.load(file)
        self.sets, self.start_within = declared["sets"], declared["startWithinSeconds"]
        self.retry_after = declared["retryAfterSeconds"]
        self.servers = {each["container"]: each for each in declared["servers"]}
        self.longest_grace = max(each["graceSeconds"] for each in declared["servers"])

    def key(self) -> str:
        if not self.key_file:
            return ""
        with open(self.key_file, encoding="utf-8") as file:
            return file.read().strip()

    def key_of(self, container: str) -> str:
        return self.servers.get(container, {}).get("key", container)

    def path(self, *names: str) -> str:
        return os.path.join(self.state, *names)

    @contextlib.contextmanager
    def lock(self, seconds: float = float("inf"), until=ended.is_set):
        """Tells the block whether it holds the lock, which it waits for at most so long."""
        last, held = time.monotonic() + seconds, False
        try:
            os.makedirs(self.state, mode=0o700, exist_ok=True)
            handle = os.open(self.path("lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Fault(f"the lock in {self.state} can't be opened: {error.strerror}") from error
        try:
            while not held and time.monotonic() < last:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    held = True
                except BlockingIOError:
                    if until():
                        raise LetGo() from None
                    time.sleep(0.05)
            yield held
        finally:
            os.close(handle)

    def write(self, folder: str, name: str, content: dict) -> None:
        temporary = f".{name}.{os.getpid()}"
        try:
            os.makedirs(self.path(folder), mode=0o700, exist_ok=True)
            with open(self.path(folder, temporary), "w", encoding="utf-8") as file:
                json.dump(content, file)
            os.replace(self.path(folder, temporary), self.path(folder, name))
        except OSError as error:
            self.forget(folder, temporary)
            say(f"{folder}/{name} can't be written: {error}")

    def read(self, folder: str, name: str) -> dict:
        with contextlib.suppress(OSError, ValueError):
            with open(self.path(folder, name), encoding="utf-8") as file:
                content = json.load(file)
            return content if isinstance(content, dict) else {}
        return {}

    def forget(self, folder: str, name: str) -> None:
        with contextlib.suppress(OSError):
            os.remove(self.path(folder, name))

    def mark(self, container: str, due: float, **more: object) -> None:
        content = {"container": container, "due": due, **more}
        self.write("letgo", self.key_of(container), content)

    def marks(self) -> dict:
        """By container: when it is `due` to be stopped, whether it is `stopping` or asked `back`."""
        names: list = []
        with contextlib.suppress(OSError):
            names = [each for each in os.listdir(self.path("letgo")) if each[0] != "."]
        found = [self.read("letgo", each) for each in names]
        return {each["container"]: each for each in found if {"container", "due"} <= each.keys()}

    def failed(self, container: str, identity: str | None) -> dict | None:
        """The failure of this very container, for as long as it isn't tried again."""
        record = self.read("failed", f"{self.key_of(container)}.json")
        if record.get("container") != identity or "sentence" not in record:
            return None
        left = self.retry_after - (time.time() - record.get("time", 0))
        return {**record, "left": left} if 0 < left <= self.retry_after else None

    def event(self, event: str, container: str, **more: object) -> None:
        line = {"at": iso_now(), "event": event, "server": self.key_of(container), **more}
        say(" ".join([event, line["server"], *(f"{name}={value}" for name, value in more.items())]))
        path = self.path("swaps.jsonl")
        with contextlib.suppress(OSError), open(path, "a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(json.dumps(line) + "\n")
            file.seek(0)
            lines = file.readlines()
            if len(lines) > SWAPS:
                file.truncate(0)
                file.writelines(lines[-SWAPS:])

    def ask(self, path: str) -> bytes:
        """What llama-swap answers."""
        host, _, port = self.listen.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        try:
            key = self.key()
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise Fault(f"llama-swap answers {path} with {answer.status}")
            return answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise Fault(f"llama-swap does not answer {path}: {error}") from error
        finally:
            connection.close()

    def want(self, container: str) -> None:
        """Asks llama-swap for a server, and waits for nothing: it starts it, or notes its use."""
        path = f"/upstream/{urllib.parse.quote(self.servers[container]['model'])}/health"

        def asks() -> None:
            with contextlib.suppress(Fault):
                self.ask(path)

        threading.Thread(target=asks, daemon=True).start()

    def running(self) -> list:
        """On-request containers of this machine that run."""
        labels = [f"local-serving.machine={self.name}", "local-serving.start=onRequest"]
        filters = [word for label in labels for word in ("--filter", f"label={label}")]
        return docker("ps", *filters, "--format", "{{.Names}}").split()

    def seen(self) -> dict:
        """What runs, what llama-swap has, then what was let go: so in this order, what is let go
        meanwhile has its mark."""
        running = self.running()
        try:
            found = json.loads(self.ask("/running"))["running"]
            by_model = {each["model"]: each["state"] for each in found}
        except (ValueError, KeyError, TypeError) as error:
            raise Fault("llama-swap's /running has another form than v250's") from error
        states = {name: by_model.get(each["model"]) for name, each in self.servers.items()}
        # One that doesn't run and is "ready", or has failed, takes no memory: its `start` says why.
        named = [
            name
            for name, state in states.items()
            if (state in COUNTED and name in running)
            or (state == "starting" and not self.read("failed", f"{self.key_of(name)}.json"))
        ]
        return {"running": running, "states": states, "named": named, "marks": self.marks()}

    def stop(self, containers: list, until=ended.is_set) -> None:
        """Stops containers side by side, each with its grace; marked, so that nobody takes one that
        is being stopped."""
        faults: list = []

        def stops(container: str) -> None:
            grace = self.servers.get(container, {}).get("graceSeconds", self.longest_grace)
            words = ("stop", "-t", str(grace), container)
            try:
                docker(*words, seconds=grace + DOCKER, until=until)
            except LetGo as let_go:
                faults.insert(0, let_go)
                return
            except Fault as fault:
                if not is_missing(fault):
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
        if faults:
            raise faults[0]


class Start:
    """`start CONTAINER`: lives for as long as llama-swap is to take the server for started."""

    def __init__(self, machine: Machine, container: str) -> None:
        self.machine, self.container = machine, container
        self.server, self.model = machine.servers[container], machine.servers[container]["model"]
        self.parent = os.getppid()
        self.spawned = self.began = time.monotonic()
        self.identity: str | None = None
        # Whether the container may run because of this start.
        self.holds = False
        # Seconds of the clock at which Docker was told to start it. On a busy machine it notes its
        # own time of the start behind the first lines of the log.
        self.told: float | None = None

    def over(self) -> bool:
        """Whether llama-swap wants an end, or is gone."""
        return ended.is_set() or os.getppid() != self.parent

    def run(self) -> int:
        try:
            try:
                with self.machine.lock(until=self.over):
                    sentence, taken = self.begin()
                sentence = sentence or self.accompany(taken)
            except Fault as fault:
                sentence = f"{self.model} did not start: {fault}"
            if sentence:
                self.refuse(sentence)
        except LetGo:
            # Also where it has not looked yet: the container may run, and this one came to take it.
            if not self.machine.marks().get(self.container, {}).get("stopping"):
                self.machine.mark(self.container, time.time() + LET_GO)
            if self.holds:
                self.machine.event("letGo", self.container)
        return 0

    def begin(self) -> tuple:
        """Under the lock: decides, stops what has no room, starts the container. Returns a sentence
        where it is not started, and whether it ran already."""
        machine, container = self.machine, self.container
        shown = inspect(container)
        self.identity = shown and shown["id"]
        seen = machine.seen()
        decision = decide(container, machine.sets, seen, machine.failed(container, self.identity))
        if "end" in decision:
            say(f"{container}: {decision['end']}")
            raise LetGo()
        if not shown:
            decision = {"refuse": f"{self.model} did not start: there is no container {container}"}
        if "refuse" in decision:
            self.keep_let_go(seen)
            return decision["refuse"], False
        machine.stop(decision["stops"], until=self.over)
        if container in decision["stops"] and machine.seen()["states"][container] != "starting":
            raise LetGo()
        machine.forget("failed", f"{self.server['key']}.json")
        stops = [machine.key_of(each) for each in decision["stops"] if each != container]
        also = {"stops": stops} if stops else {}
        machine.event("taken" if decision["take"] else "start", container, **also)
        if not decision["take"] and self.over():
            raise LetGo()
        self.holds, self.began = True, time.monotonic()
        if not decision["take"]:
            self.told = time.time()
            try:
                docker("start", container, seconds=2 * DOCKER, until=self.over)
            except Fault as fault:
                # Docker may do late what it did not answer.
                machine.mark(container, 0, stopping=True)
                return self.fail(f"Docker does not start its container: {fault}"), False
        machine.forget("letgo", self.server["key"])
        return "", decision["take"]

    def keep_let_go(self, seen: dict) -> None:
        """`run` takes back what was let go for this server, which doesn't start."""
        for container, mark in seen["marks"].items():
            if container in self.machine.servers and not mark.get("stopping"):
                self.machine.mark(container, time.time() + ASKED_BACK, back=True)

    def accompany(self, taken: bool) -> str:
        """Watches the container to its end. Returns a sentence where it did not get ready."""
        machine, container = self.machine, self.container
        # Before llama-swap's own limit, which counts the wait for the lock and for others' ends.
        last = min(self.began, self.spawned + 30) + machine.start_within
        ready = docker_gone = False
        waiting = None
        try:
            while not self.over():
                if not ready and self.healthy():
                    ready = True
                    seconds = round(time.monotonic() - self.began)
                    if not taken or seconds > 1:
                        machine.event("ready", container, seconds=seconds)
                    # Otherwise llama-swap unloads it at once where its client has left.
                    machine.want(container)
                if not ready and time.monotonic() > last:
                    return self.late()
                if waiting is None:
                    nothing = {name: subprocess.DEVNULL for name in ("stdin", "stdout", "stderr")}
                    waiting = subprocess.Popen(["docker", "wait", self.identity], **nothing)
                elif waiting.poll() is not None:
                    docker_gone = docker_gone or waiting.returncode != 0
                    waiting = None
                    # The daemon may be starting anew; with live-restore the container lives on.
                    with contextlib.suppress(Fault):
                        shown = inspect(self.identity)
                        if not shown or not shown["state"]["Running"]:
                            return self.gone(shown, ready, docker_gone)
                    ended.wait(1)
                ended.wait(0.2)
        finally:
            if waiting:
                waiting.kill()
        raise LetGo()

    def healthy(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.server["port"], timeout=2)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def gone(self, shown: dict | None, ready: bool, docker_gone: bool) -> str:
        """The container has ended."""
        code = shown["state"]["ExitCode"] if shown else None
        how = f"its container ended with {code}" if shown else "its container was removed"
        if ready:
            self.holds = False
            self.machine.event("stopped", self.container, reason=how)
            return ""
        # Somebody stopped it, or Docker ended with it: nothing is known against the server.
        stopped = not shown or docker_gone or code in (0, 143)
        seconds = round(time.monotonic() - self.began)
        said = f": {self.said(shown)}" if shown else ""
        return self.fail(f"{how} after {seconds} s{said}", kept=not stopped)

    def late(self) -> str:
        shown = inspect(self.identity)
        said = f": {self.said(shown)}" if shown else ""
        with contextlib.suppress(Fault):
            self.machine.stop([self.container], until=self.over)
        return self.fail(f"it was not ready within {self.machine.start_within} s{said}")

    def said(self, shown: dict) -> str:
        since = shown["state"]["StartedAt"] if self.told is None else f"{self.told:.3f}"
        words = ("--tail", str(LOG_LINES), "--since", since, shown["id"])
        try:
            log = docker("logs", *words, seconds=10, merged=True)
        except Fault:
            return "its log can't be read"
        named = [each.partition("=") for each in shown["env"] or []]
        secrets = [value for name, _, value in named if is_secret(name, value)]
        with contextlib.suppress(OSError):
            secrets.append(self.machine.key())
        # Half a word could hide what it is; a key may have many lines.
        end = re.sub(r"^\S*", "", log[-LOG:]) if len(log) > LOG else log
        return telling_line(without_secrets(end, secrets))

    def fail(self, reason: str, kept: bool = True) -> str:
        """Records that the server did not start; returns the sentence."""
        machine, key = self.machine, self.server["key"]
        self.holds = False
        sentence = f"{self.model} did not start: {reason}; serving logs {key}"
        if kept:
            record = {"container": self.identity, "at": iso_now(), "time": time.time()}
            machine.write("failed", f"{key}.json", {**record, "sentence": sentence})
        machine.event("failed", self.container, reason=reason)
        return sentence

    def refuse(self, sentence: str) -> None:
        """Says it on the server's own port, where llama-swap passes it on to whoever asked."""
        self.machine.event("refused", self.container, reason=sentence)
        record = self.machine.failed(self.container, self.identity)
        say_on_port(self.server["port"], sentence, record["left"] if record else 5, self.over)
        os._exit(0)


def say_on_port(port: int, sentence: str, holds: float, over) -> None:
    """Answers 200 to /health and the sentence to all else, until a second after the last answer, or
    five seconds without one. It `holds` for so many seconds. No answer says Retry-After: Codex
    (0.169.0) waits for so long before it shows anything."""
    last = time.monotonic() + 5
    latest = time.monotonic() + max(5, min(holds, 60))

    class Answer(BaseHTTPRequestHandler):
        timeout = 2

        def answer(self) -> None:
            nonlocal last
            # An answer before the end of a long request would reach nobody.
            left = int(self.headers.get("Content-Length") or 0)
            while left > 0:
                left -= len(self.rfile.read(min(left, 1 << 20))) or left
            health = self.path == "/health"
            body = b"" if health else json.dumps(answer_of(self.path, sentence)).encode()
            self.send_response(200 if health else 503)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("x-should-retry", "false")
            self.end_headers()
            self.wfile.write(body)
            last = last if health else time.monotonic() + 1

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = answer

        def log_message(self, *_: object) -> None:
            """Says nothing of a request."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 128
        # The library's own asks the name service, which may take long.
        server_bind = TCPServer.server_bind

        def handle_error(self, *_: object) -> None:
            """A client that left is no error."""

    server = Server(("127.0.0.1", port), Answer)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    while time.monotonic() < min(last, latest) and not over():
        time.sleep(0.05)
    # The port stays open to the end: between its end and this program's, llama-swap would answer
    # whoever asks with 502 and no word. Beside this thread and the one that accepts, some answer.
    until = time.monotonic() + END
    while threading.active_count() > 2 and time.monotonic() < until:
        time.sleep(0.01)


class Run:
    """`run`: llama-swap, and care for what nobody has."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        # When llama-swap was last asked for a container.
        self.asked: dict = {}

    def run(self) -> int:
        machine = self.machine
        self.wait_for("Docker", self.docker_answers)
        self.wait_for(f"the address of {machine.listen}", self.has_address)
        stop_all(machine)
        program, config = (os.environ[f"LOCAL_SERVING_{each}"] for each in ("PROGRAM", "CONFIG"))
        env = {**os.environ, "LOCAL_SERVING_SWAP_KEY": machine.key()}
        command = [program, "-config", config, "-listen", machine.listen]
        swap = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL)
        threading.Thread(target=self.cares, daemon=True).start()
        while swap.poll() is None and not ended.wait(0.2):
            pass
        if swap.poll() is None:
            swap.terminate()
        code = swap.wait()
        say(f"llama-swap ended with {code}")
        return 0 if ended.is_set() else 1

    def wait_for(self, what: str, is_there) -> None:
        waited = 0
        while not is_there():
            if waited % 60 == 0:
                say(f"waiting for {what}")
            waited += 1
            if ended.wait(1):
                raise LetGo()

    def docker_answers(self) -> bool:
        try:
            return self.machine.running() is not None
        except Fault:
            return False

    def has_address(self) -> bool:
        with socket.socket() as probe:
            try:
                probe.bind((self.machine.listen.rpartition(":")[0], 0))
                return True
            except OSError as error:
                return error.errno != errno.EADDRNOTAVAIL

    def cares(self) -> None:
        looked, said = time.monotonic(), ""
        while not ended.wait(1):
            look = time.monotonic() - looked >= LOOK
            try:
                if look or self.machine.marks():
                    with self.machine.lock(1) as held:
                        if held:
                            self.care(look)
                            looked = time.monotonic() if look else looked
                said = ""
            except LetGo:
                return
            except Exception as error:  # Whatever it is, the next second tries again.
                if str(error) != said:
                    said = str(error)
                    say(said)

    def care(self, look: bool) -> None:
        machine = self.machine
        todo = care(machine.sets, machine.seen(), time.time(), look)
        for container in todo["forget"]:
            machine.forget("letgo", machine.key_of(container))
        for container in todo["orphans"]:
            machine.event("orphan", container, reason="it runs, and llama-swap does not know")
        for container in todo["ask"]:
            if container not in machine.servers:
                todo["stop"].append(container)
            elif time.monotonic() - self.asked.get(container, -LOOK) > 12:
                self.asked[container] = time.monotonic()
                machine.want(container)
        machine.stop(todo["stop"])
        for container in todo["stop"]:
            machine.event("stopped", container, reason="nobody asked for it")


def stop_all(machine: Machine) -> int:
    """Stops every on-request container of the machine."""
    try:
        with machine.lock(10):
            running = machine.running()
            machine.stop(running)
            for container in {*running, *machine.marks()}:
                machine.forget("letgo", machine.key_of(container))
            for container in running:
                machine.event("stopped", container, reason="the unit starts or ends")
    except Fault as fault:
        # Without Docker nothing can be stopped; `run` waits for it, and does this again.
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
