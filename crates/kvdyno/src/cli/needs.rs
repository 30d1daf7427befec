//! Options that mean nothing without another one.
//!
//! clap's own `requires` is silent where the needed option conflicts with one that was given.

use super::Cli;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory as _, FromArgMatches as _};
use std::ffi::OsString;

/// An option, and the option that it needs, in commands that have both.
const NEEDS: [(&str, &str); 10] = [
    ("keys", "from"),
    ("keys_file", "from"),
    ("strict", "gate"),
    ("percentiles", "csv"),
    ("brief", "markdown"),
    ("figures", "by"),
    ("all", "by"),
    ("html", "by"),
    ("replay", "power_loss"),
    ("power_loss", "replay"),
];

impl Cli {
    /// Reads a command line, the program's name first.
    pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut command = Self::command();
        let matches = command.try_get_matches_from_mut(words)?;
        check(&mut command, &matches)?;
        Self::from_arg_matches(&matches)
    }
}

fn check(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let names = |id: &str| {
        let mut arguments = command.get_arguments();
        arguments.find(|argument| argument.get_id() == id)?.get_long().map(str::to_owned)
    };
    let is_given = |id| matches.value_source(id) == Some(ValueSource::CommandLine);
    for (option, needed) in NEEDS {
        let Some((name, needed_name)) = names(option).zip(names(needed)) else { continue };
        if is_given(option) && !is_given(needed) {
            let message = format!(
                "--{name} without --{needed_name}, which it is for: add --{needed_name}, or leave \
                 --{name} out"
            );
            return Err(command.error(ErrorKind::MissingRequiredArgument, message));
        }
    }
    match matches.subcommand() {
        Some((name, below)) => {
            command.find_subcommand_mut(name).map_or(Ok(()), |command| check(command, below))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Cli, String> {
        Cli::read(line.split(' ').map(OsString::from)).map_err(|error| error.to_string())
    }

    /// Also if the needed option conflicts with another given option.
    #[test]
    fn an_option_without_the_one_that_it_is_for_is_refused() {
        for (line, option, needed) in [
            ("kvdyno quick lmdb --keys zipf", "--keys", "--from"),
            ("kvdyno quick lmdb --records 1M --keys zipf", "--keys", "--from"),
            ("kvdyno quick --size 1GiB --keys-file k", "--keys-file", "--from"),
            ("kvdyno compare old new --strict", "--strict", "--gate"),
            ("kvdyno export --json --percentiles 25", "--percentiles", "--csv"),
            ("kvdyno export --slack - --brief", "--brief", "--markdown"),
            ("kvdyno show --table cost --html page.html", "--html", "--by"),
            ("kvdyno torture --engine lmdb --replay DIR", "--replay", "--power-loss"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(option) && error.contains(needed), "{line}: {error}");
        }
        for line in [
            "kvdyno quick --from DIR --keys 10k",
            "kvdyno doctor --strict",
            "kvdyno show --percentiles 25",
            "kvdyno compare a b --html page.html",
        ] {
            read(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }

    #[test]
    fn what_is_needed_is_an_option_of_a_command() {
        let command = Cli::command();
        let is_of = |command: &Command, id: &str| {
            command.get_arguments().any(|argument| argument.get_id() == id)
        };
        for (option, needed) in NEEDS {
            let both = |command: &Command| is_of(command, option) && is_of(command, needed);
            assert!(command.get_subcommands().any(both), "{option}, {needed}");
        }
    }
}
