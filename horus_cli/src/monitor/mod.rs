//! The command `horus monitor`: serves a web page that shows topics, nodes and events live. Only
//! this machine can open the page.
//!
//! The main thread takes samples, as `horus top` does, and stores the newest one in `broadcast`.
//! `server` accepts connections, each in a separate thread. `http` reads requests and writes
//! responses, and `access` decides which requests are answered. `stream` sends the samples and the
//! watched messages to a page. The page itself is in `page/`: plain files that are embedded in the
//! binary.

mod access;
mod assets;
mod broadcast;
mod command;
mod http;
mod image_file;
mod images;
mod server;
mod stream;
mod token;
mod values;
mod watch;

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use crate::cli::parse_number;
use crate::context::Context;
use crate::failure::Failure;
use crate::sample::Sampler;
use access::AccessRules;
use broadcast::SampleBroadcast;
use images::Images;
use server::{RequestContext, Server};

/// Time between two samples while a page is open. While no page is open,
/// [`SAMPLE_PERIOD_WITHOUT_PAGE`] is used.
const SAMPLE_PERIOD_WITH_PAGE: Duration = Duration::from_millis(250);
const SAMPLE_PERIOD_WITHOUT_PAGE: Duration = Duration::from_secs(1);

/// Time over which the rates of topics are measured. WHY a second: a slow topic sends less than one
/// message in a shorter time.
const RATE_WINDOW: Duration = Duration::from_secs(1);

/// Show topics, nodes and events live on a web page
///
/// Prints the address of the page, and serves it until Ctrl-C, to programs on
/// this machine that know the token in the address. The page disturbs no program:
/// it reads what the participants count anyway, and changes nothing unless
/// --allow-control is given. From another machine: ssh -L 8844:127.0.0.1:8844
/// ROBOT.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// TCP port on 127.0.0.1; 0 for any that is free
    #[arg(
        short,
        long,
        value_name = "PORT",
        default_value = "8844",
        value_parser = parse_number::<u16>
    )]
    port: u16,
    /// Keep the token in this file, so that the address stays the same
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Let the page pause nodes, set rates, and engage the emergency stop
    #[arg(long)]
    allow_control: bool,
    /// Also show the library's own topics, horus/…
    #[arg(short, long)]
    all: bool,
}

/// The URL of the web page, with its token.
#[derive(Debug, Serialize)]
struct PageUrl {
    url: String,
    port: u16,
    token: String,
    allow_control: bool,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    // WHY first: a signal then ends the wait for a pipe.
    let token = token::create_or_read(arguments.token_file.as_deref(), context.deadline())?;
    context.stop.catch_next_signal();
    let mut sampler = Sampler::new(arguments.all, RATE_WINDOW);
    // WHY before the address is printed: a failure is the only output then.
    let first = sampler.take_sample(context)?;
    let broadcast = SampleBroadcast::new(arguments.allow_control);
    broadcast.publish(first, sampler.namespace());
    let (server, port) = Server::bind(arguments.port)?;
    let address = PageUrl {
        url: format!("http://127.0.0.1:{port}/#t={token}"),
        port,
        token: token.clone(),
        allow_control: arguments.allow_control,
    };
    print_address(&address, context)?;
    let context = &*context;
    let access = AccessRules::new(port, token, arguments.allow_control);
    let images = Images::default();
    let request_context = RequestContext {
        access: &access,
        broadcast: &broadcast,
        images: &images,
        context,
    };
    let sampled = thread::scope(|scope| {
        let accept = || server.accept_connections(scope, request_context);
        let started = thread::Builder::new().spawn_scoped(scope, accept);
        started.map_err(|error| {
            let text = "cannot start a thread that answers the requests";
            Failure::system(format_args!("{text}: {error}"))
        })?;
        let sampled = take_samples(&mut sampler, request_context);
        server.close();
        sampled
    });
    context.print_note(format_args!(
        "{} requests answered",
        server.answered_requests()
    ));
    sampled
}

fn print_address(address: &PageUrl, context: &mut Context) -> Result<(), Failure> {
    if context.is_json() {
        return context.out.write_json(address);
    }
    context.out.write_line(&address.url)?;
    context.out.flush()?;
    let may = if address.allow_control {
        "may pause nodes and stop the robot"
    } else {
        "changes nothing"
    };
    context.print_note(format_args!(
        "open this address in a browser on this machine; the page {may}. Ctrl-C ends it"
    ));
    Ok(())
}

/// Takes samples and publishes them to the pages, until a signal is received or the time limit of
/// `--timeout` is over.
fn take_samples(sampler: &mut Sampler, request_context: RequestContext<'_>) -> Result<(), Failure> {
    let RequestContext {
        broadcast,
        images,
        context,
        ..
    } = request_context;
    let deadline = context.deadline();
    loop {
        let begin = Instant::now();
        let due = deadline.or_earlier(begin + SAMPLE_PERIOD_WITHOUT_PAGE);
        // A page that is opened meanwhile gets its first sample soon.
        while !broadcast.has_open_page() && Instant::now() < due {
            let step = (Instant::now() + SAMPLE_PERIOD_WITH_PAGE / 4).min(due);
            if !context.stop.sleep_until(step) {
                return Ok(());
            }
        }
        let due = deadline.or_earlier(begin + SAMPLE_PERIOD_WITH_PAGE);
        if !context.stop.sleep_until(due) || deadline.is_over() {
            return Ok(());
        }
        broadcast.publish(sampler.take_sample(context)?, sampler.namespace());
        images.close_unused();
    }
}
