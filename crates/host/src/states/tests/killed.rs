//! Tests with makers in other processes, which are killed.

use super::*;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

/// The store's directory, for a test that runs as a maker.
const DIR: &str = "KVDYNO_TEST_STATES";

/// Runs a test of this binary in another process, as a maker in this store.
struct Maker(Child);

impl Maker {
    fn start(test: &str, states: &States) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &format!("states::tests::killed::{test}"), "--nocapture"]);
        command.env(DIR, states.dir()).stdout(Stdio::piped()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    /// Waits until the maker prints a line with this end.
    fn wait_for(&mut self, end: &str) {
        let mut lines = BufReader::new(self.0.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with(end)), "it ended before `{end}`");
    }
}

impl Drop for Maker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a directory for databases, and the store; `None`: this process is no maker.
fn as_maker() -> Option<(PathBuf, States)> {
    let dir = PathBuf::from(std::env::var_os(DIR)?);
    let states = States::open(&dir).unwrap();
    Some((dir.with_file_name(format!("databases-{}", std::process::id())), states))
}

#[test]
fn a_killed_makers_temporary_is_removed_and_a_live_ones_is_not() {
    if let Some((databases, states)) = as_maker() {
        let mut go_on = |_| {
            println!("\nin the making");
            std::io::stdout().flush().unwrap();
            std::thread::sleep(Duration::from_secs(600));
            true
        };
        states.keep(description(ID), &database_in(&databases), None, &mut go_on).unwrap();
    }
    let (_dir, states) = store();
    let test = "a_killed_makers_temporary_is_removed_and_a_live_ones_is_not";
    let mut maker = Maker::start(test, &states);
    maker.wait_for("in the making");
    let is_there = || names(states.dir()).iter().any(|name| name.starts_with("making-"));
    assert!(is_there());
    States::open(states.dir()).unwrap();
    assert!(is_there(), "its maker lives");
    assert!(states.find(ID).unwrap().is_none() && states.list().unwrap().is_empty());
    drop(maker);
    assert!(is_there());
    States::open(states.dir()).unwrap();
    assert!(names(states.dir()).is_empty());
}

/// A maker that has not finished its database yet, as of a copy of somebody's.
#[test]
fn what_a_killed_maker_has_begun_is_removed() {
    if let Some((_, states)) = as_maker() {
        let making = states.begin(ID).unwrap();
        fs::create_dir(making.database()).unwrap();
        fs::write(making.database().join("data"), "half").unwrap();
        fs::write(making.keys(), "").unwrap();
        println!("\nbegun");
        std::io::stdout().flush().unwrap();
        std::thread::sleep(Duration::from_secs(600));
    }
    let (_dir, states) = store();
    let mut maker = Maker::start("what_a_killed_maker_has_begun_is_removed", &states);
    maker.wait_for("begun");
    States::open(states.dir()).unwrap();
    assert_eq!(names(states.dir()).len(), 1, "its maker lives");
    drop(maker);
    States::open(states.dir()).unwrap();
    assert!(names(states.dir()).is_empty());
    drop(states.begin(ID).unwrap());
    assert!(names(states.dir()).is_empty(), "and without a kill its maker removes it");
    assert!(states.begin("../0123456789abcdef").is_err());
}

/// The maker keeps and removes until it is killed, at another moment each time.
#[test]
fn whenever_a_maker_is_killed_its_states_are_whole_or_not_there() {
    if let Some((databases, states)) = as_maker() {
        println!("\nat work");
        loop {
            drop(keep(&states, ID, &database_in(&databases)).unwrap());
            states.remove(ID).unwrap();
        }
    }
    let (_dir, states) = store();
    let test = "whenever_a_maker_is_killed_its_states_are_whole_or_not_there";
    for round in 0..24 {
        let mut maker = Maker::start(test, &states);
        maker.wait_for("at work");
        std::thread::sleep(Duration::from_micros(700 * round));
        drop(maker);
        let states = States::open(states.dir()).unwrap();
        let names = names(states.dir());
        assert!(names.iter().all(|name| name == ID), "{names:?}");
        if states.find(ID).unwrap().is_some() {
            states.check(ID, &mut |_| true).unwrap();
            states.remove(ID).unwrap();
        }
    }
}
