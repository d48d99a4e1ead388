//! The context of a command: the global options, the namespace, the output, and the signals that
//! end the command.

use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use horus_core::OpenError;
use horus_core::TopicError;
use horus_core::introspect::{self, Inspector};
use horus_core::namespace::{
    Namespace, NamespaceConfig, NamespaceError, NamespaceName, SweepReport,
};

use crate::clean;
use crate::cli::{ColorChoice, GlobalOptions};
use crate::doctor::removed::removed_namespaces_text;
use crate::failure::{Failure, error_chain_text};
use crate::namespace;
use crate::output::format::visible_lines;
use crate::output::{Output, nearest};
use crate::stop::{Deadline, StopSignal};
use crate::topic::select::is_internal_topic;

/// Prefix of the names of the topics to which programs log.
const LOG_TOPIC_PREFIX: &str = "horus/log/";

/// The objects that every command needs: the global options, the output and the signals.
#[derive(Debug)]
pub(crate) struct Context {
    options: GlobalOptions,
    /// The output of the command, which is written to stdout.
    pub(crate) out: Output,
    /// A flag that signals set, such as Ctrl-C. The command ends when it is set.
    pub(crate) stop: StopSignal,
    deadline: Deadline,
}

impl Context {
    /// Creates the context for a command with the global options `options`. Installs the signal
    /// handlers.
    pub(crate) fn new(options: GlobalOptions) -> Result<Self, Failure> {
        let stop = StopSignal::install()
            .map_err(|error| Failure::system(format_args!("cannot handle signals: {error}")))?;
        Ok(Self {
            out: Output::new(options.color),
            deadline: Deadline::after(options.timeout),
            options,
            stop,
        })
    }

    /// Returns true if the user requested output in JSON.
    pub(crate) const fn is_json(&self) -> bool {
        self.options.json
    }

    /// Returns true if the option `--quiet` was given.
    pub(crate) const fn is_quiet(&self) -> bool {
        self.options.quiet
    }

    /// Returns the time limit that the option `--timeout` sets; `None` if it was not given.
    pub(crate) const fn timeout(&self) -> Option<Duration> {
        self.options.timeout
    }

    /// Returns the time at which the command gives up, which is the time of its start plus the time
    /// limit of `--timeout`.
    pub(crate) const fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// Prints `text`, a note for the user, to stderr. Prints nothing if the option `--quiet` was
    /// given. Replaces characters on which a terminal would act by escapes.
    pub(crate) fn print_note(&self, text: impl Display) {
        if !self.options.quiet {
            // WHY the error is ignored: notes are for people, and nobody reads them.
            let _ = writeln!(io::stderr(), "{}", visible_lines(&text.to_string()));
        }
    }

    /// Prints `text` to stderr if the option `--verbose` was given.
    pub(crate) fn print_if_verbose(&self, text: impl Display) {
        if self.options.verbose {
            let _ = writeln!(io::stderr(), "horus: {}", visible_lines(&text.to_string()));
        }
    }

    /// Sets environment variables for `command`, an external program, so that it can use the same
    /// global options. The time limit is not among them.
    pub(crate) fn pass_options_to(&self, command: &mut Command) {
        let options = &self.options;
        if let Some(namespace) = &options.namespace {
            command.env("HORUS_NAMESPACE", namespace);
        }
        if let Some(dir) = &options.shm_dir {
            command.env("HORUS_SHM_DIR", dir);
        }
        let flags = [
            ("HORUS_JSON", options.json),
            ("HORUS_QUIET", options.quiet),
            ("HORUS_VERBOSE", options.verbose),
        ];
        for (variable, _) in flags.iter().filter(|(_, is_set)| *is_set) {
            command.env(variable, "1");
        }
        // WHY these variables: many programs know them, and each one may be set already.
        match options.color {
            ColorChoice::Auto => {}
            ColorChoice::Always => {
                command.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1");
            }
            ColorChoice::Never => {
                command.env_remove("CLICOLOR_FORCE").env("NO_COLOR", "1");
            }
        }
    }

