#!/usr/bin/env python3
"""systemd's user manager, as far as one unit needs it: units of ~/.config/systemd/user, told by its
calls. It runs a unit's ExecStartPre, ExecStart and ExecStopPost, and starts it again when it ends.

`loginctl` and `journalctl` are this program, too.
"""

import os
import shlex
import signal
import subprocess
import sys
import time

HOME = os.environ["HOME"]
FOLDER = os.path.join(HOME, ".stand-in-systemd")
UNITS = os.path.join(HOME, ".config/systemd/user")


def path(*names):
    return os.path.join(FOLDER, *names)


def unit_of(name):
    variables, commands = {}, {}
    with open(os.path.join(UNITS, name), encoding="utf-8") as file:
        for line in file:
            key, _, value = line.strip().partition("=")
            if key == "Environment":
                variable, _, text = shlex.split(value)[0].partition("=")
                variables[variable] = text.replace("%%", "%")
            elif key.startswith("Exec"):
                commands[key] = shlex.split(value.replace("%%", "%"))
    return variables, commands


def supervise(name):
    """The unit, until it is asked to end."""
    asked = []
    main = None

    def end(*_):
        asked.append(True)
        if main is not None and main.poll() is None:
            main.terminate()

    signal.signal(signal.SIGTERM, end)
    while not asked:
        variables, commands = unit_of(name)
        env = {**os.environ, **variables}
        subprocess.run(commands["ExecStartPre"], env=env, check=False)
        main = subprocess.Popen(commands["ExecStart"], env=env, start_new_session=True)
        if asked:
            main.terminate()
        main.wait()
        try:
            os.killpg(main.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        subprocess.run(commands["ExecStopPost"], env=env, check=False)
        if not asked:
            time.sleep(0.2)


def pid_of(name):
    try:
        with open(path(f"{name}.pid"), encoding="utf-8") as file:
            pid = int(file.read())
        os.kill(pid, 0)
        return pid
    except (OSError, ValueError):
        return None


def stop(name):
    pid = pid_of(name)
    if pid is None:
        return
    os.kill(pid, signal.SIGTERM)
    while pid_of(name) is not None:
        time.sleep(0.05)


def start(name):
    if not os.path.exists(os.path.join(UNITS, name)):
        sys.exit(f"Unit {name} not found.")
    with open(path(f"{name}.log"), "a", encoding="utf-8") as log:
        child = subprocess.Popen(
            [sys.executable, __file__, "supervise", name],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    with open(path(f"{name}.pid"), "w", encoding="utf-8") as file:
        file.write(str(child.pid))


def linger(words):
    if words[0] == "show-user":
        name = "" if "--value" in words else "Linger="
        print(name + ("yes" if os.path.exists(path("linger")) else "no"))
    elif words[0] == "enable-linger":
        open(path("linger"), "w", encoding="utf-8").close()


def main(program, words):
    if words[:1] == ["supervise"]:
        return supervise(words[1])
    os.makedirs(FOLDER, exist_ok=True)
    with open(path("calls"), "a", encoding="utf-8") as file:
        file.write(" ".join([program, *words]) + "\n")
    if program == "loginctl":
        return linger(words)
    if program == "journalctl":
        return None
    quiet = "--quiet" in words
    words = [word for word in words if word not in ("--user", "--", "--now", "--quiet")]
    action, names = words[0], words[1:]
    if action == "show":
        name = names[-1]
        enabled = os.path.exists(path(f"{name}.enabled"))
        print(f"ActiveState={'active' if pid_of(name) else 'inactive'}")
        print(f"UnitFileState={'enabled' if enabled else 'disabled'}")
        return None
    for name in names:
        if action in ("stop", "restart", "disable"):
            stop(name)
        if action in ("start", "restart"):
            start(name)
        if action == "enable":
            open(path(f"{name}.enabled"), "w", encoding="utf-8").close()
        if action == "disable" and os.path.exists(path(f"{name}.enabled")):
            os.remove(path(f"{name}.enabled"))
        if action == "is-active":
            if not quiet:
                print("active" if pid_of(name) else "inactive")
            sys.exit(0 if pid_of(name) else 3)
        if action == "is-enabled":
            enabled = os.path.exists(path(f"{name}.enabled"))
            print("enabled" if enabled else "disabled")
            sys.exit(0 if enabled else 1)
    return None


if __name__ == "__main__":
    main(os.path.basename(sys.argv[0]), sys.argv[1:])
