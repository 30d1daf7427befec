//! `serve`: what can be typed.

use super::RunsArgs;
use clap::Args;

/// `kvdyno serve`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  kvdyno serve                      open http://127.0.0.1:7333/ in a browser
  kvdyno serve --runs /srv/kvdyno/runs --port 8080
  kvdyno serve --port 0             any free port; its address is printed
  ssh -L 7333:127.0.0.1:7333 HOST   and a browser here shows the runs of HOST

Shows the list of runs, the report of each, a run at work as it gets on, and two runs compared. The
same as data: /runs.json, /runs/RUN.json, /compare/BASE/NEW.json. It keeps nothing and changes
nothing: every answer is read from the runs folder. Only this machine can reach it, and whoever has
an account here; there is no option for more. Ctrl-C ends it.

Looking costs CPU: a page of a run at work asks every two seconds. Where that may disturb what is
being measured, look when it is done.")]
pub struct ServeArgs {
    /// Where runs are kept.
    #[command(flatten)]
    pub runs: RunsArgs,
    /// The port; 0: any that is free
    #[arg(long, value_name = "N", default_value_t = 7333)]
    pub port: u16,
}
