# Prints the revision that a database of SQLite is at: the last row of the first table that is there.
#
#   python3 -c "$(cat readRevision.py)" FOLDER FILE TABLE.COLUMN...
#
# The folder is mounted read-only, and the program that wrote the database may have been killed: what
# it has not moved out of its write-ahead log counts, too.
import os
import shutil
import sqlite3
import sys
import tempfile

folder, name, *columns = sys.argv[1:]
path = os.path.join(folder, name)


def asked(address):
    connection = sqlite3.connect("file:" + address, uri=True)
    try:
        # Fails here if the database can't be opened this way.
        tables = {row[0] for row in connection.execute("select name from sqlite_master")}
        for table, column in (each.split(".") for each in columns):
            if table in tables:
                last = f"select {column} from {table} order by rowid desc limit 1"
                for row in connection.execute(last):
                    return row[0]
        return ""
    finally:
        connection.close()


def open_log():
    logs = [path + end for end in ("-wal", "-journal")]
    return any(os.path.exists(log) and os.path.getsize(log) > 0 for log in logs)


def revision():
    try:
        return asked(path + "?mode=ro")
    except sqlite3.OperationalError:
        if not open_log():
            return asked(path + "?immutable=1")
    # A journal that has to be played back needs a place to write.
    with tempfile.TemporaryDirectory() as place:
        for end in ("", "-wal", "-journal"):
            if os.path.exists(path + end):
                shutil.copy(path + end, os.path.join(place, "copy" + end))
        return asked(os.path.join(place, "copy"))


if os.path.exists(path):
    print(revision())
