//! All output of the program: data on standard output; progress, notes and errors on standard
//! error. Only this module prints.
//!
//! Text from a record or a worker is made safe here (control characters are shown as escapes), and
//! colours are added here. A closed pipe (`kvdyno show | head`) ends the output, not the program.

mod progress;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use progress::Progress;

use clap::ColorChoice;
use indicatif::{MultiProgress, ProgressDrawTarget};
use kvdyno_record::redact::redact;
use kvdyno_record::text::{self, escape_line, escape_text, shorten};
use kvdyno_render::Tone;
use kvdyno_render::wrap::wrap;
use serde::Serialize;
use std::io::{self, IsTerminal as _, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The terminal's code for a tone.
fn code(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "32",
        Tone::Warning => "33",
        Tone::Bad => "31;1",
        Tone::Strong => "1",
    }
}

/// The most characters of an error message: quoted text may be very long.
const WORDS_MAX: usize = 8000;

pub(crate) struct Printer {
    out: Stream,
    err: Stream,
    quiet: bool,
    live: Option<MultiProgress>,
}

impl Printer {
    /// A printer on the process's own streams. A quiet one prints no progress and no notes.
    pub(crate) fn new(color: ColorChoice, quiet: bool) -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        let live = err.is_terminal() && !quiet;
        Self {
            out: Stream::new(wants_color(color, out.is_terminal()), Box::new(out)),
            err: Stream::new(wants_color(color, err.is_terminal()), Box::new(err)),
            quiet,
            live: live.then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr())),
        }
    }

    /// Prints data: a block of text.
    pub(crate) fn data(&self, text: &str) {
        self.write_out(&format!("{}\n", escape_text(text.trim_end_matches('\n'))));
    }

    /// Prints a title above a block of data.
    pub(crate) fn heading(&self, text: &str) {
        self.write_out(&format!("{}\n", self.out.paint(Tone::Strong, &escape_text(text))));
    }

    /// Prints a line or a block of data that starts with a coloured word.
    pub(crate) fn marked_data(&self, tone: Tone, word: &str, text: &str) {
        let word = self.out.paint(tone, &escape_line(word));
        self.write_out(&format!("{word}{}\n", escape_text(text)));
    }

    /// Prints machine-readable data, byte for byte.
    pub(crate) fn verbatim(&self, bytes: &[u8]) {
        self.suspend_progress(|| self.out.write(bytes));
    }

    /// Prints data as indented JSON.
    pub(crate) fn json(&self, value: &impl Serialize) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(value)?;
        // Control characters that JSON permits occur inside strings, where \u is equivalent.
        let harmless: String = text.chars().map(text::escape_json).collect();
        self.verbatim(format!("{harmless}\n").as_bytes());
        Ok(())
    }

    /// Prints a note, unless `--quiet` is set.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.write_err(&format!("{}\n", escape_text(text)));
        }
    }

    /// Prints a problem that may distort the figures.
    pub(crate) fn warning(&self, text: &str) {
        self.write_labelled(Tone::Warning, "warning", text);
    }

    /// Prints a remedy.
    pub(crate) fn hint(&self, text: &str) {
        self.write_labelled(Tone::Strong, "hint", text);
    }

    /// Returns the reason why standard output is incomplete; `None`: it is complete, or its reader
    /// left.
    pub(crate) fn output_failure(&self) -> Option<anyhow::Error> {
        let failure = self.out.failure.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(anyhow::Error::from(failure).context("failed to write to standard output"))
    }

    /// Prints the error that ends the program, its causes, and its hint.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        let mut message = error.to_string();
        self.write_labelled(Tone::Bad, "error", &message);
        for cause in error.chain().skip(1).map(ToString::to_string) {
            // Many errors already end with the text of their cause.
            if !message.contains(&cause) {
                const BECAUSE: &str = "  because: ";
                self.write_err(&format!("{BECAUSE}{}\n", wrap_lines(&cause, BECAUSE.len())));
                message = cause;
            }
        }
        if let Some(hint) = crate::exit::complaint(error).and_then(|c| c.hint.as_deref()) {
            self.hint(hint);
        }
    }

    /// Prints a diagnostic with its own layout and colours (a suite's, with its caret).
    pub(crate) fn diagnostic(&self, rendered: &str) {
        self.write_err(&format!("{}\n", rendered.trim_end_matches('\n')));
    }

    /// Whether a diagnostic may have colours.
    pub(crate) fn colors_errors(&self) -> bool {
        self.err.color
    }

    /// Starts the progress of a run with `cases` cases, whose plan estimates `estimate` for all.
    pub(crate) fn progress(&self, cases: usize, estimate: Duration) -> Progress<'_> {
        Progress::new(self, cases, estimate)
    }

    fn write_labelled(&self, tone: Tone, label: &str, text: &str) {
        let text = wrap_lines(&shorten(text, WORDS_MAX), label.len() + 2);
        self.write_err(&format!("{}: {text}\n", self.err.paint(tone, label)));
    }

    fn write_out(&self, text: &str) {
        self.suspend_progress(|| self.out.write(text.as_bytes()));
    }

    fn write_err(&self, text: &str) {
        self.suspend_progress(|| self.err.write(redact(text).as_bytes()));
    }

    /// Hides the progress line while other text is printed.
    fn suspend_progress(&self, write: impl FnOnce()) {
        match &self.live {
            Some(live) => live.suspend(write),
            None => write(),
        }
    }
}

