//! The server: bound to loopback, it gives the page and the gallery to a browser on this machine.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use crate::gallery::Gallery;
use crate::guard::Names;
use crate::routes::{App, router};

pub use crate::routes::ServeOptions;

/// How often it is asked whether to stop.
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(100);
/// How long open connections may take to end once it stops.
const GRACE: Duration = Duration::from_millis(500);

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The port is taken, or none is to be had.
    #[error("port {port} cannot be used: {cause}")]
    Bind {
        /// The port that was asked for.
        port: u16,
        /// What the operating system said.
        cause: std::io::Error,
    },
    /// The server stopped by itself.
    #[error("the server failed: {0}")]
    Io(#[from] std::io::Error),
}

/// A server that has its port and waits to run.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: App,
}

impl Server {
    /// Takes a port of the loopback interface.
    pub fn bind(gallery: Arc<Gallery>, options: ServeOptions) -> Result<Self, ServeError> {
        let port = options.port;
        let bind = || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = bind().map_err(|cause| ServeError::Bind { port, cause })?;
        Ok(Self { listener, address, app: App::new(gallery, options) })
    }

    /// Where the page is.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Answers until `stop` says so.
    pub fn run(self, stop: impl Fn() -> bool + Send + 'static) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let router = router(self.app, Names::of_port(self.address.port()));
        let (stopped, mut has_stopped) = tokio::sync::watch::channel(false);
        let asked = async move {
            while !stop() {
                tokio::time::sleep(BETWEEN_QUESTIONS).await;
            }
            let _ = stopped.send(true);
        };
        let result = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let serving = axum::serve(listener, router).with_graceful_shutdown(asked).into_future();
            // A page keeps its connections open for as long as it is shown, so the end is not waited for.
            let patience = async {
                let _ = has_stopped.wait_for(|stopped| *stopped).await;
                tokio::time::sleep(GRACE).await;
            };
            tokio::pin!(serving);
            tokio::select! {
                result = &mut serving => result,
                () = patience => Ok(()),
            }
        });
        runtime.shutdown_timeout(GRACE);
        Ok(result?)
    }
}
