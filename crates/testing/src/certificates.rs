//! The certificates of a TLS server: an authority of the test's own, and a server certificate by it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cogworker_local_redis::FetchError;
use cogworker_local_redis::fetch::{run, write_error};

/// File names in the server's folder.
pub(crate) const CA_CERTIFICATE: &str = "ca.crt";
pub(crate) const SERVER_CERTIFICATE: &str = "server.crt";
pub(crate) const SERVER_KEY: &str = "server.key";

/// All that openssl needs to know, so that the system's own configuration plays no part.
const CONFIGURATION: &str = "\
[req]
distinguished_name = name
prompt = no
[name]
CN = Cogworker tests
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = DNS:localhost, IP:127.0.0.1
";

/// Where a server's certificates come from.
#[derive(Clone, Debug)]
pub(crate) enum Certificates {
    /// They are made.
    New,
    /// They are those of another server, whose folder this is: a client, or the other, trusts both.
    CopyOf(PathBuf),
}

impl Certificates {
    /// Puts the files into `folder`.
    pub(crate) fn provide(&self, folder: &Path) -> Result<(), FetchError> {
        match self {
            Self::New => make(folder),
            Self::CopyOf(other) => {
                for name in [CA_CERTIFICATE, SERVER_CERTIFICATE, SERVER_KEY] {
                    let to = folder.join(name);
                    fs::copy(other.join(name), &to).map_err(write_error(&to))?;
                }
                Ok(())
            }
        }
    }
}

fn make(folder: &Path) -> Result<(), FetchError> {
    let configuration = folder.join("openssl.cnf");
    fs::write(&configuration, CONFIGURATION).map_err(write_error(&configuration))?;
    openssl(
        folder,
        "req -x509 -config openssl.cnf -extensions ca -days 30 -nodes \
         -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -keyout ca.key -out ca.crt",
    )?;
    openssl(
        folder,
        "req -new -config openssl.cnf -nodes \
         -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -keyout server.key -out server.csr",
    )?;
    openssl(
        folder,
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial \
         -days 30 -extfile openssl.cnf -extensions server -out server.crt",
    )
}

fn openssl(folder: &Path, arguments: &str) -> Result<(), FetchError> {
    run(Command::new("openssl").args(arguments.split_whitespace()).current_dir(folder)).map(drop)
}
