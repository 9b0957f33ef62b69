//! HTTP server on the loopback interface for the page and the assets.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use crate::asset_store::AssetStore;
use crate::routes::{App, router};

pub use crate::routes::ServeOptions;

/// Interval between checks of the stop condition.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum time for open connections to close when the server stops.
const MAX_SHUTDOWN: Duration = Duration::from_millis(150);

/// Error of the server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The port is in use or not available.
    #[error("port {port} cannot be used: {cause}")]
    Bind {
        /// Requested port.
        port: u16,
        /// Error of the operating system.
        cause: std::io::Error,
    },
    /// The server failed.
    #[error("the server failed: {0}")]
    Io(#[from] std::io::Error),
}

/// Server that is bound to a port.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: App,
}

impl Server {
    /// Binds to a port of the loopback interface.
    pub fn bind(assets: Arc<AssetStore>, options: ServeOptions) -> Result<Self, ServeError> {
        let port = options.port;
        let bind = || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = bind().map_err(|cause| ServeError::Bind { port, cause })?;
        Ok(Self { listener, address, app: App::new(assets, options) })
    }

    /// Address of the page.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Serves requests until `stop` returns true.
    pub fn run(self, stop: impl Fn() -> bool + Send + 'static) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let router = router(self.app, self.address.port());
        let (stopped, mut has_stopped) = tokio::sync::watch::channel(false);
        let stopped = async move {
            while !stop() {
                tokio::time::sleep(STOP_CHECK_INTERVAL).await;
            }
            let _ = stopped.send(true);
        };
        let result = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let serving = axum::serve(listener, router).with_graceful_shutdown(stopped).into_future();
            // Pages keep their connections open, so the shutdown does not wait for them indefinitely.
            let patience = async {
                let _ = has_stopped.wait_for(|stopped| *stopped).await;
                tokio::time::sleep(MAX_SHUTDOWN).await;
            };
            tokio::pin!(serving);
            tokio::select! {
                result = &mut serving => result,
                () = patience => Ok(()),
            }
        });
        runtime.shutdown_timeout(MAX_SHUTDOWN);
        Ok(result?)
    }
}
