//! Who is let in, and where the folder ends.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::json;
use shoal_studio::{Body, OpenOptions, Request};

use crate::common::{COUNTER, Client, PORT, read};

fn host() -> String {
    format!("127.0.0.1:{PORT}")
}

/// A request of our page: with the cookie, and from where it says.
fn of_page(client: &Client, method: &str, path: &str) -> Request {
    Request::new(method, path)
        .header("Host", &host())
        .header("Cookie", &format!("other=1; shoal-{PORT}={}", client.studio.token()))
        .header("Sec-Fetch-Site", "same-origin")
}

#[test]
fn without_the_token_nothing_is_told() {
    let client = Client::with(&[("a.m", COUNTER)]);
    let paths = ["info", "files", "files/a.m", "runs", "traces/1.0/story", "nonsense"];
    for path in paths.map(|path| format!("/api/v1/{path}")) {
        for token in ["", "Bearer ", "Bearer 0123456789abcdef0123456789abcdef", "Basic x"] {
            let request = Request::new("GET", &path).header("Host", &host()).header("Authorization", token);
            assert_eq!(read(client.studio.answer(request)).0, 401, "{path} {token}");
        }
        let almost = &client.studio.token()[..31];
        let cookie = format!("shoal-{PORT}={almost}; shoal-1={}", client.studio.token());
        let request = Request::new("GET", &path).header("Host", &host()).header("Cookie", &cookie);
        assert_eq!(read(client.studio.answer(request)).0, 401, "{path}");
    }
    assert_eq!(read(client.studio.answer(of_page(&client, "GET", "/api/v1/info"))).0, 200);
}

#[test]
fn the_token_goes_from_the_address_into_a_cookie() {
    let client = Client::with(&[]);
    let open = |token: &str| {
        client.studio.answer(Request::new("GET", &format!("/?t={token}")).header("Host", &host()))
    };
    assert_eq!(open("wrong").status, 401);
    let opened = open(client.studio.token());
    assert_eq!(opened.status, 303);
    let line = |name: &str| opened.headers.iter().find(|(known, _)| *known == name).unwrap().1.clone();
    assert_eq!(line("Location"), "/");
    let cookie = line("Set-Cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
}

#[test]
fn other_names_and_other_pages_are_refused() {
    let client = Client::with(&[("a.m", COUNTER)]);
    let with = |name: &str, value: &str| {
        let mut request = client.request("GET", "info", None);
        request.headers.retain(|(known, _)| known != name);
        read(client.studio.answer(request.header(name, value))).0
    };
    for name in
        ["evil.example", "127.0.0.1", "127.0.0.1:80", "evil.example:7421", "127.0.0.1.evil.example:7421", ""]
    {
        assert_eq!(with("host", name), 421, "{name}");
    }
    for name in ["localhost:7421", "LOCALHOST:7421", "[::1]:7421"] {
        assert_eq!(with("host", name), 200, "{name}");
    }
    for origin in [
        "http://evil.example",
        "null",
        "https://127.0.0.1:7421",
        "http://127.0.0.1:7422",
        "http://127.0.0.1:7421.evil",
    ] {
        assert_eq!(with("origin", origin), 403, "{origin}");
    }
    assert_eq!(with("origin", "http://127.0.0.1:7421"), 200);
    for site in ["cross-site", "same-site", "none"] {
        assert_eq!(with("sec-fetch-site", site), 403, "{site}");
    }
    // The page itself is refused to other names too.
    let page = Request::new("GET", "/").header("Host", "evil.example:7421");
    assert_eq!(client.studio.answer(page).status, 421);
}

#[test]
fn what_changes_something_shows_where_it_comes_from_and_is_json() {
    let client = Client::with(&[("a.m", COUNTER)]);
    let token = client.studio.token().to_string();
    let cookie = format!("shoal-{PORT}={token}");
    let body = json!({ "file": "a.m" }).to_string();
    let request = |lines: &[(&str, &str)]| {
        let mut request = Request::new("POST", "/api/v1/diagnose").header("Host", &host());
        for (name, value) in lines {
            request = request.header(name, value);
        }
        request.body = body.clone().into_bytes();
        read(client.studio.answer(request.header("Content-Length", &body.len().to_string()))).0
    };
    let json = ("Content-Type", "application/json; charset=utf-8");
    assert_eq!(request(&[json, ("Cookie", &cookie)]), 403);
    assert_eq!(request(&[json, ("Cookie", &cookie), ("Origin", "http://127.0.0.1:7421")]), 200);
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
        let own = ("Origin", "http://127.0.0.1:7421");
        assert_eq!(request(&[("Content-Type", kind), ("Cookie", &cookie), own]), 415, "{kind}");
    }
}

