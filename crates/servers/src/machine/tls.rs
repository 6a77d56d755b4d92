//! A certificate for a server, signed by an authority that exists only for it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The server is no authority itself: clients refuse a certificate that is both.
const EXTENSIONS: &str = "basicConstraints=critical,CA:FALSE\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n\
     extendedKeyUsage=serverAuth\n";

/// A new key on a curve that every client knows; without a passphrase.
const NEW_KEY: [&str; 5] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/// The files of one server.
#[derive(Debug, Clone)]
pub(crate) struct Certificate {
    /// The authority's certificate, for clients.
    pub authority: PathBuf,
    /// The server's certificate.
    pub certificate: PathBuf,
    /// The server's key.
    pub key: PathBuf,
}

/// Makes them in a directory that exists; the error says why it cannot be.
pub(crate) fn certificate(directory: &Path) -> Result<Certificate, String> {
    let file = |name: &str| directory.join(name);
    fs::write(file("extensions"), EXTENSIONS).map_err(|error| error.to_string())?;
    let mut authority = vec!["req", "-x509", "-days", "2", "-subj", "/CN=karwan tests"];
    authority.extend(NEW_KEY);
    authority.extend(["-addext", "keyUsage=critical,keyCertSign", "-keyout", "ca.key", "-out", "ca.crt"]);
    openssl(directory, &authority)?;
    let mut request = vec!["req", "-new", "-subj", "/CN=localhost"];
    request.extend(NEW_KEY);
    request.extend(["-keyout", "server.key", "-out", "server.csr"]);
    openssl(directory, &request)?;
    let mut signature = vec!["x509", "-req", "-days", "2", "-in", "server.csr", "-extfile", "extensions"];
    signature.extend(["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.crt"]);
    openssl(directory, &signature)?;
    let made = Certificate { authority: file("ca.crt"), certificate: file("server.crt"), key: file("server.key") };
    // Servers refuse a key that others can read.
    let closed = fs::set_permissions(&made.key, fs::Permissions::from_mode(0o600));
    closed.map(|()| made).map_err(|error| error.to_string())
}

fn openssl(directory: &Path, words: &[&str]) -> Result<(), String> {
    let mut openssl = Command::new("openssl");
    openssl.args(words).current_dir(directory).stdin(Stdio::null());
    let output = openssl.output().map_err(|error| format!("no certificate without openssl: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("openssl {}: {}", words[0], String::from_utf8_lossy(&output.stderr).trim()))
}
