//! `kvdyno bisect`: finds the commit with which a phase of an engine changed.
//!
//! Git halves the suspects; each commit is judged beside GOOD in one run, by the rule of all
//! comparisons.

mod judge;
mod repository;
mod state;
mod text;

use crate::cli::BisectArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::running::runner::{Interrupt, VALGRIND};
use crate::running::{prepare, workers};
use anyhow::{Context as _, bail};
use judge::{Judge, Measured, side_of_middle};
use kvdyno_record::exit::Exit;
use kvdyno_record::units;
use repository::{Commit, Repository};
use state::{BUILDS, By, Judged, Question, State, TREE, Verdict};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

/// The number of letters in a shortened name of a commit.
const SHORT: usize = 12;

pub(crate) fn run(args: &BisectArgs, printer: &Printer) -> anyhow::Result<Exit> {
    if args.bend.count.is_some() {
        let what = "--count: expected none, as `bisect` counts first anyway";
        return Err(Complaint::usage(what).into());
    }
    if args.bend.profile {
        let what = "--profile: expected none, as `bisect` only compares";
        return Err(Complaint::usage(what)
            .hint("`versus --profile` of the commit it finds")
            .into());
    }
    let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !args.library.components().all(is_inside) {
        let what = format!("--library {}: expected a path in the clone", args.library.display());
        return Err(Complaint::usage(what)
            .hint("as `out/libengine.so`, below the repository")
            .into());
    }
    let repository = Repository::open(&args.repo)?;
    let good = repository.commit("--good", &args.good)?;
    let bad = repository.commit("--bad", &args.bad)?;
    if good == bad || !repository.is_before(&good, &bad)? {
        let what = format!("expected --good {} in the history of --bad {}", args.good, args.bad);
        return Err(Complaint::usage(what).hint("`--good` is the earlier one").into());
    }
    let name = format!("bisect_{}_{}", &good.sha[..SHORT], &bad.sha[..SHORT]);
    let dir = std::path::absolute(args.keep.runs.runs.join(name))?;
    fs::create_dir_all(dir.join(BUILDS))
        .with_context(|| format!("failed to create {}", dir.display()))?;
    let lock = fs::File::create(dir.join("lock"))?;
    if lock.try_lock().is_err() {
        let what = format!("{} is in use by another `kvdyno bisect`", dir.display());
        return Err(Complaint::usage(what).hint("wait for its end").into());
    }
    let mut state = State::open(&dir, question(args, &repository, [&good, &bad])?)?;
    let interrupt = Interrupt::listen()?;
    let mut builder = Builder { args, dir: &dir, repository: &repository, printer };
    let Some((library, _)) = builder.build(&good, &interrupt)? else {
        return Ok(Exit::Interrupted);
    };
    let library =
        library.map_err(|why| Complaint::usage(format!("--good {}: {why}", args.good)))?;
    let judge = Judge::new(args, dir.join("runs"), &library, printer)?;
    state.phase.clone_from(&judge.phase);
    let mut bisection = Bisection { builder, judge, base: library, interrupt, state: &mut state };
    let ended = bisection.find(&bad)?;
    let exit = match ended {
        Ended::Interrupted => Exit::Interrupted,
        Ended::Found(_) => Exit::Ok,
        Ended::SameEnds | Ended::Undecided(_) => Exit::Invalid,
    };
    if args.json {
        printer.json(&text::Result::new(&state, &ended))?;
    } else {
        text::print(&state, &ended, &dir, printer);
    }
    Ok(exit)
}

fn question(
    args: &BisectArgs,
    repository: &Repository,
    [good, bad]: [&Commit; 2],
) -> anyhow::Result<Question> {
    let (_, text) = prepare::read(&args.suite)?;
    let mut suite = vec![args.suite.clone(), text];
    suite.extend(args.bend.set.iter().cloned());
    suite.extend(args.bend.scale.iter().map(|scale| format!("--scale {scale}")));
    suite.extend(args.bend.media.iter().map(|medium| format!("--medium {medium}")));
    suite.extend(args.bend.no_ram_limit.then(|| "--no-ram-limit".to_owned()));
    let data_dir = args.bend.location.data_dir.as_ref();
    suite.extend(data_dir.map(|dir| format!("--data-dir {}", dir.display())));
    Ok(Question {
        repository: repository.dir().to_owned(),
        good: good.sha.clone(),
        bad: bad.sha.clone(),
        build: args.build.clone(),
        library: args.library.clone(),
        engine: args.engine.clone(),
        suite,
        phase: args.phase.clone(),
    })
}

