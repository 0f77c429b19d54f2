//! A TCP proxy in front of a Redis server which plays a broken network.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, poll};

use crate::ports;
use crate::proxy_state::ProxyState;

/// What a [`FaultProxy`] does with its connections, present and future.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Everything is passed on.
    #[default]
    Pass,
    /// Requests reach the server, which carries them out; replies are dropped. A connection that lost a reply so
    /// is cut when the fault ends, as no real connection loses the middle of a stream.
    SwallowReplies,
    /// Nothing is passed on, in either direction, not even the end of a connection: a half-open socket, a cable
    /// pulled. What was sent meanwhile arrives when the fault ends, as TCP would repeat it; [`FaultProxy::cut`]
    /// ahead of that loses it.
    BlackHole,
    /// New connections are reset at once; those that stand go on. With [`FaultProxy::cut`]: a server that is down.
    Refuse,
}

impl Fault {
    pub(crate) fn delivers_replies(self) -> bool {
        matches!(self, Self::Pass | Self::Refuse)
    }
}

/// A proxy on a port of 127.0.0.1 which passes connections on to a Redis server, or does not.
///
/// It knows where a request ends and which reply answers it (protocol versions 2 and 3), so that a test can lose
/// exactly one of them. Over TLS, and on a connection in subscriber mode of version 2, only the
/// [`Fault`]s and [`cut`](Self::cut) work.
///
/// All methods take `&self` and take effect before they return. Dropping the proxy cuts all connections.
///
/// ```no_run
/// use std::time::Duration;
/// use cogworker_testing::{FaultProxy, TestRedis, wait_until};
///
/// # fn push_a_job(_: &str) -> Result<(), std::io::Error> { Ok(()) }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let redis = TestRedis::start()?;
/// let proxy = FaultProxy::start(&redis)?;
/// proxy.cut_before_reply_to(b"GreetingJob");
/// // Redis has the job, but the program that pushed it will never know.
/// assert!(push_a_job(&proxy.url()).is_err());
/// assert_eq!(redis.cli(&["LLEN", "cogworker:queue:low"]), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FaultProxy {
    port: u16,
    state: Arc<Mutex<ProxyState>>,
    /// Makes the proxy's thread look at the state anew.
    waker: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl FaultProxy {
    /// Starts a proxy to `upstream`: a [`TestRedis`](crate::TestRedis), or an address such as `("127.0.0.1", 6379)`.
    ///
    /// # Errors
    /// When the address has no meaning, or no port is free.
    pub fn start(upstream: impl ToSocketAddrs) -> io::Result<Self> {
        let state = Arc::new(Mutex::new(ProxyState::new(resolve(upstream)?)));
        let listener = ports::listen()?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let (waker, wakened) = UnixStream::pair()?;
        waker.set_nonblocking(true)?;
        wakened.set_nonblocking(true)?;
        let shared = Arc::clone(&state);
        let thread = thread::Builder::new()
            .name("fault-proxy".into())
            .spawn(move || run(&listener, &wakened, &shared))?;
        Ok(Self { port, state, waker, thread: Some(thread) })
    }

    /// `redis://127.0.0.1:23456`, without credentials.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Changes what happens to all connections from now on.
    pub fn set(&self, fault: Fault) {
        self.change(|state| state.set_fault(fault));
    }

    /// Ends all connections now, the clients' with a reset. What was on its way is lost.
    pub fn cut(&self) {
        self.change(ProxyState::cut);
    }

    /// Sends new connections to another server: the same address, another machine behind it. Those that stand
    /// stay where they are.
    ///
    /// # Errors
    /// When the address has no meaning.
    pub fn retarget(&self, upstream: impl ToSocketAddrs) -> io::Result<()> {
        let upstream = resolve(upstream)?;
        self.change(|state| state.upstream = upstream);
        Ok(())
    }

    /// Loses the reply to the next request that contains `needle`: the request reaches the server and is carried
    /// out, then its connection is cut instead of the reply being delivered. Works once; call it again for more.
    ///
    /// The replies to earlier requests on that connection are delivered; later requests on it are lost. The needle
    /// is looked for in the request as sent, so a job id, a key or `"\r\nEXEC\r\n"` will do.
    pub fn cut_before_reply_to(&self, needle: &[u8]) {
        self.change(|state| state.rules.cut_before_reply.add(needle));
    }

    /// Loses the next request that contains `needle`: it does not reach the server, and its connection is cut.
    /// Seen from the client this is the same as [`cut_before_reply_to`](Self::cut_before_reply_to).
    pub fn cut_before_request(&self, needle: &[u8]) {
        self.change(|state| state.rules.cut_before_request.add(needle));
    }

    /// How many connections stand now.
    pub fn connections(&self) -> usize {
        self.state().links.len()
    }

    /// How many connections there have been, those that were refused included.
    pub fn connections_seen(&self) -> u64 {
        self.state().accepted
    }

    /// How many requests were passed on to a server.
    pub fn requests_seen(&self) -> u64 {
        self.state().rules.requests_seen
    }

    /// How many requests were lost to [`cut_before_request`](Self::cut_before_request).
    pub fn requests_lost(&self) -> u64 {
        self.state().rules.requests_lost
    }

    /// How many replies of a server were not delivered, by [`Fault::SwallowReplies`] or
    /// [`cut_before_reply_to`](Self::cut_before_reply_to).
    pub fn replies_lost(&self) -> u64 {
        self.state().rules.replies_lost
    }

    fn change(&self, change: impl FnOnce(&mut ProxyState)) {
        change(&mut self.state());
        // A full pipe holds a wake-up already.
        let _ = (&self.waker).write(&[0]);
    }

    fn state(&self) -> MutexGuard<'_, ProxyState> {
        lock(&self.state)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.change(|state| {
            state.cut();
            state.stopped = true;
        });
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn resolve(upstream: impl ToSocketAddrs) -> io::Result<SocketAddr> {
    let none = || io::Error::new(ErrorKind::InvalidInput, "start a fault proxy: its upstream has no address");
    upstream.to_socket_addrs()?.next().ok_or_else(none)
}

fn lock(state: &Mutex<ProxyState>) -> MutexGuard<'_, ProxyState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The proxy's thread. It holds the lock whenever it moves anything, and waits without it: a change is either
/// wholly before or wholly after each move.
fn run(listener: &TcpListener, wakened: &UnixStream, state: &Mutex<ProxyState>) {
    loop {
        let watched = {
            let state = lock(state);
            if state.stopped {
                return;
            }
            watched(&state)
        };
        let mut fds = vec![PollFd::new(listener, PollFlags::IN), PollFd::new(wakened, PollFlags::IN)];
        fds.extend(watched.iter().map(|socket| PollFd::new(&*socket.stream, socket.interest)));
        // The one error that a wait without limit knows is a signal's interruption: look again.
        let _ = poll(&mut fds, None);
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        while matches!((&*wakened).read(&mut [0; 64]), Ok(1..)) {}
        let mut state = lock(state);
        for (socket, _) in watched.iter().zip(&ready[2..]).filter(|(_, ready)| **ready) {
            state.pump(socket.link);
        }
        if ready[0] && !state.stopped {
            state.accept(listener);
        }
    }
}

/// A socket to wait for.
struct Watched {
    link: u64,
    stream: Arc<std::net::TcpStream>,
    interest: PollFlags,
}

/// Sockets with nothing to wait for are left out: a poll would report their end again and again.
fn watched(state: &ProxyState) -> Vec<Watched> {
    let mut watched = Vec::new();
    if state.rules.fault == Fault::BlackHole {
        return watched;
    }
    for (link, pair) in &state.links {
        let (client, server) = pair.interest();
        for (side, interest) in [(&pair.client, client), (&pair.server, server)] {
            if !interest.is_empty() {
                watched.push(Watched { link: *link, stream: Arc::clone(&side.stream), interest });
            }
        }
    }
    watched
}
