#!/usr/bin/env python3
"""Answers as a llama-swap that has started nothing."""

import http.server
import sys

host, _, port = sys.argv[sys.argv.index("-listen") + 1].rpartition(":")


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{"running":[]}' if self.path == "/running" else b"OK"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing."""


http.server.ThreadingHTTPServer((host, int(port)), Answer).serve_forever()
