//! The replies: each is read from the directory of runs on request.

use super::super::compare;
use super::guard;
use super::list::RunList;
use super::pages::{PageVersion, Pages};
use super::reply::{self, Reply};
use super::route::{Form, Subject, encode, route};
use crate::records::runs;
use crate::running::resume;
use hyper::header::HeaderValue;
use hyper::{Request, StatusCode};
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::evidence::Evidence;
use kvdyno_analysis::judge::versus::profile::list_profiles;
use kvdyno_analysis::judge::versus::{FigureChoice, Question, Record, Sides, Versus};
use kvdyno_record::files::RunDir;
use kvdyno_render::openmetrics;
use kvdyno_render::page::{Live, PageData, Refused, RunsData, State, TEMPLATE, VersusData, html};
use serde::Serialize;
use std::path::PathBuf;

pub(super) struct Site {
    runs: PathBuf,
    port: u16,
    list: RunList,
    pages: Pages,
    template: String,
    /// What a browser may do with a reply.
    pub(super) policy: HeaderValue,
}

/// The type of the reply at /metrics.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Read<T> = anyhow::Result<Option<T>>;

impl Site {
    pub(super) fn new(runs: PathBuf, port: u16) -> Self {
        let (template, policy) = reply::split_policy(TEMPLATE);
        Self { runs, port, list: RunList::default(), pages: Pages::default(), template, policy }
    }

    /// Returns the immediate reply to a refused request or an unknown path; none: it is valid.
    pub(super) fn refusal(&self, request: &Request<()>) -> Option<Reply> {
        guard::refusal(request, self.port)
            .or_else(|| route(request.uri().path()).is_none().then(not_found_reply))
    }

    /// Returns a quick reply: a list, the progress of a run, a cached page. None: it takes longer.
    pub(super) fn quick_reply(&self, request: &Request<()>) -> Option<Reply> {
        let (subject, form) = route(request.uri().path())?;
        match &subject {
            Subject::Runs => Some(reply_or_error(self.format_reply(Ok(Some(self.list())), form))),
            Subject::Live(name) => Some(reply_or_error(self.format_reply(self.live(name), form))),
            Subject::Report(name) => match self.find(name) {
                Some(run) => self.pages.get(&run.path, form),
                None => self.redirect(name, form),
            },
            Subject::Metrics => {
                let newest = runs::dirs(&self.runs).pop();
                newest.and_then(|run| self.pages.get(&run, form))
            }
            Subject::Versus(..) => None,
        }
    }

    /// Returns any other reply: it reads records and renders a page.
    pub(super) fn render_reply(&self, request: &Request<()>) -> Reply {
        match route(request.uri().path()) {
            Some((Subject::Report(name), form)) => reply_or_error(self.report(&name, form)),
            Some((Subject::Metrics, form)) => reply_or_error(self.metrics(form).map(Some)),
            Some((Subject::Versus(base, new), form)) => {
                let all = request.uri().query() == Some("all");
                reply_or_error(self.format_reply(self.versus(&base, &new, all), form))
            }
            Some((Subject::Runs | Subject::Live(_), _)) | None => not_found_reply(),
        }
    }

    /// The run of this id in the list of runs.
    fn find(&self, id: &str) -> Option<RunDir> {
        let dirs = runs::dirs(&self.runs);
        let path = dirs.into_iter().find(|path| runs::id(path) == id)?;
        RunDir::open(path).ok()
    }

    /// The run of this id or name, or the latest, in the list of runs.
    fn find_by_name(&self, name: &str) -> Option<RunDir> {
        let dirs = runs::dirs(&self.runs);
        RunDir::open(runs::find_by_name(name, &dirs)?.clone()).ok()
    }

    /// Redirects from a name to the id: a page requests more of its run, and another run may get
    /// the name.
    fn redirect(&self, name: &str, form: Form) -> Option<Reply> {
        let id = runs::id(&self.find_by_name(name)?.path);
        let suffix = if form == Form::Json { ".json" } else { "" };
        Some(Reply::redirect(&format!("/runs/{}{suffix}", encode(&id))))
    }

