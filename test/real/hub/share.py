"""Puts models into a cache by huggingface_hub's own functions, with weights in the store of all models."""

import hashlib
import os
import sys

from huggingface_hub.utils import _shared_blobs

hub = sys.argv[1]


def put(model, files):
    commit = hashlib.sha1(model.encode()).hexdigest()
    folder = os.path.join(hub, "models--" + model.replace("/", "--"))
    for each in ("blobs", "refs", f"snapshots/{commit}"):
        os.makedirs(os.path.join(folder, each))
    with open(os.path.join(folder, "refs/main"), "w") as main:
        main.write(commit)
    for name, body in files.items():
        digest = hashlib.sha256(body).hexdigest()
        blob = os.path.join(folder, "blobs", digest)
        about = {"cache_dir": hub, "blob_path": blob, "xet_hash": digest}
        about["expected_size"] = len(body)
        if not _shared_blobs.try_link_from_shared_store(**about):
            with open(blob, "wb") as file:
                file.write(body)
            if name.endswith(".safetensors"):
                assert _shared_blobs.publish_blob_to_shared_store(**about)
        os.symlink(f"../../blobs/{digest}", os.path.join(folder, "snapshots", commit, name))


os.makedirs(hub)
both = b"b" * 2_000_000
put("org/one", {"config.json": b"{}", "a.safetensors": both, "b.safetensors": b"1" * 1_000_000})
put("org/two", {"config.json": b"{}", "a.safetensors": both})