#[test]
fn nothing_outside_the_folder_is_read_or_written() {
    let client = Client::with(&[("a.m", COUNTER), ("deep/b.m", COUNTER)]);
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.m"), "secret").unwrap();
    let secret = outside.path().join("secret.m").display().to_string();
    let root = client.folder.path();
    std::os::unix::fs::symlink(outside.path(), root.join("out")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.m"), root.join("link.m")).unwrap();
    std::os::unix::fs::symlink(root.join("a.m"), root.join("own.m")).unwrap();
    let up = format!("../{}/secret.m", outside.path().file_name().unwrap().to_str().unwrap());
    let names = [
        up.clone(),
        up.replace('/', "%2f"),
        up.replace("..", "%2e%2e"),
        format!("deep/../{up}"),
        format!("deep/..%2f{up}"),
        secret.clone(),
        secret.replace('/', "%2F"),
        format!("/{secret}"),
        "out/secret.m".into(),
        "link.m".into(),
        "a.m%00.txt".into(),
        "..\\secret.m".into(),
        "file:///etc/passwd".into(),
        "..".into(),
        ".".into(),
    ];
    for name in &names {
        let (status, code) = client.refused("GET", &format!("files/{name}"), None);
        assert!(matches!(status, 400 | 404), "{name}: {status} {code}");
        let (status, _) = client.refused("PUT", &format!("files/{name}"), Some(json!({ "text": "x" })));
        assert!(status >= 400, "{name}: {status}");
        let (status, _) = client.refused("POST", "model", Some(json!({ "file": name })));
        assert!(status >= 400, "{name}: {status}");
        let (status, _) =
            client.refused("GET", &format!("traces/f%3A{}/story", name.replace('/', "%2f")), None);
        assert!(status >= 400, "{name}: {status}");
    }
    assert_eq!(std::fs::read_to_string(outside.path().join("secret.m")).unwrap(), "secret");
    // A link is not written through, also where it stays inside.
    let (status, code) = client.refused("PUT", "files/own.m", Some(json!({ "text": "x" })));
    assert_eq!((status, code.as_str()), (412, "changed"));
    let own = client.get("files/own.m", "file");
    let (status, code) =
        client.refused("PUT", "files/own.m", Some(json!({ "text": "x", "hash": own["hash"] })));
    assert_eq!((status, code.as_str()), (404, "file"));
    assert!(root.join("own.m").is_symlink());
    // What a model includes is found below the folder, or not at all.
    let text = format!("#include \"{secret}\"\ninit {{ skip }}");
    let told = client.post("diagnose", json!({ "file": "x.pml", "text": text }), "diagnosed");
    assert!(!told.to_string().contains("secret\\n") && told["ok"] == false, "{told}");
    // Only models are written, and nothing where nothing is to be.
    for name in ["x.sh", ".bashrc", "x", "deep/y.html"] {
        assert_eq!(
            client.refused("PUT", &format!("files/{name}"), Some(json!({ "text": "x" }))).0,
            403,
            "{name}"
        );
    }
    // Links are not shown.
    let files = client.get("files", "files").to_string();
    assert!(!files.contains("link.m") && !files.contains("secret"), "{files}");
}

#[test]
fn large_bodies_and_odd_ones_are_refused() {
    let client = Client::with(&[("a.m", COUNTER)]);
    let (status, code) =
        client.refused("POST", "diagnose", Some(json!({ "file": "a.m", "text": "x".repeat(9 << 20) })));
    assert_eq!((status, code.as_str()), (413, "too-large"));
    // A run that is sent may be longer, and not much longer.
    let run = |size: usize| client.refused("POST", "traces", Some(json!({ "itf": "x".repeat(size) })));
    assert_eq!(run(9 << 20), (422, "trace".into()));
    assert_eq!(run(65 << 20), (413, "too-large".into()));
    // What is said to be large is refused before it is read.
    let request = client.request("POST", "diagnose", None).header("Content-Type", "application/json");
    assert_eq!(read(client.studio.answer(request.header("Content-Length", "999999999999"))).0, 413);
    let mut request = client.request("POST", "diagnose", Some(&json!({})));
    request.body = b"[1".to_vec();
    assert_eq!(read(client.studio.answer(request)).0, 400);
    for (method, path) in [("DELETE", "files"), ("PATCH", "runs"), ("POST", "files/a.m"), ("GET", "walk")] {
        assert_eq!(client.refused(method, path, None).0, 405, "{method} {path}");
    }
    assert_eq!(client.refused("GET", "../v2/info", None).0, 404);
}

#[test]
fn every_answer_forbids_what_is_not_ours() {
    let client = Client::with(&[]);
    for path in ["/", "/app.js", "/studio.css", "/missing", "/api/v1/info"] {
        let response = client.studio.answer(Request::new("GET", path).header("Host", &host()));
        let policy = response.headers.iter().find(|(name, _)| *name == "Content-Security-Policy").unwrap();
        assert!(policy.1.contains("default-src 'none'") && !policy.1.contains("unsafe"), "{path}");
        if path == "/" {
            let Body::Whole(bytes) = response.body else { panic!("parts") };
            let page = String::from_utf8(bytes).unwrap();
            assert!(!page.contains("http://") && !page.contains("https://"), "the page names another server");
        }
    }
}

/// A server for others is reached by numbers and by no names, and only if that was allowed.
#[test]
fn other_machines_are_let_in_only_where_that_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let open = |allow_remote: bool| {
        let options = OpenOptions { address: any, allow_remote, ..OpenOptions::default() };
        shoal_studio::open(folder.path(), options)
    };
    assert_eq!(open(false).unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
    assert!(open(true).unwrap().address().starts_with("http://127.0.0.1:"));
    let with = |address: IpAddr, name: &str| {
        let options = OpenOptions { address, allow_remote: true, ..OpenOptions::default() };
        let client = Client::opened(&[("a.m", COUNTER)], options);
        let mut request = client.request("GET", "info", None);
        request.headers.retain(|(known, _)| known != "host");
        read(client.studio.answer(request.header("Host", name))).0
    };
    let one: IpAddr = "192.168.7.9".parse().unwrap();
    for (address, name, status) in [
        (any, "192.168.7.9:7421", 200),
        (any, "[fe80::1]:7421", 200),
        (any, "localhost:7421", 200),
        (any, "192.168.7.9:80", 421),
        (any, "evil.example:7421", 421),
        (any, "192.168.7.9.evil.example:7421", 421),
        (one, "192.168.7.9:7421", 200),
        (one, "192.168.7.8:7421", 421),
    ] {
        assert_eq!(with(address, name), status, "{address} {name}");
    }
}

/// A port that somebody has is not taken away: the next one is.
#[test]
fn a_port_that_is_taken_gives_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let first = shoal_studio::open(folder.path(), OpenOptions::default()).unwrap();
    let port = |address: &str| -> u16 {
        address.split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap()
    };
    let taken = port(&first.address());
    let second =
        shoal_studio::open(folder.path(), OpenOptions { port: taken, ..OpenOptions::default() }).unwrap();
    assert!(port(&second.address()) > taken);
}

