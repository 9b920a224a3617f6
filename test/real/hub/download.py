"""Loads a model by huggingface_hub's own API, and prints what came of it, or the exception."""

import json
import os
import sys

from huggingface_hub import hf_hub_download, snapshot_download

given = json.loads(sys.argv[1])
asked = {"revision": given.get("revision"), "token": given.get("token", False)}
asked["cache_dir"] = given["cache"]


def chain(error):
    """An exception with those that led to it, the first of them first."""
    before = error.__cause__ or error.__context__
    return [*(chain(before) if before else []), error]


try:
    folder = snapshot_download(
        given["id"], ignore_patterns=["original/*", "metal/*"], max_workers=2, **asked
    )
    config = hf_hub_download(given["id"], given["file"], **asked)
    files = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            files[os.path.relpath(path, folder)] = os.path.getsize(path)
    assert os.path.dirname(config) == folder, config
    answer = {"commit": os.path.basename(folder), "files": files}
except Exception as error:
    words = [f"{type(each).__name__}: {each}" for each in chain(error)]
    answer = {"kinds": [type(each).__name__ for each in chain(error)], "words": "\n".join(words)}
print(json.dumps(answer))