    /// Returns the configuration of the namespace that the options and the environment variables
    /// select.
    pub(crate) fn namespace_config(&self) -> Result<NamespaceConfig, Failure> {
        self.namespace_config_or(None)
    }

    /// Returns the configuration of the namespace that the options select. If they select none,
    /// returns the namespace called `name`. If there is no `name` either, returns the namespace
    /// that the environment variables select.
    pub(crate) fn namespace_config_or(
        &self,
        name: Option<&str>,
    ) -> Result<NamespaceConfig, Failure> {
        let mut config = NamespaceConfig::from_env().map_err(|error| namespace_failure(&error))?;
        let name = match self.options.namespace.as_deref().or(name) {
            Some(name) => NamespaceName::new(name).map_err(Failure::usage)?,
            None => config.name().clone(),
        };
        if let Some(dir) = &self.options.shm_dir {
            let gid = config.gid();
            config = NamespaceConfig::new(dir, name.clone());
            if let Some(gid) = gid {
                let shared = config.with_group(&gid.to_string());
                config = shared.map_err(|error| namespace_failure(&error))?;
            }
        }
        Ok(config.with_name(name))
    }

    /// Opens the selected namespace. Creates it if it does not exist.
    pub(crate) fn open_namespace(&self) -> Result<Arc<Namespace>, Failure> {
        let config = self.namespace_config()?;
        let path = namespace_path(&config);
        self.print_if_verbose(format_args!("namespace {}", path.display()));
        Namespace::open(&config).map_err(|error| namespace_failure(&error))
    }

    /// Opens the namespace that `config` selects; returns `None` if it does not exist. WHY no check
    /// before [`Self::open_namespace`]: that call would create the namespace again if another
    /// process removed it in between.
    pub(crate) fn open_if_exists(
        &self,
        config: &NamespaceConfig,
    ) -> Result<Option<Arc<Namespace>>, Failure> {
        let found = self.open_if_exists_with_report(config)?;
        Ok(found.map(|(namespace, _)| namespace))
    }

    fn open_if_exists_with_report(
        &self,
        config: &NamespaceConfig,
    ) -> Result<Option<(Arc<Namespace>, SweepReport)>, Failure> {
        let path = namespace_path(config);
        self.print_if_verbose(format_args!("namespace {}", path.display()));
        namespace::open_listed_namespace_with_report(config)
    }

    /// Opens the selected namespace; returns `None` if it does not exist. Commands that only read
    /// use this function, because they must not create a namespace. Fails if the directory that the
    /// user named does not exist.
    pub(crate) fn open_existing_namespace(&self) -> Result<Option<Arc<Namespace>>, Failure> {
        let found = self.open_existing_namespace_with_report()?;
        Ok(found.map(|(namespace, _)| namespace))
    }

    /// Opens the selected namespace, as [`Self::open_existing_namespace`] does. Also returns what
    /// this process found when it removed the topics that dead processes had left there.
    pub(crate) fn open_existing_namespace_with_report(
        &self,
    ) -> Result<Option<(Arc<Namespace>, SweepReport)>, Failure> {
        let config = self.existing_namespace_config()?;
        if let Some(found) = self.open_if_exists_with_report(&config)? {
            return Ok(Some(found));
        }
        let path = namespace_path(&config);
        let reason = if namespace::has_registry(&path) {
            "has no directory of topics"
        } else if path.is_dir() {
            "has no registry"
        } else {
            "does not exist"
        };
        self.print_note(format_args!(
            "no namespace '{}': {} {reason}.{}",
            config.name(),
            path.display(),
            existing_namespaces_text(&config)
        ));
        Ok(None)
    }