/// Only a server that says so is shown inside of an editor, and by no other page.
#[test]
fn an_editor_may_show_the_page_where_that_is_allowed() {
    for (embedded, ancestors, site) in [
        (false, "frame-ancestors 'none'", "SameSite=Strict"),
        (true, "frame-ancestors vscode-webview:", "SameSite=None; Secure"),
    ] {
        let client = Client::opened(&[], OpenOptions { embedded, ..OpenOptions::default() });
        let greeted = client
            .studio
            .answer(Request::new("GET", &format!("/?t={}", client.studio.token())).header("Host", &host()));
        let line = |name: &str| greeted.headers.iter().find(|(known, _)| *known == name).unwrap().1.clone();
        assert!(line("Content-Security-Policy").ends_with(ancestors));
        assert!(line("Set-Cookie").contains(site) && line("Set-Cookie").contains("HttpOnly"));
        assert_eq!(client.get("info", "info")["embedded"], embedded);
        // Pages of others are refused all the same.
        let request = of_page(&client, "GET", "/api/v1/info").header("Origin", "http://evil.example");
        assert_eq!(read(client.studio.answer(request)).0, 403);
    }
}

/// Who hangs up does not want the answer: what was begun for it is ended.
#[test]
fn a_call_that_nobody_waits_for_is_ended() {
    let client = Client::with(&[("endless.m", crate::common::ENDLESS)]);
    // It would look at states for minutes.
    let body = json!({ "file": "endless.m", "path": "0", "until": "x[0] = 2", "seconds": 600 });
    let began = std::time::Instant::now();
    let request = client.request("POST", "walk/on", Some(&body));
    let response = client.studio.answer_while(request, &|| began.elapsed().as_millis() < 300);
    let (status, answer) = crate::common::read(response);
    assert_eq!((status, answer["error"]["code"].as_str()), (422, Some("stopped")), "{answer}");
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
}
