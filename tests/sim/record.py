#!/usr/bin/env python3
"""Records what a real API server answers to the conversation of `conversation.py`.

Usage: record.py URL TOKEN > recorded.json. The server must be fresh (its first objects are the
conversation's). Admission webhooks on loopback collect the reviews of every step. Managed fields
are left out: the simulated server has none. Nothing here judges: `main.rs` replays the recording
through the simulated server and compares.
"""
import http.server, json, re, socket, ssl, subprocess, sys, tempfile, threading, time, urllib.request
from base64 import b64encode
from conversation import STEPS

URL, TOKEN = sys.argv[1], sys.argv[2]
INSECURE = ssl._create_unverified_context()
reviews = []


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        phase = self.path.split("?")[0].strip("/")
        reviews.append({"phase": phase, "review": review})
        response = {"uid": review["request"]["uid"], "allowed": True, **verdict(phase, review["request"])}
        answer = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def verdict(phase, request):
    """What an annotation of the object tells the webhook of this phase to answer."""
    annotations = (request["object"] or request["oldObject"])["metadata"].get("annotations", {})
    edit = b64encode(json.dumps([{"op": "add", "path": "/metadata/labels", "value": {"edited": "yes"}}]).encode()).decode()
    return {
        "deny": {"allowed": False, "status": {"message": "not like this", "code": 403, "reason": "Forbidden"}, "warnings": ["careful"]},
        "deny-422": {"allowed": False, "status": {"message": "no\nand no", "code": 422, "reason": "Invalid"}},
        "deny-bare": {"allowed": False},
        "warn": {"warnings": ["careful"]},
        "edit": {"patch": edit, "patchType": "JSONPatch"},
    }.get(annotations.get("recorder.test/" + phase), {})


def call(method, path, body=None, content_type="application/json", timeout=10):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data=data, method=method)
    request.add_header("Authorization", "Bearer " + TOKEN)
    request.add_header("User-Agent", "recorder")
    if data is not None:
        request.add_header("Content-Type", content_type)
    try:
        with urllib.request.urlopen(request, context=INSECURE, timeout=timeout) as reply:
            text, code, warnings = read(reply, "watch=true" in path), reply.status, reply.headers.get_all("Warning")
    except urllib.error.HTTPError as refused:
        text, code, warnings = refused.read().decode(), refused.code, refused.headers.get_all("Warning")
    return code, text, warnings or []


def read(reply, streaming):
    if not streaming:
        return reply.read().decode()
    lines = []
    try:
        for line in reply:
            lines.append(line.decode())
    except (socket.timeout, TimeoutError):
        pass
    return "".join(lines)


def start_hook():
    folder = tempfile.mkdtemp()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=hook",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder + "/key", "-out", folder + "/crt"],
                   check=True, stderr=subprocess.DEVNULL)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder + "/crt", folder + "/key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    bundle = b64encode(open(folder + "/crt", "rb").read()).decode()
    for kind, phase in (("MutatingWebhookConfiguration", "mutating"), ("ValidatingWebhookConfiguration", "validating")):
        call("POST", f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}s", {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": phase},
            "webhooks": [{"name": phase + ".recorder.test", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                          "clientConfig": {"url": f"https://127.0.0.1:{server.server_port}/{phase}", "caBundle": bundle},
                          "rules": [{"operations": ["*"], "apiGroups": ["", "storage.k8s.io"], "apiVersions": ["v1"],
                                     "resources": ["persistentvolumes", "persistentvolumes/status",
                                                   "persistentvolumeclaims", "persistentvolumeclaims/status",
                                                   "storageclasses"]}]}]})
    for _ in range(100):
        time.sleep(0.2)
        call("POST", "/apis/storage.k8s.io/v1/storageclasses?dryRun=All",
             {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "poll"}, "provisioner": "a.b"})
        if {r["phase"] for r in reviews} == {"mutating", "validating"}:
            break
    time.sleep(1)


def fill(value, seen):
    def one(match):
        name, field = match.group(1), match.group(2)
        return seen.get(name, {}).get(field, "")
    return json.loads(re.sub(r"\$\{([^.}]+)\.([^}]+)\}", one, json.dumps(value)))


def lean(value):
    if isinstance(value, dict):
        return {key: lean(field) for key, field in value.items() if key != "managedFields"}
    return [lean(one) for one in value] if isinstance(value, list) else value


start_hook()
seen, recorded = {}, []
for step in STEPS:
    sent = fill(step, seen)
    reviews.clear()
    code, text, warnings = call(sent["method"], sent["path"], sent.get("body"), sent.get("type", "application/json"))
    streaming = "watch=true" in sent["path"] and code == 200
    reply = [json.loads(line) for line in text.splitlines()] if streaming else json.loads(text)
    if not streaming and reply["kind"] != "Status":
        seen["list" if reply["kind"].endswith("List") else reply["metadata"]["name"]] = reply["metadata"]
    recorded.append({"step": step, "code": code, "reply": reply, "warnings": warnings, "reviews": list(reviews)})
lines = [json.dumps(lean(one), sort_keys=True) for one in recorded]
print("[\n" + ",\n".join(lines) + "\n]")
