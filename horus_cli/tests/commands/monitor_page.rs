//! The page of `monitor` in a real browser.

use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::browser::Browser;
use crate::common::Robot;
use crate::monitor::Monitor;

/// Text that a page must not take for HTML.
const HOSTILE: &str = "<img src=x onerror=window.attacked=1>";

/// The plots, each as the file of a picture.
const PICTURES: &str =
    "[...document.querySelectorAll('#plots canvas')].map(canvas => canvas.toDataURL())";

/// Clicks on the row of a table that begins with `name`.
fn click_row(table: &str, name: &str) -> String {
    format!(
        "[...document.querySelectorAll('#{table} tbody tr')]
            .find(row => row.firstChild.textContent === '{name}').click() === undefined"
    )
}

/// Clicks on the button that plots a field.
fn click_plot(field: &str) -> String {
    format!("document.querySelector('[title=\"plot {field}\"]').click() === undefined")
}

const IS_LIVE: &str = "document.getElementById('connection').textContent === 'live'";

#[test]
fn a_page_shows_live_data_and_nothing_else() {
    let Some(mut browser) = Browser::start(&[]) else {
        return;
    };
    let robot = Robot::new();
    let mut program = robot.program();
    // Other programs see this name.
    program.tell("rename <b>robot</b>");
    program.tell("schedule arm");
    program.tell("publish best_effort cmd_vel");
    program.begin("wave cmd_vel 200 1000");
    let note = json!({ "text": HOSTILE, HOSTILE: 1, "<b>key</b>": 2 }).to_string();
    let pub_note = ["topic", "pub", "note", "value", &note, "-r", "10"];
    let _note = crate::common::Stream::spawn(&mut robot.command_with(&pub_note));
    let mut camera = robot.program();
    camera.tell("publish image camera");
    camera.begin("stream camera 20 1000");
    let monitor = Monitor::start(&robot, "");
    browser.open(&monitor.url);
    browser.until(IS_LIVE);
    // The token is neither visible nor in the history.
    let address = browser.evaluate("location.href");
    assert_eq!(
        address,
        json!(format!("http://127.0.0.1:{}/", monitor.port))
    );

    // Plots of a message and of a rate change by themselves.
    browser.until(&click_row("topics", "cmd_vel"));
    browser.until(&click_plot("linear"));
    browser.until(&click_plot("messages/s"));
    // A field by its path, and one that is none.
    for (field, plots) in [("angular", 3), ("a..b", 3), ("a:b", 3), ("a[-1]", 3)] {
        browser.until(&format!(
            "(document.querySelector('.any input').value = '{field}') === '{field}'"
        ));
        browser.until("document.querySelector('.any button').click() === undefined");
        browser.until(&format!(
            "document.querySelectorAll('#plots canvas').length === {plots}"
        ));
    }
    browser.until(&click_plot("angular"));
    browser.until("document.querySelectorAll('#plots canvas').length === 2");
    browser.until("document.querySelector('#plots output').textContent.match(/[0-9]/) !== null");
    for _ in 0..3 {
        let old = browser.evaluate(PICTURES);
        crate::common::until("all plots change", || {
            let new = browser.evaluate(PICTURES);
            let (old, new) = (old.as_array().unwrap(), new.as_array().unwrap());
            old.iter().zip(new).all(|(old, new)| old != new)
        });
    }

    // Texts of the robot stay texts: in a message, as a name in one, of a process, in an event.
    browser.until(&click_row("topics", "note"));
    let has = |part: &str| format!("document.body.textContent.includes({})", json!(part));
    browser.until(&has(&format!("\"{HOSTILE}\"")));
    browser.until(&has("<b>key</b>"));
    browser.until(&has("<b>robot</b> ("));
    robot
        .run_with(&["estop", "engage", "--reason", HOSTILE])
        .succeeded();
    browser.until(&format!(
        "document.getElementById('events').textContent.includes({})",
        json!(HOSTILE)
    ));
    let injected = "document.querySelectorAll('img[src=x], [onerror]').length";
    assert_eq!(browser.evaluate(injected), json!(0));
    assert_eq!(
        browser.evaluate("typeof window.attacked"),
        json!("undefined")
    );
    // Even a mistake of the page could not turn text into HTML.
    let refused = "(() => { try { document.body.innerHTML = '<p>'; return false; }
        catch (error) { return error instanceof TypeError; } })()";
    assert_eq!(browser.evaluate(refused), json!(true));
    browser
        .events
        .retain(|event| !event.to_string().contains("TrustedHTML"));

    // An image, and the times of a node.
    browser.until(&click_row("topics", "camera"));
    browser.until("document.querySelector('.picture img').naturalWidth === 4");
    browser.until(&click_row("nodes", "arm/planner"));
    browser.until("document.querySelectorAll('.histogram tr').length > 1");
    browser.until(&click_row("topics", "cmd_vel"));
    browser.until("document.querySelectorAll('#graph .topic').length === 4");
    // A slow click hits what was pressed, though the graph has changed meanwhile.
    let rates = "[...document.querySelectorAll('#graph .topic')].map(part => part.textContent)";
    let before = browser.evaluate(rates);
    browser.press_mouse("#graph .topic");
    crate::common::until("the rates change", || browser.evaluate(rates) != before);
    browser.release_mouse();
    browser.until("/^Topic camera/.test(document.getElementById('details-title').textContent)");
    browser.until("document.querySelector('#details-title button').click() === undefined");
    browser.until(&click_row("topics", "cmd_vel"));
    assert_eq!(
        browser.evaluate("document.getElementById('controls').hidden"),
        json!(true)
    );

    // All is as before when the page is loaded again.
    browser.reload();
    browser.until("document.querySelectorAll('#plots canvas').length === 2");
    browser.until(IS_LIVE);
    browser.until(&click_row("topics", "cmd_vel"));
    browser.until(&has("linear"));
    // WHY: the plots of the picture have a line.
    thread::sleep(Duration::from_secs(3));
    browser.save_screenshot("monitor.png");

    assert_eq!(browser.complaints(), Vec::<&serde_json::Value>::new());
    let own = format!("http://127.0.0.1:{}/", monitor.port);
    let blob = format!("blob:{own}");
    let requests = browser.requests();
    assert!(requests.len() > 10, "{requests:?}");
    for url in requests {
        assert!(url.starts_with(&own) || url.starts_with(&blob), "{url}");
        assert!(!url.contains(&monitor.token), "{url}");
    }

    // A publisher that is killed is shown as gone, and so is the server.
    program.kill();
    browser.until("/cmd_vel.*0×0/.test(document.getElementById('topics').textContent)");
    monitor.stop(libc::SIGINT);
    browser.until("/stale/.test(document.getElementById('connection').textContent)");
}

