//! The server: accepts connections from this machine, and answers each on a separate thread.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::Duration;

use super::access::AccessRules;
use super::assets;
use super::broadcast::SampleBroadcast;
use super::command;
use super::http::{Request, Response};
use super::images::Images;
use super::stream;
use crate::context::Context;
use crate::failure::Failure;

/// Maximum number of open connections. The server closes further connections at once.
const CONNECTIONS_MAX: usize = 64;

/// Time that the server waits after an attempt to accept a connection has failed.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(10);

/// An HTTP server that listens on 127.0.0.1. It answers each connection on a separate thread.
#[derive(Debug)]
pub(super) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    is_closed: AtomicBool,
    /// The open connections, by connection number. The server closes them when it ends.
    connections: Mutex<BTreeMap<u64, TcpStream>>,
    answered: AtomicU64,
}

/// A connection that is stored in [`Server::connections`] until this value is dropped.
struct StoredConnection<'a> {
    server: &'a Server,
    number: u64,
}

impl Drop for StoredConnection<'_> {
    fn drop(&mut self) {
        self.server.connections().remove(&self.number);
    }
}

/// References to the objects that are needed to answer a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestContext<'a> {
    pub(super) access: &'a AccessRules,
    pub(super) broadcast: &'a SampleBroadcast,
    pub(super) images: &'a Images,
    pub(super) context: &'a Context,
}

/// The answer to a request: a response, or a stream of events.
enum ResponseOrStream {
    Response(Response),
    Stream(Box<stream::RequestedTopics>),
}

impl Server {
    /// Opens a server that listens only on 127.0.0.1, on the port `port`; 0 selects a free port.
    /// Returns the server and the number of its port.
    pub(super) fn bind(port: u16) -> Result<(Self, u16), Failure> {
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let bound = bound.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = bound.map_err(|error| bind_failure(port, &error))?;
        let server = Self {
            listener,
            address,
            is_closed: AtomicBool::new(false),
            connections: Mutex::default(),
            answered: AtomicU64::new(0),
        };
        Ok((server, address.port()))
    }

    /// Accepts connections and answers their requests until [`Self::close`] is called.
    pub(super) fn accept_connections<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        request_context: RequestContext<'scope>,
    ) {
        let mut number = 0;
        let mut is_refusal_reported = false;
        loop {
            let accepted = self.listener.accept();
            if self.is_closed() {
                return;
            }
            let Ok((mut connection, _)) = accepted else {
                // Too many open files, or a client that has gone: both pass.
                thread::sleep(ACCEPT_RETRY_PAUSE);
                continue;
            };
            number += 1;
            let Ok(stored) = self.store_connection(number, &connection) else {
                continue;
            };
            let serve = move || {
                // WHY the error is ignored: the client has gone, which is its right.
                let _ = self.answer_connection(&mut connection, request_context);
                drop(stored);
            };
            // WHY no panic: the system may refuse a thread now, and grant the next one.
            let started = thread::Builder::new().spawn_scoped(scope, serve);
            if let Err(error) = started
                && !std::mem::replace(&mut is_refusal_reported, true)
            {
                request_context.context.print_note(format_args!(
                    "cannot start a thread that answers a request, so its connection was closed: \
                     {error}. This note is printed once"
                ));
            }
        }
    }

    /// Closes all connections. Makes [`Self::accept_connections`] return.
    pub(super) fn close(&self) {
        // Relaxed: the lock orders it for connections, and the connection below for `accept`.
        self.is_closed.store(true, Ordering::Relaxed);
        for connection in self.connections().values() {
            let _ = connection.shutdown(Shutdown::Both);
        }
        // Wakes `accept`.
        let _ = TcpStream::connect(self.address);
    }

    /// Returns the number of requests that the server has answered.
    pub(super) fn answered_requests(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Stores an open connection, so that the server can close it when it ends. It is stored until
    /// the returned value is dropped. Fails if there are too many connections.
    fn store_connection(
        &self,
        number: u64,
        connection: &TcpStream,
    ) -> io::Result<StoredConnection<'_>> {
        let mut connections = self.connections();
        if self.is_closed() || connections.len() >= CONNECTIONS_MAX {
            return Err(io::Error::other("too many connections"));
        }
        connections.insert(number, connection.try_clone()?);
        let server = self;
        Ok(StoredConnection { server, number })
    }

    fn connections(&self) -> MutexGuard<'_, BTreeMap<u64, TcpStream>> {
        // Each change is complete whenever the lock is free, also after a panic.
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a request from the connection, and answers it.
    fn answer_connection(
        &self,
        connection: &mut TcpStream,
        request_context: RequestContext<'_>,
    ) -> io::Result<()> {
        let answer = match Request::read(connection) {
            Ok(request) => answer_request(&request, request_context),
            Err(Some(response)) => ResponseOrStream::Response(response),
            Err(None) => return Ok(()),
        };
        self.answered.fetch_add(1, Ordering::Relaxed);
        match answer {
            ResponseOrStream::Response(response) => response.write(connection),
            ResponseOrStream::Stream(wanted) => match request_context.broadcast.open_page() {
                Some(_page) => stream::send_events(connection, *wanted, request_context),
                None => Response::error(503, "too many pages are open").write(connection),
            },
        }
    }
}

