//! A second server for the same folder: the address of the one that runs is kept where only its user can read it, and is given
//! again as long as that server answers.

use std::{
    env, fs,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value as Json, json};

/// A server on this machine answers within that time.
const PATIENCE: Duration = Duration::from_millis(800);
/// What it says of itself is shorter.
const LONGEST: u64 = 64 << 10;

/// Where the address of the server for a folder is kept.
#[derive(Clone, Debug)]
pub(crate) struct Notice {
    path: PathBuf,
    root: String,
}

impl Notice {
    /// For a folder; nothing if there is no place that is the user's alone.
    pub(crate) fn of(root: &Path) -> Option<Notice> {
        let root = root.canonicalize().ok()?.to_string_lossy().into_owned();
        let name = format!("studio-{}.json", shoal_report::fnv(&root));
        Some(Notice { path: own_folder()?.join(name), root })
    }

    /// The address of the server that runs already, if it answers and may do the same.
    pub(crate) fn running(&self, read_only: bool) -> Option<String> {
        let known: Json = serde_json::from_str(&fs::read_to_string(&self.path).ok()?).ok()?;
        let (address, token) = (known["address"].as_str()?, known["token"].as_str()?);
        let at: SocketAddr =
            known["at"].as_str()?.parse().ok().filter(|at: &SocketAddr| at.ip().is_loopback())?;
        let Ok(info) = ask(at, token) else {
            // It has ended.
            let _ = fs::remove_file(&self.path);
            return None;
        };
        let same = info["root"] == json!(self.root) && info["read_only"] == json!(read_only);
        same.then(|| address.to_string())
    }

    /// Says where the server is. Whoever cannot be told starts one of his own.
    pub(crate) fn put_up(&self, at: SocketAddr, address: &str, token: &str) -> io::Result<()> {
        let text = json!({ "root": self.root, "at": at.to_string(), "address": address, "token": token })
            .to_string();
        let fresh = self.path.with_extension(format!("{}.new", std::process::id()));
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&fresh)?.write_all(text.as_bytes())?;
        fs::rename(&fresh, &self.path)
    }
}

/// A folder that only this user can read: that of the session, or one of our own among those for a while.
fn own_folder() -> Option<PathBuf> {
    let session = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    let user = env::var("USER").or_else(|_| env::var("USERNAME")).unwrap_or_default();
    let user: String = user.chars().filter(char::is_ascii_alphanumeric).collect();
    let folder = session.unwrap_or_else(env::temp_dir).join(format!("shoal-{user}"));
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    if !folder.exists() {
        builder.create(&folder).ok()?;
    }
    is_private(&folder).then_some(folder)
}

/// Whether a folder is one, no link, and nobody else may look into it.
fn is_private(folder: &Path) -> bool {
    let Ok(about) = fs::symlink_metadata(folder) else { return false };
    #[cfg(unix)]
    let closed = std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 == 0;
    #[cfg(not(unix))]
    let closed = true;
    about.is_dir() && closed
}

/// What a server says of itself.
fn ask(at: SocketAddr, token: &str) -> io::Result<Json> {
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "GET /api/v1/info HTTP/1.1\r\nHost: {at}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.take(LONGEST).read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    Ok(serde_json::from_str(body)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_can_read_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        for (mode, private) in [(0o700, true), (0o755, false), (0o770, false)] {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_private(folder.path()), private, "{mode:o}");
        }
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert!(!is_private(&link));
    }
}
