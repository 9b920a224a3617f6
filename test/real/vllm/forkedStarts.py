"""Starts vLLM many times for one import of it, which takes most of a start that fails:

    python forkedStarts.py '[{"name": "first", "args": ["rig/dense", ...], "adapter": ["FOLDER", 8, 1, "sound"]}, ...]'

An adapter is made first, as adapters.py does. Each start is a process of its own with its own engine and worker. Writes a line of JSON for each: its log, and its exit code
or, where it serves instead, the names that it lists and what each makes of a text (log-probabilities).
"""

import json
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request

LIMIT_SECONDS = 240

# One thread, and no binding to cores that others use: OpenMP's threads don't survive a fork.
os.environ.update(VLLM_CPU_OMP_THREADS_BIND="nobind", OMP_NUM_THREADS="1", TORCHDYNAMO_DISABLE="1")

from pathlib import Path

import adapters
import vllm.entrypoints.cli.main
import vllm.entrypoints.cli.serve
import vllm.entrypoints.openai.api_server
import vllm.lora.worker_manager
import vllm.model_executor.models.qwen3
import vllm.v1.engine.async_llm
import vllm.v1.engine.core
import vllm.v1.engine.utils
import vllm.v1.executor.multiproc_executor
import vllm.v1.worker.cpu_model_runner
import vllm.v1.worker.cpu_worker


def fork_everything() -> None:
    """A build for CPUs starts its processes anew otherwise, each with an import of its own."""
    for name, module in list(sys.modules.items()):
        if name.startswith("vllm") and hasattr(module, "get_mp_context"):
            module.get_mp_context = lambda: multiprocessing.get_context("fork")


def serve(args: list[str], log: str) -> None:
    os.setsid()
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.argv = ["vllm", "serve", *args]
    try:
        vllm.entrypoints.cli.main.main()
    except SystemExit as error:
        os._exit(error.code if isinstance(error.code, int) else 1)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def ask(port: int, path: str, body: dict | None = None) -> dict:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        data=body and json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read()
    return json.loads(text or b"{}")


def answers(port: int) -> dict[str, list[float]]:
    names = [each["id"] for each in ask(port, "/v1/models")["data"]]
    request = {"prompt": "the river runs past the house", "max_tokens": 1, "prompt_logprobs": 0}
    said = {name: ask(port, "/v1/completions", {"model": name, **request}) for name in names}
    return {
        name: [round(next(iter(token.values()))["logprob"], 3) for token in each["choices"][0]["prompt_logprobs"] if token]
        for name, each in said.items()
    }


def result(pid: int, port: int) -> dict:
    began = time.monotonic()
    while time.monotonic() - began < LIMIT_SECONDS:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return {"code": os.waitstatus_to_exitcode(status)}
        try:
            ask(port, "/health")
            found = {"answers": answers(port)}
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.3)
            continue
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return found
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return {"code": None}


def main() -> None:
    fork_everything()
    for start in json.loads(sys.argv[1]):
        if "adapter" in start:
            folder, *how = start["adapter"]
            adapters.main(Path(folder), *how)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with tempfile.NamedTemporaryFile() as log:
            pid = os.fork()
            if pid == 0:
                serve([*start["args"], "--host", "127.0.0.1", "--port", str(port)], log.name)
            found = result(pid, port)
            text = log.read().decode(errors="replace")
        print("STARTED", json.dumps({"name": start["name"], **found, "log": text}), flush=True)


main()