/// How a bisection ended.
enum Ended {
    /// This commit is the first bad one.
    Found(Commit),
    /// One of these commits is the first bad one; all but the last could not be judged.
    Undecided(Vec<Commit>),
    /// GOOD and BAD do not differ.
    SameEnds,
    Interrupted,
}

/// Builds commits in the clone, and keeps their libraries.
struct Builder<'a> {
    args: &'a BisectArgs,
    dir: &'a Path,
    repository: &'a Repository,
    printer: &'a Printer,
}

/// A library, or the reason why there is none; and the duration of the build in ns.
type Build = (Result<PathBuf, String>, u64);

impl Builder<'_> {
    /// Builds a commit, unless its library is stored already. None: it was interrupted.
    fn build(&mut self, commit: &Commit, interrupt: &Interrupt) -> anyhow::Result<Option<Build>> {
        let stored = self.dir.join(BUILDS).join(format!("{}.so", commit.sha));
        if stored.is_file() {
            return Ok(Some((Ok(stored), 0)));
        }
        let tree = self.dir.join(TREE);
        self.repository.clone_into(&tree)?;
        repository::check_out(&tree, &commit.sha)?;
        self.printer.note(&format!("building {}", text::format_commit(commit)));
        let begun = Instant::now();
        let log = stored.with_extension("log");
        let built = repository::build(&tree, &self.args.build, &self.args.library, &log)?;
        if interrupt.is_requested() {
            return Ok(None);
        }
        let took_ns = begun.elapsed().as_nanos() as u64;
        let library = match built {
            Ok(library) => {
                let partial = stored.with_extension("partial");
                fs::copy(&library, &partial).with_context(|| library.display().to_string())?;
                fs::rename(&partial, &stored)?;
                Ok(stored)
            }
            Err(why) => Err(format!("{why} ({})", log.display())),
        };
        self.printer.note(&format!("built in {}", units::duration(took_ns)));
        Ok(Some((library, took_ns)))
    }
}

/// A bisection in progress.
struct Bisection<'a> {
    builder: Builder<'a>,
    judge: Judge<'a>,
    /// GOOD's library.
    base: PathBuf,
    interrupt: Interrupt,
    state: &'a mut State,
}

