#!/usr/bin/env python3
"""Answers as a llama-swap that has every model it was ever asked for, and starts nothing."""

import http.server
import json
import sys

host, _, port = sys.argv[sys.argv.index("-listen") + 1].rpartition(":")
running = []


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/upstream/"):
            running.append(self.path.removeprefix("/upstream/").removesuffix("/health"))
        known = [{"model": model, "state": "ready"} for model in running]
        body = json.dumps({"running": known}).encode() if self.path == "/running" else b"OK"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing."""


http.server.ThreadingHTTPServer((host, int(port)), Answer).serve_forever()
