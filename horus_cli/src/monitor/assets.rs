//! The files of the web page, which are embedded in the binary.

use super::http::Response;

/// The files of the web page. For each file: its path in the URL, its content type and its content.
const PAGE_FILES: [(&str, &str, &str); 16] = [
    ("/", HTML_TYPE, include_str!("page/index.html")),
    ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
    ("/style.css", CSS_TYPE, include_str!("page/style.css")),
    ("/main.js", SCRIPT_TYPE, include_str!("page/main.js")),
    ("/dom.js", SCRIPT_TYPE, include_str!("page/dom.js")),
    ("/details.js", SCRIPT_TYPE, include_str!("page/details.js")),
    ("/format.js", SCRIPT_TYPE, include_str!("page/format.js")),
    ("/graph.js", SCRIPT_TYPE, include_str!("page/graph.js")),
    ("/history.js", SCRIPT_TYPE, include_str!("page/history.js")),
    ("/picture.js", SCRIPT_TYPE, include_str!("page/picture.js")),
    ("/plots.js", SCRIPT_TYPE, include_str!("page/plots.js")),
    ("/stream.js", SCRIPT_TYPE, include_str!("page/stream.js")),
    ("/tables.js", SCRIPT_TYPE, include_str!("page/tables.js")),
    (
        "/uplot/uPlot.iife.min.js",
        SCRIPT_TYPE,
        include_str!("page/uplot/uPlot.iife.min.js"),
    ),
    (
        "/uplot/uPlot.min.css",
        CSS_TYPE,
        include_str!("page/uplot/uPlot.min.css"),
    ),
    (
        "/uplot/LICENSE",
        "text/plain; charset=utf-8",
        include_str!("page/uplot/LICENSE"),
    ),
];

const HTML_TYPE: &str = "text/html; charset=utf-8";
const CSS_TYPE: &str = "text/css; charset=utf-8";
const SCRIPT_TYPE: &str = "text/javascript; charset=utf-8";

/// Returns the file of the web page for the URL path `path`; `None` if there is none. The file
/// contains no data of the robot, so a request for it needs no token.
pub(super) fn find_file(path: &str) -> Option<Response> {
    let file = PAGE_FILES.iter().find(|(known, ..)| *known == path);
    file.map(|(_, content_type, text)| Response::new(content_type, text.as_bytes()))
}