    /// Returns the configuration of the selected namespace. Fails if the name of its directory is
    /// that of a file, or if the directory that `--shm-dir` names does not exist. WHY only that
    /// one: the other directories are created by the first program that needs them.
    pub(crate) fn existing_namespace_config(&self) -> Result<NamespaceConfig, Failure> {
        let config = self.namespace_config()?;
        let dir = config.dir().display();
        match fs::symlink_metadata(config.dir()) {
            Ok(metadata) if metadata.is_dir() => Ok(config),
            Ok(_) => Err(Failure::system(format_args!(
                "{dir} is not a directory: remove it, or name another one by --shm-dir or \
                 HORUS_SHM_DIR"
            ))),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::system(
                format_args!("cannot examine the directory {dir}: {error}"),
            )),
            Err(_) if self.options.shm_dir.is_some() => {
                let named = format!(
                    "the directory {dir} of --shm-dir does not exist: name the one that the \
                     programs use, see HORUS_SHM_DIR of their processes"
                );
                let removed = removed_namespaces_text(&config);
                Err(Failure::not_found(join_sentences([named, removed])))
            }
            Err(_) => Ok(config),
        }
    }

    /// Opens the selected namespace; returns a failure if it does not exist. `wanted_object` is the
    /// object that the user named, such as "node 'n'". `other_namespaces_text` returns sentences
    /// about other namespaces, which begin with a space.
    pub(crate) fn open_namespace_to_find(
        &self,
        wanted_object: impl Display,
        other_namespaces_text: impl FnOnce(&NamespaceConfig) -> String,
    ) -> Result<Arc<Namespace>, Failure> {
        let config = self.existing_namespace_config()?;
        if let Some(namespace) = self.open_if_exists(&config)? {
            return Ok(namespace);
        }
        Err(Failure::not_found(format_args!(
            "no {wanted_object}: the namespace '{}' does not exist in {}.{}",
            config.name(),
            config.dir().display(),
            join_sentences([
                removed_namespaces_text(&config),
                other_namespaces_text(&config)
            ])
        )))
    }

    /// Opens the namespace that contains the topic `name`. Returns a failure if the topic does not
    /// exist.
    pub(crate) fn open_namespace_of_topic(&self, name: &str) -> Result<Arc<Namespace>, Failure> {
        self.open_namespace_to_find(format_args!("topic '{name}'"), |config| {
            other_namespaces_with_topics_text(config, |topic| topic == name)
        })
    }

    /// Opens an inspector of the topic `name`, which reads the topic's settings and counters.
    pub(crate) fn open_inspector(
        &self,
        namespace: &Arc<Namespace>,
        name: &str,
    ) -> Result<Inspector, Failure> {
        Inspector::open_in(namespace, name)
            .map_err(|error| self.topic_failure(namespace, name, &error))
    }

    /// Converts an error of opening the topic `name` to a failure. If there is no topic with that
    /// name, the failure suggests topics with similar names.
    pub(crate) fn topic_failure(
        &self,
        namespace: &Arc<Namespace>,
        name: &str,
        error: &TopicError,
    ) -> Failure {
        if !matches!(error.as_open_error(), Some(OpenError::NotFound { .. })) {
            return Failure::from_topic_error(error);
        }
        let topics = introspect::topics(namespace).unwrap_or_default();
        let wanted = name.trim_start_matches('/');
        let near = similar_topics_text(namespace.config(), wanted, topics, |topic| topic == wanted);
        Failure::not_found(format_args!(
            "no topic '{name}' in namespace '{}'.{near}",
            namespace.config().name()
        ))
    }
}

/// Returns the path of a namespace's directory.
pub(crate) fn namespace_path(config: &NamespaceConfig) -> PathBuf {
    config.dir().join(config.name().as_str())
}

/// Returns sentences that help a user who named a topic that does not exist, to be appended to
/// another text: the names in `topics` that are similar to `wanted`, and the other namespaces that
/// have a topic for which `is_wanted` is true.
///
/// Suggests internal topics of the library only if `wanted` begins as they do. WHY: they exist in
/// nearly every namespace, and would hide that it has none of the topics that the user looks for.
pub(crate) fn similar_topics_text(
    config: &NamespaceConfig,
    wanted: &str,
    mut topics: Vec<String>,
    is_wanted: impl Fn(&str) -> bool,
) -> String {
    topics.retain(|topic| is_internal_topic(wanted) || !is_internal_topic(topic));
    let near = nearest::suggestion_text(wanted, &topics);
    match namespaces_with_topic(config, &is_wanted) {
        others if !others.is_empty() => {
            let stop = if near.is_empty() { "" } else { "." };
            format!(
                "{near}{stop}{}",
                namespaces_sentence("that have it", &others)
            )
        }
        _ if near.is_empty() => other_namespaces_text(config),
        _ => near,
    }
}

