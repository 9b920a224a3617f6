"""A terminal of 80 columns and 24 rows for a program, as a person's window is.

Its keys come on stdin, and what it shows goes to stdout. At the end stderr gets a line of JSON: the
exit code or the signal, and whether the terminal is set as it was before.
"""

import fcntl
import json
import os
import pty
import select
import struct
import sys
import termios

COLUMNS, ROWS = 80, 24
# The other end stays open here, too: it keeps the settings, so that they can be compared.
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
before = termios.tcgetattr(slave)

child = os.fork()
if child == 0:
    os.close(master)
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for standard in (0, 1, 2):
        os.dup2(slave, standard)
    os.execvp(sys.argv[1], sys.argv[1:])

keys = [0]
pid = 0
while pid == 0:
    ready, _, _ = select.select([master, *keys], [], [], 0.1)
    if 0 in ready:
        typed = os.read(0, 1024)
        keys = keys if typed else []
        os.write(master, typed)
    if master in ready:
        os.write(1, os.read(master, 65536))
    else:
        pid, status = os.waitpid(child, os.WNOHANG)
exited = os.WIFEXITED(status)
end = {
    "code": os.WEXITSTATUS(status) if exited else None,
    "signal": None if exited else os.WTERMSIG(status),
    "sane": termios.tcgetattr(slave) == before,
}
print(json.dumps(end), file=sys.stderr)
