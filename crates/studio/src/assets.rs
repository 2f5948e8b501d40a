//! The page, as it is part of the program.

use std::{borrow::Cow, path::Path};

/// The files of the page: path, kind, contents.
const ASSETS: &[(&str, &str, &[u8])] = &[
    ("/", "text/html; charset=utf-8", include_bytes!("../page/index.html")),
    ("/studio.css", "text/css; charset=utf-8", include_bytes!("../page/studio.css")),
    ("/any.js", JAVASCRIPT, include_bytes!("../page/any.js")),
    ("/app.js", JAVASCRIPT, include_bytes!("../page/app.js")),
    ("/call.js", JAVASCRIPT, include_bytes!("../page/call.js")),
    ("/arrays.js", JAVASCRIPT, include_bytes!("../page/arrays.js")),
    ("/clocks.js", JAVASCRIPT, include_bytes!("../page/clocks.js")),
    ("/compare.js", JAVASCRIPT, include_bytes!("../page/compare.js")),
    ("/desk.js", JAVASCRIPT, include_bytes!("../page/desk.js")),
    ("/dom.js", JAVASCRIPT, include_bytes!("../page/dom.js")),
    ("/editor.js", JAVASCRIPT, include_bytes!("../page/editor.js")),
    ("/graph.js", JAVASCRIPT, include_bytes!("../page/graph.js")),
    ("/heap.js", JAVASCRIPT, include_bytes!("../page/heap.js")),
    ("/lanes.js", JAVASCRIPT, include_bytes!("../page/lanes.js")),
    ("/model.js", JAVASCRIPT, include_bytes!("../page/model.js")),
    ("/palette.js", JAVASCRIPT, include_bytes!("../page/palette.js")),
    ("/panes.js", JAVASCRIPT, include_bytes!("../page/panes.js")),
    ("/picture.js", JAVASCRIPT, include_bytes!("../page/picture.js")),
    ("/templates.js", JAVASCRIPT, include_bytes!("../page/templates.js")),
    ("/trace.js", JAVASCRIPT, include_bytes!("../page/trace.js")),
    ("/walk.js", JAVASCRIPT, include_bytes!("../page/walk.js")),
];

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// A file of the page: its kind and what it holds. While the page is worked on, a build with debug assertions takes its files from the
/// folder `SHOAL_STUDIO_PAGE`, so that a reload shows a change.
pub(crate) fn find(path: &str) -> Option<(&'static str, Cow<'static, [u8]>)> {
    let (_, kind, bytes) = ASSETS.iter().find(|(known, ..)| *known == path)?;
    if cfg!(debug_assertions)
        && let Some(folder) = std::env::var_os("SHOAL_STUDIO_PAGE")
    {
        let name = if path == "/" { "index.html" } else { path.trim_start_matches('/') };
        if let Ok(text) = shoal::read_text(Path::new(&folder).join(name)) {
            return Some((kind, Cow::Owned(text.into_bytes())));
        }
    }
    Some((kind, Cow::Borrowed(bytes)))
}