    /// Returns the list of runs, the newest first.
    fn list(&self) -> RunsData {
        let mut dirs = runs::dirs(&self.runs);
        dirs.reverse();
        let dir = std::path::absolute(&self.runs).unwrap_or_else(|_| self.runs.clone());
        RunsData::new(&dir, self.list.entries(&dirs))
    }

    fn report(&self, name: &str, form: Form) -> Read<Reply> {
        let Some(dir) = self.find(name) else { return Ok(None) };
        // Another request may have rendered it meanwhile.
        if let Some(page) = self.pages.get(&dir.path, form) {
            return Ok(Some(page));
        }
        let version = PageVersion::read(&dir.path);
        // The progress is read first: a case that ends meanwhile appears next time.
        let live = read_live(&dir)?;
        let data = PageData { live: Some(live), ..PageData::read(&dir)? };
        let reply = self.format_reply(Ok(Some(data)), form)?;
        if let (Some(version), Some(reply)) = (version, &reply) {
            self.pages.insert(&dir.path, form, version, reply);
        }
        Ok(reply)
    }

    /// Returns the progress of the newest run, and its figures unless it is at work.
    fn metrics(&self, form: Form) -> anyhow::Result<Reply> {
        let reply = |text: String| Reply::ok(OPENMETRICS, text.into_bytes());
        let Some(path) = runs::dirs(&self.runs).pop() else {
            return Ok(reply(openmetrics::empty()));
        };
        let dir = RunDir::open(path)?;
        let version = PageVersion::read(&dir.path);
        let live = read_live(&dir)?;
        let is_at_work = live.state == State::Running;
        let summary = (!is_at_work).then(|| Summary::read(&dir)).transpose()?;
        let name = runs::id(&dir.path);
        let reply = reply(openmetrics::format_exposition(&name, &live, summary.as_ref()));
        if let Some(version) = version {
            self.pages.insert(&dir.path, form, version, &reply);
        }
        Ok(reply)
    }

    fn live(&self, name: &str) -> Read<Live> {
        self.find(name).map(|dir| read_live(&dir)).transpose()
    }

    fn versus(&self, base: &str, new: &str, all: bool) -> Read<VersusData> {
        let (Some(base_runs), Some(new_runs)) = (self.records(base)?, self.records(new)?) else {
            return Ok(None);
        };
        let within = base_runs[0].evidence.plan.within;
        let sides = Sides::Runs { base: &base_runs, new: &new_runs };
        let figures = if all { FigureChoice::All } else { FigureChoice::Usual };
        let question = Question { figures, within, gate: None };
        let versus = match Versus::compare(&sides, &question) {
            Ok(mut versus) => {
                versus.explain(&sides);
                Ok(versus)
            }
            Err(refusal) => {
                let hint = compare::refusal_complaint(&refusal).hint;
                Err(Refused { message: refusal.to_string(), hint })
            }
        };
        let profiles = versus.as_ref().map(|versus| list_profiles(&sides, versus));
        let profiles = profiles.unwrap_or_default();
        Ok(Some(VersusData::new(versus).with_profiles(profiles).with_runs(base, new, all)))
    }

    /// The runs of a side: one, or several between commas.
    fn records(&self, names: &str) -> Read<Vec<Record>> {
        let Some(dirs) =
            names.split(',').map(|name| self.find_by_name(name)).collect::<Option<Vec<_>>>()
        else {
            return Ok(None);
        };
        Ok(Some(dirs.iter().map(Record::read).collect::<Result<_, _>>()?))
    }

