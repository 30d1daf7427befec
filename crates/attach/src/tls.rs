//! TLS on a connection to a server, by rustls. The server's identity must be certified: by an
//! authority that is named, or by one that the system trusts.

use kvdyno_engine::server::{Secrecy, Secured, send_to};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::fmt::{self, Debug, Formatter};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

/// The most bytes in a TLS record, and so the most that are accepted at once.
const RECORD_BYTES: usize = 16 << 10;

/// The TLS configuration of connections.
#[derive(Debug)]
pub(crate) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// Trusts the authorities in a file, or those that the system trusts.
    pub(crate) fn trusting(file: Option<&Path>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        match file {
            Some(path) => {
                let unread =
                    |why: &dyn Debug| format!("authorities of {}: {why:?}", path.display());
                let certificates =
                    CertificateDer::pem_file_iter(path).map_err(|error| unread(&error))?;
                for certificate in certificates {
                    let certificate = certificate.map_err(|error| unread(&error))?;
                    roots.add(certificate).map_err(|error| unread(&error))?;
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        if roots.is_empty() {
            let what = "no trusted certificate authority: use `sslrootcert=FILE`, or install the \
                package ca-certificates";
            return Err(what.to_owned());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

impl Secrecy for Tls {
    fn begin(&self, mut stream: TcpStream, host: &str) -> io::Result<Box<dyn Secured>> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let mut tls = ClientConnection::new(Arc::clone(&self.0), name).map_err(io::Error::other)?;
        while tls.is_handshaking() {
            tls.complete_io(&mut stream).map_err(|error| {
                io::Error::new(error.kind(), format!("TLS with {host}: {error}"))
            })?;
        }
        Ok(Box::new(TlsStream { stream, tls }))
    }
}

/// A connection with TLS.
struct TlsStream {
    stream: TcpStream,
    tls: ClientConnection,
}

impl Debug for TlsStream {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hidden").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl Secured for TlsStream {
    fn send(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        // Bytes accepted before go first.
        if !self.is_sent()? {
            return Ok(None);
        }
        let count = self.tls.writer().write(&bytes[..bytes.len().min(RECORD_BYTES)])?;
        self.is_sent()?;
        Ok(Some(count))
    }

    fn is_sent(&mut self) -> io::Result<bool> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut NonblockingWriter(&self.stream)) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn socket(&self) -> &TcpStream {
        &self.stream
    }
}

impl Read for TlsStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.tls.reader().read(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => return other,
            }
            if self.tls.read_tls(&mut self.stream)? == 0 {
                // The server closed the connection, with a `close_notify` or without.
                return Ok(0);
            }
            self.tls.process_new_packets().map_err(io::Error::other)?;
        }
    }
}

/// Writes as much as the socket accepts now; `WouldBlock`: it accepts nothing now.
struct NonblockingWriter<'s>(&'s TcpStream);

impl Write for NonblockingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        send_to(&self.0, bytes)?.ok_or_else(|| ErrorKind::WouldBlock.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