#[test]
fn a_page_marks_pairs_between_which_no_message_passes() {
    let Some(mut browser) = Browser::start(&[]) else {
        return;
    };
    let robot = Robot::new();
    let (mut publisher, mut subscriber) = (robot.program(), robot.program());
    publisher.tell("publish best_effort cmd_vel");
    subscriber.tell("subscribe best_effort cmd_vel");
    let monitor = Monitor::start(&robot, "");
    browser.open(&monitor.url);
    browser.until("document.querySelectorAll('#graph .edge').length === 2");
    let unmatched = "document.querySelectorAll('#graph .edge.bad.unmatched').length";
    assert_eq!(browser.evaluate(unmatched), json!(0));

    let mut reliable = robot.program();
    reliable.tell("subscribe reliable cmd_vel");
    browser.until(&format!("{unmatched} === 1"));
    browser.until("/1 unmatched/.test(document.querySelector('#graph .topic').textContent)");
    let sentence = format!(
        "({}): it offers best effort, and the subscriber requests reliable",
        reliable.id()
    );
    let has = |place: &str| format!("{place}.textContent.includes({})", json!(sentence));
    browser.until(&has("document.querySelector('#graph .edge.unmatched')"));
    browser.until(&click_row("topics", "cmd_vel"));
    browser.until(&has("document.getElementById('details')"));

    reliable.kill();
    browser.until(&format!("{unmatched} === 0"));
    assert_eq!(browser.complaints(), Vec::<&serde_json::Value>::new());
}