    fn format_reply<T: Serialize>(&self, data: Read<T>, form: Form) -> Read<Reply> {
        let Some(data) = data? else { return Ok(None) };
        Ok(Some(match form {
            Form::Page => {
                let page = html(&self.template, &data)?;
                Reply::ok("text/html; charset=utf-8", page.into_bytes())
            }
            // Only /metrics is text, and it has no data.
            Form::Json | Form::Text => Reply::ok("application/json", serde_json::to_vec(&data)?),
        }))
    }
}

/// Reads the progress of a run from its files and from its lock.
fn read_live(dir: &RunDir) -> anyhow::Result<Live> {
    let evidence = Evidence::read(dir)?;
    let state = State::new(evidence.complete, runs::is_at_work(dir));
    let left_ns = resume::expected_ns(&evidence, &evidence.unfinished_cases());
    Ok(Live::read(dir, &evidence, state, left_ns)?)
}

/// Returns the reply, or one with the reason why the subject cannot be shown.
fn reply_or_error(result: Read<Reply>) -> Reply {
    match result {
        Ok(reply) => reply.unwrap_or_else(not_found_reply),
        Err(error) => {
            let text = format!("cannot show this: {error:#}");
            Reply::text(StatusCode::INTERNAL_SERVER_ERROR, &text)
        }
    }
}

fn not_found_reply() -> Reply {
    Reply::text(StatusCode::NOT_FOUND, "unknown path; / lists the runs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{CONTENT_TYPE, LOCATION};
    use kvdyno_analysis::fixture::Fixture;

    #[test]
    fn a_run_is_found_by_its_id_its_name_and_as_the_latest() {
        let dir = tempfile::tempdir().unwrap();
        let site = Site::new(dir.path().to_owned(), 7333);
        let mut fixture = Fixture::new();
        fixture.run.name = Some("new cache".to_owned());
        let older = "2026-11-20T10-15-02Z_fixture_7f3a";
        fixture.write(&dir.path().join(older));
        let newer = "2026-11-21T10-15-02Z_fixture_7f3b";
        Fixture::new().write(&dir.path().join(newer));
        let find_id = |name: &str| site.find_by_name(name).map(|run| runs::id(&run.path));
        assert_eq!(find_id("new cache").as_deref(), Some(older));
        assert_eq!(find_id(older).as_deref(), Some(older));
        assert_eq!(find_id("latest").as_deref(), Some(newer));
        assert_eq!(find_id("../x"), None);
        let request = Request::builder().uri("/runs/new%20cache.json").body(()).unwrap();
        let response = site.quick_reply(&request).unwrap().into_response(&site.policy);
        assert_eq!(response.status(), StatusCode::FOUND);
        assert_eq!(response.headers()[LOCATION], format!("/runs/{older}.json"));
    }

    #[test]
    fn metrics_are_those_of_the_newest_run() {
        let dir = tempfile::tempdir().unwrap();
        let site = Site::new(dir.path().to_owned(), 7333);
        let request = Request::builder().uri("/metrics").body(()).unwrap();
        assert!(site.quick_reply(&request).is_none());
        assert_eq!(site.render_reply(&request).bytes(), openmetrics::empty().len());
        Fixture::new().write(&dir.path().join("2026-11-20T10-15-02Z_fixture_7f3a"));
        let reply = site.render_reply(&request);
        assert_eq!(reply.status, StatusCode::OK);
        assert!(reply.bytes() > 10_000, "{}", reply.bytes());
        let cached = site.quick_reply(&request).expect("a sealed run is kept");
        let response = cached.into_response(&site.policy);
        assert_eq!(response.headers()[CONTENT_TYPE], OPENMETRICS);
        // A newer run that was interrupted has its progress and its figures.
        let mut partial = Fixture::new();
        partial.cases.truncate(4);
        partial.write_partial(&dir.path().join("2026-11-21T10-15-02Z_fixture_7f3b"));
        assert!(site.quick_reply(&request).is_none());
        let fewer = site.render_reply(&request);
        assert_eq!(fewer.status, StatusCode::OK);
        assert!(fewer.bytes() < reply.bytes());
    }
}