impl Bisection<'_> {
    fn find(&mut self, bad: &Commit) -> anyhow::Result<Ended> {
        if self.state.by.is_none() {
            match self.compare_ends(bad)? {
                Some(true) => {}
                Some(false) => return Ok(Ended::SameEnds),
                None => return Ok(Ended::Interrupted),
            }
        }
        loop {
            let suspects = self.suspects()?;
            let skipped = |sha: &str| {
                self.state.with_verdict(Verdict::Skipped).any(|judged| judged.sha == sha)
            };
            let first_bad =
                self.state.first_bad().map(|judged| judged.sha.clone()).unwrap_or_default();
            let open: Vec<&String> =
                suspects.iter().filter(|sha| **sha != first_bad && !skipped(sha)).collect();
            let Some(next) = open.first() else {
                let commits = suspects.iter().map(|sha| self.commit(sha));
                let mut commits = commits.collect::<Result<Vec<Commit>, _>>()?;
                return Ok(match commits.len() {
                    1 => Ended::Found(commits.remove(0)),
                    _ => Ended::Undecided(commits),
                });
            };
            let left = f64::from(open.len() as u32 + 1).log2().ceil();
            let commit = self.commit(next)?;
            self.builder
                .printer
                .note(&format!("{} suspects, about {left} more steps", suspects.len()));
            if !self.judge(&commit)? {
                return Ok(Ended::Interrupted);
            }
        }
    }

    /// Whether GOOD and BAD differ, by instructions or else by rate; none: it was interrupted.
    fn compare_ends(&mut self, bad: &Commit) -> anyhow::Result<Option<bool>> {
        let Some((library, build_ns)) = self.builder.build(bad, &self.interrupt)? else {
            return Ok(None);
        };
        let library = library
            .map_err(|why| Complaint::usage(format!("--bad {}: {why}", self.builder.args.bad)))?;
        let counts = workers::is_installed(VALGRIND);
        let ways = [Some(By::Instructions).filter(|_| counts), Some(By::Rate)];
        let mut failed = None;
        for by in ways.into_iter().flatten() {
            let libraries = [self.base.as_path(), &library];
            let compared = self.judge.compare_until(libraries, by, |measured| measured.differs)?;
            failed = None;
            match compared {
                None => return Ok(None),
                Some(Ok(measured)) if measured.differs => {
                    self.state.by = Some(by);
                    self.record_verdict(judged_commit(bad, Verdict::Bad, build_ns, Ok(measured)))?;
                    return Ok(Some(true));
                }
                Some(Ok(measured)) => {
                    let words = text::ratio(measured.ratio);
                    self.builder.printer.note(&format!(
                        "no difference of the ends was found {}: {words}",
                        by.description()
                    ));
                }
                Some(Err(why)) => {
                    self.builder.printer.warning(&format!("{}: {why}", by.description()));
                    failed = Some(why);
                }
            }
        }
        match failed {
            Some(why) => bail!("cannot compare GOOD with BAD: {why}"),
            None => Ok(Some(false)),
        }
    }

    /// Builds and judges a commit. False: it was interrupted.
    fn judge(&mut self, commit: &Commit) -> anyhow::Result<bool> {
        let Some((library, build_ns)) = self.builder.build(commit, &self.interrupt)? else {
            return Ok(false);
        };
        let (Some(by), Some(change)) = (self.state.by, self.change()) else {
            bail!(
                "{}: expected the ratio of BAD to GOOD, found none; remove that directory",
                self.builder.dir.display()
            );
        };
        let library = match library {
            Ok(library) => library,
            Err(why) => {
                self.record_verdict(judged_commit(commit, Verdict::Skipped, build_ns, Err(why)))?;
                return Ok(true);
            }
        };
        let side = |measured: &Measured| side_of_middle(measured.ratio, change);
        let libraries = [self.base.as_path(), &library];
        let compared =
            self.judge.compare_until(libraries, by, |measured| side(measured).is_some())?;
        let Some(measured) = compared else { return Ok(false) };
        let verdict = measured.as_ref().ok().and_then(side).unwrap_or(Verdict::Skipped);
        self.record_verdict(judged_commit(commit, verdict, build_ns, measured))?;
        Ok(true)
    }

    /// The ratio of BAD's figure to GOOD's; none: not measured.
    fn change(&self) -> Option<f64> {
        self.state.commits.first()?.ratio.map(|[ratio, ..]| ratio)
    }

    fn record_verdict(&mut self, judged: Judged) -> anyhow::Result<()> {
        self.builder.printer.note(&text::step(&judged));
        self.state.commits.push(judged);
        self.state.write(self.builder.dir)
    }

    /// The commits that may be the first bad one.
    fn suspects(&self) -> anyhow::Result<Vec<String>> {
        let good = self.state.with_verdict(Verdict::Good).map(|judged| judged.sha.as_str());
        let good: Vec<&str> =
            std::iter::once(self.state.question.good.as_str()).chain(good).collect();
        let bad = self.state.first_bad().map_or("", |judged| judged.sha.as_str());
        self.builder.repository.suspects(&good, bad)
    }

    fn commit(&self, sha: &str) -> Result<Commit, Complaint> {
        self.builder.repository.commit("commit", sha)
    }
}

fn judged_commit(
    commit: &Commit,
    verdict: Verdict,
    build_ns: u64,
    measured: Result<Measured, String>,
) -> Judged {
    let undecided = "its interval contains the middle between GOOD and BAD";
    let why = match (&measured, verdict) {
        (Err(why), _) => Some(why.clone()),
        (Ok(_), Verdict::Skipped) => Some(undecided.to_owned()),
        (Ok(_), Verdict::Good | Verdict::Bad) => None,
    };
    let measured = measured.ok();
    Judged {
        sha: commit.sha.clone(),
        subject: commit.subject.clone(),
        verdict,
        why,
        ratio: measured.as_ref().map(|measured| measured.ratio),
        build_ns,
        run: measured.map(|measured| measured.run),
    }
}