/// Makes text safe and wraps it. Its line breaks and indentation stay; the first line starts after
/// `indent` columns.
fn wrap_lines(text: &str, indent: usize) -> String {
    let line = |(number, line): (usize, &str)| {
        let words = line.trim_start_matches(' ');
        let spaces = line.len() - words.len();
        let before = if number == 0 { indent } else { 0 };
        format!("{}{}", &line[..spaces], wrap(words, before + spaces))
    };
    escape_text(text).lines().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

struct Stream {
    color: bool,
    sink: Mutex<Option<Box<dyn Write + Send>>>,
    /// The reason why the rest could not be written.
    failure: Mutex<Option<io::Error>>,
}

impl Stream {
    fn new(color: bool, sink: Box<dyn Write + Send>) -> Self {
        Self { color, sink: Mutex::new(Some(sink)), failure: Mutex::default() }
    }

    /// Writes; after the first failure it stops. A closed pipe is no error: nobody reads what is
    /// written.
    fn write(&self, bytes: &[u8]) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        let written = sink.as_mut().map(|sink| sink.write_all(bytes).and_then(|()| sink.flush()));
        if let Some(Err(error)) = written {
            *sink = None;
            if error.kind() != io::ErrorKind::BrokenPipe {
                *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        }
    }

    fn paint(&self, tone: Tone, text: &str) -> String {
        if self.color { format!("\x1b[{}m{text}\x1b[0m", code(tone)) } else { text.to_owned() }
    }
}

/// `--color` wins; then <https://no-color.org>; then whether the output is a terminal.
fn wants_color(color: ColorChoice, terminal: bool) -> bool {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    match color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            terminal && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Complaint;
    use anyhow::Context as _;

    #[test]
    fn errors_read_as_a_chain_with_a_hint() {
        let (printer, captured) = Printer::new_captured();
        let error = Err::<(), _>(Complaint::usage("no run `x`").hint("`kvdyno list`"))
            .context("failed to show")
            .unwrap_err();
        printer.error(&error);
        assert_eq!(
            captured.err(),
            "error: failed to show\n  because: no run `x`\nhint: `kvdyno list`\n"
        );
        assert_eq!(captured.out(), "");
    }

    #[test]
    fn a_long_message_hangs_below_its_beginning_and_its_own_lines_stay() {
        let (printer, captured) = Printer::new_captured();
        let long = "word ".repeat(20);
        printer.warning(&format!("{}\n  {long}", long.trim()));
        let output = captured.err();
        let starts: Vec<usize> = output.lines().map(|line| line.find('w').unwrap()).collect();
        assert_eq!(starts, [0, 9, 2, 2], "{output}");
    }

    #[test]
    fn escapes_from_a_record_do_not_reach_the_terminal() {
        let (printer, captured) = Printer::new_captured();
        printer.data("a\x1b[2Jb\u{202e}c\u{9b}31m");
        printer.json(&"\u{9b}31m\u{7f}").unwrap();
        assert_eq!(captured.out(), "a\\u{1b}[2Jb\\u{202e}c\\u{9b}31m\n\"\\u009b31m\\u007f\"\n");
    }

    #[test]
    fn colours_are_added_where_they_are_wanted() {
        let stream = Stream::new(true, Box::new(io::sink()));
        assert_eq!(stream.paint(Tone::Bad, "x"), "\x1b[31;1mx\x1b[0m");
        assert!(wants_color(ColorChoice::Always, false));
        assert!(!wants_color(ColorChoice::Never, true));
        assert!(!wants_color(ColorChoice::Auto, false));
    }

    #[test]
    fn a_closed_pipe_ends_the_output_and_nothing_else() {
        struct Closed(u32);
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                assert_eq!(self.0, 0, "written to after it was closed");
                self.0 += 1;
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let stream = Stream::new(false, Box::new(Closed(0)));
        stream.write(b"one");
        stream.write(b"two");
    }
}
