//! One connection through the fault proxy: a client's socket, a server's, and what is on its way between them.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::net::sockopt::set_socket_linger;

use crate::Fault;
use crate::frames::{Frame, Frames};
use crate::proxy_state::Rules;

/// While so much waits to be written to one side, nothing more is read from the other.
const BACKLOG: usize = 1024 * 1024;

/// A pair of connected sockets.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) client: Side,
    pub(crate) server: Side,
    requests: u64,
    replies: u64,
    /// The request, by number, whose reply is not delivered: the link ends there instead.
    doomed: Option<u64>,
    /// A reply was dropped. No later one may follow it: TCP never loses the middle of a stream.
    pub(crate) lost_a_reply: bool,
}

/// One of the two sockets.
#[derive(Debug)]
pub(crate) struct Side {
    /// Shared with the poll that waits for it.
    pub(crate) stream: Arc<TcpStream>,
    frames: Frames,
    /// What is to be written to it.
    outgoing: Vec<u8>,
    /// It will send nothing more.
    ended: bool,
}

/// Whether a link goes on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Open,
    /// Both sides are done, or one is gone.
    Ended,
    /// A rule wants it cut.
    Cut,
}

impl Link {
    /// # Errors
    /// When a socket is gone already.
    pub(crate) fn new(client: TcpStream, server: TcpStream) -> io::Result<Self> {
        Ok(Self {
            client: Side::new(client)?,
            server: Side::new(server)?,
            requests: 0,
            replies: 0,
            doomed: None,
            lost_a_reply: false,
        })
    }

    /// What to wait for on the client's and on the server's socket.
    pub(crate) fn interest(&self) -> (PollFlags, PollFlags) {
        (self.client.interest(&self.server), self.server.interest(&self.client))
    }

    /// Moves what can be moved without waiting.
    pub(crate) fn pump(&mut self, rules: &mut Rules) -> Progress {
        self.try_pump(rules).unwrap_or(Progress::Ended)
    }

    fn try_pump(&mut self, rules: &mut Rules) -> io::Result<Progress> {
        let mut progress = self.take_requests(rules)?;
        // Also before a cut: what came ahead of the request in question is none of the rule's business.
        self.server.flush(self.client.ended)?;
        if progress == Progress::Open {
            progress = self.take_replies(rules)?;
        }
        self.client.flush(self.server.ended)?;
        let done = self.server.ended && self.client.outgoing.is_empty();
        Ok(if done && progress == Progress::Open { Progress::Ended } else { progress })
    }

    fn take_requests(&mut self, rules: &mut Rules) -> io::Result<Progress> {
        if self.server.outgoing.len() >= BACKLOG {
            return Ok(Progress::Open);
        }
        for request in self.client.receive()? {
            if self.doomed.is_some() {
                continue;
            }
            if rules.cut_before_request.take(&request.bytes) {
                rules.requests_lost += 1;
                return Ok(Progress::Cut);
            }
            if request.counts {
                self.requests += 1;
                rules.requests_seen += 1;
                if rules.cut_before_reply.take(&request.bytes) {
                    self.doomed = Some(self.requests);
                }
            }
            self.server.outgoing.extend_from_slice(&request.bytes);
        }
        Ok(Progress::Open)
    }

    fn take_replies(&mut self, rules: &mut Rules) -> io::Result<Progress> {
        if self.client.outgoing.len() >= BACKLOG {
            return Ok(Progress::Open);
        }
        for reply in self.server.receive()? {
            if reply.counts {
                self.replies += 1;
            }
            let doomed = reply.counts && self.doomed == Some(self.replies);
            if doomed || rules.fault == Fault::SwallowReplies {
                self.lost_a_reply = true;
                rules.replies_lost += u64::from(reply.counts);
            } else {
                self.client.outgoing.extend_from_slice(&reply.bytes);
            }
            if doomed {
                return Ok(Progress::Cut);
            }
        }
        // A server that goes away instead of giving the reply cuts the connection as well.
        Ok(if self.server.ended && self.doomed.is_some() { Progress::Cut } else { Progress::Open })
    }

    /// Ends both connections: the client's with a reset, as when a server or the way to it dies; the server's
    /// in order, so that it still carries out what it was sent.
    pub(crate) fn cut(self) {
        reset_on_close(&self.client.stream);
    }
}

impl Side {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream: Arc::new(stream), frames: Frames::default(), outgoing: Vec::new(), ended: false })
    }

    fn interest(&self, other: &Self) -> PollFlags {
        let mut flags = PollFlags::empty();
        if !self.ended && other.outgoing.len() < BACKLOG {
            flags |= PollFlags::IN;
        }
        if !self.outgoing.is_empty() {
            flags |= PollFlags::OUT;
        }
        flags
    }

    /// Reads once, what is there.
    fn receive(&mut self) -> io::Result<Vec<Frame>> {
        if self.ended {
            return Ok(Vec::new());
        }
        let mut buffer = vec![0; 64 * 1024];
        match (&*self.stream).read(&mut buffer) {
            Ok(0) => {
                self.ended = true;
                Ok(Vec::new())
            }
            Ok(read) => Ok(self.frames.feed(&buffer[..read])),
            Err(error) if is_later(&error) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Writes what the socket takes; once all is out and no more can come, tells it so.
    fn flush(&mut self, no_more: bool) -> io::Result<()> {
        while !self.outgoing.is_empty() {
            match (&*self.stream).write(&self.outgoing) {
                Ok(written) => drop(self.outgoing.drain(..written)),
                Err(error) if is_later(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        // A repeated shutdown is an error of no interest.
        if no_more {
            let _ = self.stream.shutdown(Shutdown::Write);
        }
        Ok(())
    }
}

/// Makes the close of a socket a reset.
pub(crate) fn reset_on_close(stream: &TcpStream) {
    let _ = set_socket_linger(stream, Some(Duration::ZERO));
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
