//! A real browser without a window: Chromium, told what to do by its debugging protocol.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use horus_testing::skip;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The names of the program, as distributions call it.
const PROGRAMS: [&str; 4] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
];

/// The limit for what must happen; generous, because a slow machine is not a failure.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// A browser with one page. It ends when dropped.
pub(crate) struct Browser {
    process: Child,
    commands: PipeWriter,
    replies: PipeReader,
    /// Bytes that were read and are not a whole message yet.
    rest: Vec<u8>,
    session: String,
    next_id: u64,
    /// The place of the mouse.
    mouse: [Value; 2],
    /// The events of the page so far.
    pub(crate) events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    /// Starts it with more options; `None` if there is none on this machine.
    pub(crate) fn start(options: &[&str]) -> Option<Self> {
        let is_there = |name: &&&str| {
            let version = Command::new(name).arg("--version").output();
            version.is_ok_and(|output| output.status.success())
        };
        let Some(program) = PROGRAMS.iter().find(is_there) else {
            skip("no Chromium: apt-get install chromium-headless-shell");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        let (for_browser, commands) = pipe().unwrap();
        let (replies, from_browser) = pipe().unwrap();
        let mut command = Command::new(program);
        command
            .args([
                "--headless",
                // It must run as root, too, in a container.
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--no-first-run",
                "--hide-scrollbars",
                "--window-size=1400,1000",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(options)
            .env("HOME", profile.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let ends = [for_browser.as_raw_fd(), from_browser.as_raw_fd()];
        // SAFETY: between fork and exec the closure calls only `fcntl` and `dup2`, which are
        // async-signal-safe, with descriptors that are open.
        unsafe { command.pre_exec(move || give_pipes(ends)) };
        let process = command.spawn().unwrap();
        let mut browser = Self {
            process,
            commands,
            replies,
            rest: Vec::new(),
            session: String::new(),
            next_id: 0,
            mouse: [Value::Null, Value::Null],
            events: Vec::new(),
            _profile: profile,
        };
        browser.open_page();
        Some(browser)
    }

    fn open_page(&mut self) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = &target["targetId"];
        let attached = json!({ "targetId": target, "flatten": true });
        let attached = self.call("Target.attachToTarget", attached);
        self.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Calls a method of the debugging protocol, and returns its result.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        let called = self.try_call(method, params);
        called.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn try_call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.next_id += 1;
        let mut message = json!({ "id": self.next_id, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.commands.write_all(&bytes).unwrap();
        loop {
            let mut message = self.next_message();
            if message["id"] == json!(self.next_id) {
                let error = message["error"].take();
                return if error.is_null() {
                    Ok(message["result"].take())
                } else {
                    Err(error)
                };
            }
            self.events.push(message);
        }
    }

    fn next_message(&mut self) -> Value {
        let mut buffer = [0; 65_536];
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == 0) {
                let message = self.rest.drain(..=end).collect::<Vec<_>>();
                return serde_json::from_slice(&message[..end]).unwrap();
            }
            let count = self.replies.read(&mut buffer).unwrap();
            assert!(count > 0, "the browser has ended");
            self.rest.extend_from_slice(&buffer[..count]);
        }
    }

    pub(crate) fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
    }

    /// Loads the page again.
    #[track_caller]
    pub(crate) fn reload(&mut self) {
        self.evaluate("window.isOld = true");
        self.call("Page.reload", json!({}));
        self.until("window.isOld === undefined");
    }

    /// Returns the value of an expression in the page; waits if it is a promise.
    #[track_caller]
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let value = self.try_evaluate(expression);
        value.unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// Does the same as [`Self::evaluate`]. Returns an error if another page is being loaded.
    #[track_caller]
    fn try_evaluate(&mut self, expression: &str) -> Result<Value, Value> {
        let params = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true,
        });
        let mut result = self.try_call("Runtime.evaluate", params)?;
        let thrown = &result["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown}");
        Ok(result["result"]["value"].take())
    }

    /// Waits until an expression is true in the page.
    #[track_caller]
    pub(crate) fn until(&mut self, expression: &str) {
        let begin = Instant::now();
        // An exception or an error while the page is being loaded means false.
        let safe = format!("(() => {{ try {{ return {expression} }} catch {{ }} }})()");
        while self.try_evaluate(&safe) != Ok(json!(true)) {
            let text = "document.body.innerText.slice(0, 2000)";
            assert!(
                begin.elapsed() < TIME_LIMIT,
                "not true: {expression}; the page: {:?}",
                self.try_evaluate(text)
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Presses the mouse on the first element that a selector finds.
    #[track_caller]
    pub(crate) fn press_mouse(&mut self, selector: &str) {
        let place = self.evaluate(&format!(
            "(() => {{
                const element = document.querySelector('{selector}');
                element.scrollIntoView({{ block: 'center' }});
                const {{ x, y, width, height }} = element.getBoundingClientRect();
                return [x + width / 2, y + height / 2];
            }})()"
        ));
        self.mouse = [place[0].clone(), place[1].clone()];
        self.send_mouse("mousePressed");
    }

    /// Releases it at the same place.
    pub(crate) fn release_mouse(&mut self) {
        self.send_mouse("mouseReleased");
    }

    fn send_mouse(&mut self, kind: &str) {
        let [x, y] = &self.mouse;
        let params = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", params);
    }

    /// Writes a picture of the page into the directory for files of tests.
    pub(crate) fn save_screenshot(&mut self, name: &str) {
        let params = json!({ "captureBeyondViewport": true });
        let picture = self.call("Page.captureScreenshot", params);
        let engine = base64::engine::general_purpose::STANDARD;
        let bytes = engine.decode(picture["data"].as_str().unwrap()).unwrap();
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, bytes).unwrap();
        println!("see {}", path.display());
    }

    /// Returns the complaints of the page: exceptions, errors and warnings.
    pub(crate) fn complaints(&self) -> Vec<&Value> {
        let is_complaint = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" | "Log.entryAdded" => true,
            "Runtime.consoleAPICalled" => event["params"]["type"] != json!("log"),
            _ => false,
        };
        self.events.iter().filter(is_complaint).collect()
    }

    /// Returns the addresses of all requests so far.
    pub(crate) fn requests(&self) -> Vec<&str> {
        let is_request = |event: &&Value| event["method"] == json!("Network.requestWillBeSent");
        let requests = self.events.iter().filter(is_request);
        let urls = requests.map(|event| event["params"]["request"]["url"].as_str().unwrap());
        urls.collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Makes the two descriptors the numbers 3 and 4, where the browser expects them.
fn give_pipes(ends: [i32; 2]) -> std::io::Result<()> {
    // Out of the way first: one of them may be 3 or 4.
    // SAFETY: the call takes no pointer.
    let high = ends.map(|end| unsafe { libc::fcntl(end, libc::F_DUPFD_CLOEXEC, 10) });
    for (end, number) in high.into_iter().zip([3, 4]) {
        // SAFETY: the call takes no pointer.
        if unsafe { libc::dup2(end, number) } == -1 {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}