fn bind_failure(port: u16, error: &io::Error) -> Failure {
    let failure = Failure::system(format_args!("cannot listen on 127.0.0.1:{port}: {error}"));
    match error.kind() {
        io::ErrorKind::AddrInUse => failure.with_advice(
            "Another program has this port, perhaps another `horus monitor`: \
             choose one with --port, or take any with --port 0",
        ),
        io::ErrorKind::PermissionDenied => failure.with_advice("Choose a port from 1024 on"),
        _ => failure,
    }
}

fn answer_request(request: &Request, request_context: RequestContext<'_>) -> ResponseOrStream {
    match try_answer_request(request, request_context) {
        Ok(answer) => answer,
        Err(response) => ResponseOrStream::Response(response),
    }
}

fn try_answer_request(
    request: &Request,
    request_context: RequestContext<'_>,
) -> Result<ResponseOrStream, Response> {
    request_context.access.check_origin(request)?;
    let path = request.path.as_str();
    if let Some(file) = assets::find_file(path) {
        check_method(request, "GET")?;
        return Ok(ResponseOrStream::Response(file));
    }
    match path {
        "/api/state" => {
            check_method(request, "GET")?;
            request_context.access.check_token(request)?;
            let state = request_context
                .broadcast
                .lock_newest_sample()
                .state
                .to_vec();
            Ok(ResponseOrStream::Response(Response::new(
                "application/json",
                state,
            )))
        }
        "/api/stream" => {
            check_method(request, "GET")?;
            request_context.access.check_token(request)?;
            let wanted = stream::RequestedTopics::parse(request)?;
            Ok(ResponseOrStream::Stream(Box::new(wanted)))
        }
        "/api/image" => {
            check_method(request, "GET")?;
            request_context.access.check_token(request)?;
            Ok(ResponseOrStream::Response(
                request_context
                    .images
                    .newest_image_response(request, request_context)?,
            ))
        }
        "/api/command" => {
            check_method(request, "POST")?;
            request_context.access.check_token(request)?;
            request_context.access.check_control_is_allowed()?;
            Ok(ResponseOrStream::Response(command::execute(
                request,
                request_context,
            )?))
        }
        _ => {
            let text = format!("there is no '{path}' on this server");
            Err(Response::error(404, &text))
        }
    }
}

fn check_method(request: &Request, allowed: &'static str) -> Result<(), Response> {
    if request.method == allowed {
        return Ok(());
    }
    let text = format!("{} is not allowed here, only {allowed}", request.method);
    Err(Response::error(405, &text).with_header("Allow", allowed))
}