/// Returns a sentence that names the other namespaces that have a topic for which `is_wanted` is
/// true. If there are none, the sentence names those that have any topics. It begins with a space,
/// and is empty if no other namespace has topics.
fn other_namespaces_with_topics_text(
    config: &NamespaceConfig,
    is_wanted: impl Fn(&str) -> bool,
) -> String {
    match namespaces_with_topic(config, is_wanted) {
        others if others.is_empty() => other_namespaces_text(config),
        others => namespaces_sentence("that have it", &others),
    }
}

/// Returns a sentence that names the other namespaces that have topics, to be appended to another
/// text. It begins with a space. Returns an empty text if there are no such namespaces.
pub(crate) fn other_namespaces_text(config: &NamespaceConfig) -> String {
    let others = namespaces_with_topic(config, |topic| !is_internal_topic(topic));
    namespaces_sentence("with topics", &others)
}

/// Returns a sentence that names the other namespaces in which programs have logged, to be appended
/// to another text. It begins with a space, and is empty if there are no such namespaces.
pub(crate) fn other_namespaces_with_logs_text(config: &NamespaceConfig) -> String {
    let others = namespaces_with_topic(config, |topic| topic.starts_with(LOG_TOPIC_PREFIX));
    namespaces_sentence("with lines", &others)
}

/// Returns a sentence that names `namespaces` and advises to choose one. `which` says what they
/// have in common, such as "with topics". Returns an empty text if `namespaces` is empty.
pub(crate) fn namespaces_sentence(which: &str, namespaces: &[String]) -> String {
    if namespaces.is_empty() {
        return String::new();
    }
    format!(
        " Namespaces {which}: {}. Choose one with --namespace or HORUS_NAMESPACE",
        namespaces.join(", ")
    )
}

/// Returns a sentence that names the namespaces that exist, to be appended to another text. It
/// begins with a space.
fn existing_namespaces_text(config: &NamespaceConfig) -> String {
    let names = match namespace::namespace_names(config.dir()) {
        Ok(names) => names,
        Err(error) => return format!(" Its directory cannot be read: {error}"),
    };
    let removed = removed_namespaces_text(config);
    if !names.is_empty() {
        let choice = format!(
            " There are: {}. Choose one with --namespace or HORUS_NAMESPACE",
            names.join(", ")
        );
        return join_sentences([removed, choice]);
    }
    if removed.is_empty() {
        return " There are no others: no program runs, or HORUS_SHM_DIR differs".to_owned();
    }
    removed
}

/// Returns one text of two texts that end without a full stop. The second one begins with a space.
/// Both may be empty.
pub(crate) fn join_sentences(mut sentences: [String; 2]) -> String {
    if sentences.iter().all(|sentence| !sentence.is_empty()) {
        sentences[0].push('.');
    }
    sentences.concat()
}

/// Returns the names of the other namespaces that have a topic for which `is_wanted` is true. Does
/// not open them.
fn namespaces_with_topic(
    config: &NamespaceConfig,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<String> {
    // A hint is left out if the directory cannot be read.
    let mut others = namespace::namespace_names(config.dir()).unwrap_or_default();
    others.retain(|other| {
        let name = NamespaceName::new(other).ok();
        let name = name.filter(|_| other != config.name().as_str());
        name.is_some_and(|name| {
            let topics = clean::topic_names(&config.clone().with_name(name));
            topics.iter().any(|topic| is_wanted(topic))
        })
    });
    others
}

/// Converts an error of opening a namespace to a failure with an exit code.
pub(crate) fn namespace_failure(error: &NamespaceError) -> Failure {
    match error {
        NamespaceError::Name(_) | NamespaceError::UnknownGroup { .. } => {
            Failure::usage(error_chain_text(error))
        }
        _ => Failure::system(error_chain_text(error)),
    }
}