#[test]
fn a_page_that_may_control_has_buttons() {
    let Some(mut browser) = Browser::start(&[]) else {
        return;
    };
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("schedule arm");
    let monitor = Monitor::start(&robot, "--allow-control");
    browser.open(&monitor.url);
    browser.until(&click_row("nodes", "arm/planner"));
    let press = |label: &str| {
        format!(
            "[...document.querySelectorAll('button')]
                .find(button => button.textContent === '{label}').click() === undefined"
        )
    };
    browser.until(&press("pause"));
    robot.until("node list", |list| list.contains("paused"));
    let state = |state: &str| {
        format!(
            "[...document.querySelectorAll('#nodes tbody tr')].some(row =>
                row.textContent.startsWith('arm/planner{state}'))"
        )
    };
    browser.until(&state("paused"));
    browser.until(&press("resume"));
    browser.until(&state("active"));
    browser.until("(document.querySelector('.rate input').value = '25') === '25'");
    browser.until(&press("set Hz"));
    browser.until(&state("active25.0 Hz"));
    browser.until(&press("Emergency stop"));
    robot.until("estop status", |status| {
        status.contains("the page of horus monitor")
    });
    browser.until(&press("Release"));
    crate::common::until("it is released", || robot.run("estop status").code == 0);
    assert_eq!(browser.complaints(), Vec::<&serde_json::Value>::new());
    monitor.stop(libc::SIGTERM);
}

#[test]
fn pages_of_other_servers_get_nothing() {
    // A name of somebody else leads to this machine, as an attacker can arrange it.
    let rules = "--host-resolver-rules=MAP robot.example 127.0.0.1";
    let Some(mut browser) = Browser::start(&[rules]) else {
        return;
    };
    let robot = Robot::new();
    let monitor = Monitor::start(&robot, "--allow-control");
    let (port, token) = (monitor.port, &monitor.token);
    browser.open(&format!("http://robot.example:{port}/#t={token}"));
    browser.until("document.body.textContent.includes('the host is')");
    let fetched =
        format!("fetch('/api/state', {{ headers: {{ Authorization: 'Bearer {token}' }} }})");
    let status = browser.evaluate(&format!("{fetched}.then(response => response.status)"));
    assert_eq!(status, json!(421));
    // A page of another server on this machine, even with the token.
    let other = Monitor::start(&robot, "");
    browser.open(&format!("http://127.0.0.1:{}/uplot/LICENSE", other.port));
    browser.until("document.body.textContent.includes('Permission is hereby granted')");
    browser.call("Page.setBypassCSP", json!({ "enabled": true }));
    browser.reload();
    browser.until("document.body.textContent.includes('Permission is hereby granted')");
    for options in [
        format!("{{ headers: {{ Authorization: 'Bearer {token}' }} }}"),
        "{ method: 'POST', body: '{\"command\":\"release_emergency_stop\"}' }".to_owned(),
    ] {
        for path in ["state", "command"] {
            let fetched = format!("fetch('http://127.0.0.1:{port}/api/{path}', {options})");
            let result = format!("{fetched}.then(() => 'answered', () => 'refused')");
            assert_eq!(browser.evaluate(&result), json!("refused"), "{fetched}");
        }
    }
    assert_eq!(robot.answer("estop status"), "never engaged\n");
    // A page with a wrong token says so.
    browser.open(&format!("http://127.0.0.1:{port}/#t=nonsense"));
    browser.until("document.getElementById('notice').textContent.includes('token is missing')");
    // The right address in the same tab mends it.
    browser.open(&monitor.url);
    browser.until(IS_LIVE);
    monitor.stop(libc::SIGINT);
    other.stop(libc::SIGINT);
}
