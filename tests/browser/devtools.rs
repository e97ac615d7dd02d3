//! A headless Chromium, driven over the pipe of its debugging protocol.
//!
//! The protocol's messages are JSON with a zero byte at the end. The browser reads them from descriptor 3 and writes to
//! descriptor 4; a shell gives it our pipes under these numbers.
//!
//! Chrome: "`DevTools` Protocol", the domains Target, Page, Runtime, Network, Emulation, Input, Accessibility and Log.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// What the shell does before it becomes the browser.
const SHELL: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"#;

/// A promise that the next frame is drawn.
pub(crate) const DRAWN: &str = "new Promise(done => requestAnimationFrame(() => setTimeout(done)))";

/// No connection is opened before there is a request. Chromium opens one for the address of a frame that the policy of the page
/// then blocks; it sends nothing on it, and no policy of a page can forbid it.
const PREFERENCES: &str = r#"{"net": {"network_prediction_options": 2}}"#;

/// A browser with one tab.
pub(crate) struct Browser {
    process: Child,
    commands: ChildStdin,
    messages: BufReader<ChildStdout>,
    profile: tempfile::TempDir,
    session: Option<String>,
    next: u64,
    /// Events of the tab since the page was opened.
    events: Vec<Value>,
}

impl Browser {
    /// Starts one. It fails with the way to get a browser where there is none.
    pub(crate) fn start() -> Self {
        let profile = tempfile::tempdir().expect("a folder");
        let settings = profile.path().join("Default");
        std::fs::create_dir(&settings).expect("a folder");
        std::fs::write(settings.join("Preferences"), PREFERENCES).expect("a file");
        let mut process = Command::new("sh")
            .args(["-c", SHELL, &program(), "--remote-debugging-pipe", "--headless"])
            // A test may run as root, and a container has little shared memory.
            .args(["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            // Nothing of the browser's own goes to the network.
            .args(["--disable-background-networking", "--disable-component-update"])
            .args(["--disable-sync", "--disable-quic", "--window-size=1280,900"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let commands = process.stdin.take().expect("a pipe");
        let messages = BufReader::new(process.stdout.take().expect("a pipe"));
        let (session, next, events) = (None, 0, Vec::new());
        let mut browser = Self { process, commands, messages, profile, session, next, events };
        let tab = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": tab["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", &attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// The result of a call.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.commands.write_all(format!("{message}\0").as_bytes()).expect("the browser reads");
        loop {
            let answer = self.receive();
            if answer["id"] == self.next {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn receive(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.messages.read_until(0, &mut bytes).expect("the browser writes");
        assert_eq!(bytes.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// Opens a file, and returns once it is loaded.
    pub(crate) fn load(&mut self, file: &Path) {
        self.events.clear();
        let url = format!("file://{}", file.display());
        self.call("Page.navigate", &json!({"url": url}));
        while self.reported("Page.loadEventFired").is_empty() {
            let event = self.receive();
            self.events.push(event);
        }
    }

    /// Opens a file, and returns once it is loaded and drawn. Its value is how long that took, in milliseconds from the
    /// start of the navigation.
    pub(crate) fn open(&mut self, file: &Path) -> f64 {
        self.load(file);
        // What runs after a frame was prepared runs once that is drawn.
        self.evaluate(&format!("{DRAWN}.then(() => performance.now())")).as_f64().expect("a number")
    }

    /// The value of an expression, awaited.
    #[track_caller]
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let parameters =
            json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", &parameters);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Types text where the focus is, as a person does.
    pub(crate) fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", &json!({"text": text}));
    }

    /// Presses a key that is no letter.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let key = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", &key);
        }
    }

    /// The parameters of every event of this name since the page was opened.
    pub(crate) fn reported(&self, method: &str) -> Vec<&Value> {
        let events = self.events.iter().filter(|event| event["method"] == method);
        events.map(|event| &event["params"]).collect()
    }

    /// The addresses of every request since the page was opened.
    pub(crate) fn requests(&self) -> Vec<String> {
        let requests = self.reported("Network.requestWillBeSent").into_iter();
        requests
            .map(|event| event["request"]["url"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// A folder for pages.
    pub(crate) fn folder(&self) -> &Path {
        self.profile.path()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The browser that scripts/browser.sh obtained.
fn program() -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/browser.sh");
    let output = Command::new(script).arg("--where").output().expect("the script runs");
    let reason = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{reason}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
