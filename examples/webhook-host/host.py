"""A host of a WEBHOOK policy: python3 host.py, with SIGNING_KEY as creating the policy answered it."""

import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MEMBERS = {"0x1234567890123456789012345678901234567890"}
SIGNING_KEY = os.environ["SIGNING_KEY"]
PORT = int(os.environ.get("WEBHOOK_PORT", "9000"))


def verify(method, target, headers, body, signing_key, now=None):
    """Whether a request comes from the paymaster service. target: path and query, and body: the bytes, both as received.

    signing_key: the text that creating the policy answered; the text itself is the key, it is not decoded."""
    timestamp = headers.get("X-Timestamp", "")
    if not timestamp.isdecimal() or abs((now or time.time()) - int(timestamp)) > 300:
        return False
    kind = "live" if headers.get("X-Test-Delivery") is None else "test"
    signed = "\n".join(["v2", timestamp, headers.get("X-Policy-Id", ""), kind, method, target, ""])
    digest = hmac.new(signing_key.encode(), signed.encode("latin-1") + body, hashlib.sha256).hexdigest()
    expected = f"v2={digest}".encode()
    given = [headers.get(name, "").encode("latin-1") for name in ("X-Signature", "X-Signature-Next")]
    return any(hmac.compare_digest(one, expected) for one in given)


class Host(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if not verify(self.command, self.path, self.headers, body, SIGNING_KEY):
            return self.answer(401, {})
        asked = json.loads(body) if body else {}
        sender = asked.get("userOp", {}).get("sender", "somebody")
        if sender.lower() in MEMBERS:
            return self.answer(200, {"arePoliciesVerified": True})
        self.answer(200, {"arePoliciesVerified": False, "reason": "not a member of the club"})

    do_GET = do_POST

    def answer(self, status, value):
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Host)
    print(f"webhook host at http://127.0.0.1:{PORT}", flush=True)
    server.serve_forever()
