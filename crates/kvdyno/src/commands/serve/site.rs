//! The replies: each is read from the directory of runs on request.

use super::super::compare;
use super::guard;
use super::list::RunList;
use super::pages::{self, Pages};
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
use kvdyno_record::files::RunFolder;
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
        let (template, policy) = reply::served(TEMPLATE);
        Self { runs, port, list: RunList::default(), pages: Pages::default(), template, policy }
    }

    /// Refusals and unknown paths get an immediate reply.
    pub(super) fn refusal(&self, request: &Request<()>) -> Option<Reply> {
        guard::refusal(request, self.port)
            .or_else(|| route(request.uri().path()).is_none().then(nothing))
    }

    /// The quick replies: lists, progress of a run, and cached pages.
    pub(super) fn at_hand(&self, request: &Request<()>) -> Option<Reply> {
        let (subject, form) = route(request.uri().path())?;
        match &subject {
            Subject::Runs => Some(shown(self.formed(Ok(Some(self.list())), form))),
            Subject::Live(name) => Some(shown(self.formed(self.live(name), form))),
            Subject::Report(name) => match self.find(name) {
                Some(run) => self.pages.get(&run.path, form),
                None => self.redirect(name, form),
            },
            Subject::Metrics => {
                let newest = runs::folders(&self.runs).pop();
                newest.and_then(|run| self.pages.get(&run, form))
            }
            Subject::Versus(..) => None,
        }
    }

    /// The other replies: they read records and render pages.
    pub(super) fn rendered(&self, request: &Request<()>) -> Reply {
        match route(request.uri().path()) {
            Some((Subject::Report(name), form)) => shown(self.report(&name, form)),
            Some((Subject::Metrics, form)) => shown(self.metrics(form).map(Some)),
            Some((Subject::Versus(base, new), form)) => {
                let all = request.uri().query() == Some("all");
                shown(self.formed(self.versus(&base, &new, all), form))
            }
            Some((Subject::Runs | Subject::Live(_), _)) | None => nothing(),
        }
    }

    /// The run of this id in the list of runs.
    fn find(&self, id: &str) -> Option<RunFolder> {
        let folders = runs::folders(&self.runs);
        let path = folders.into_iter().find(|path| runs::id(path) == id)?;
        RunFolder::open(path).ok()
    }

    /// The run of this id or name, or the latest, in the list of runs.
    fn find_by_name(&self, name: &str) -> Option<RunFolder> {
        let folders = runs::folders(&self.runs);
        RunFolder::open(runs::find_by_name(name, &folders)?.clone()).ok()
    }

    /// From a name to the id: a page asks for more of its run, and another run may get the name.
    fn redirect(&self, name: &str, form: Form) -> Option<Reply> {
        let id = runs::id(&self.find_by_name(name)?.path);
        let suffix = if form == Form::Json { ".json" } else { "" };
        Some(Reply::redirect(&format!("/runs/{}{suffix}", encode(&id))))
    }

    /// The newest first.
    fn list(&self) -> RunsData {
        let mut folders = runs::folders(&self.runs);
        folders.reverse();
        let folder = std::path::absolute(&self.runs).unwrap_or_else(|_| self.runs.clone());
        RunsData::new(&folder, self.list.entries(&folders))
    }

    fn report(&self, name: &str, form: Form) -> Read<Reply> {
        let Some(folder) = self.find(name) else { return Ok(None) };
        // Another request may have rendered it meanwhile.
        if let Some(page) = self.pages.get(&folder.path, form) {
            return Ok(Some(page));
        }
        let sealed = pages::sealed_at(&folder.path);
        // The first read is older: a case that ends meanwhile appears next time.
        let live = live(&folder)?;
        let data = PageData { live: Some(live), ..PageData::read(&folder)? };
        let reply = self.formed(Ok(Some(data)), form)?;
        if let (Some(sealed), Some(reply)) = (sealed, &reply) {
            self.pages.keep(&folder.path, form, sealed, reply);
        }
        Ok(reply)
    }

    /// The newest run: its progress, and its figures unless it is at work.
    fn metrics(&self, form: Form) -> anyhow::Result<Reply> {
        let reply = |text: String| Reply::ok(OPENMETRICS, text.into_bytes());
        let Some(path) = runs::folders(&self.runs).pop() else {
            return Ok(reply(openmetrics::empty()));
        };
        let folder = RunFolder::open(path)?;
        let sealed = pages::sealed_at(&folder.path);
        let live = live(&folder)?;
        let is_at_work = live.state == State::Running;
        let summary = (!is_at_work).then(|| Summary::read(&folder)).transpose()?;
        let name = runs::id(&folder.path);
        let reply = reply(openmetrics::served(&name, &live, summary.as_ref()));
        if let Some(sealed) = sealed {
            self.pages.keep(&folder.path, form, sealed, &reply);
        }
        Ok(reply)
    }

    fn live(&self, name: &str) -> Read<Live> {
        self.find(name).map(|folder| live(&folder)).transpose()
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
                let hint = compare::refused(&refusal).hint;
                Err(Refused { message: refusal.to_string(), hint })
            }
        };
        let profiles = versus.as_ref().map(|versus| list_profiles(&sides, versus));
        let profiles = profiles.unwrap_or_default();
        Ok(Some(VersusData::new(versus).with_profiles(profiles).between(base, new, all)))
    }

    /// The runs of a side: one, or several between commas.
    fn records(&self, names: &str) -> Read<Vec<Record>> {
        let Some(folders) =
            names.split(',').map(|name| self.find_by_name(name)).collect::<Option<Vec<_>>>()
        else {
            return Ok(None);
        };
        Ok(Some(folders.iter().map(Record::read).collect::<Result<_, _>>()?))
    }

    fn formed<T: Serialize>(&self, data: Read<T>, form: Form) -> Read<Reply> {
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

/// The progress of a run, from its files and from its lock.
fn live(folder: &RunFolder) -> anyhow::Result<Live> {
    let evidence = Evidence::read(folder)?;
    let state = State::new(evidence.complete, runs::is_at_work(folder));
    let left_ns = resume::expected_ns(&evidence, &evidence.left());
    Ok(Live::read(folder, &evidence, state, left_ns)?)
}

/// The subject, or the reason why it cannot be shown.
fn shown(made: Read<Reply>) -> Reply {
    match made {
        Ok(reply) => reply.unwrap_or_else(nothing),
        Err(error) => {
            let text = format!("cannot show this: {error:#}");
            Reply::text(StatusCode::INTERNAL_SERVER_ERROR, &text)
        }
    }
}

fn nothing() -> Reply {
    Reply::text(StatusCode::NOT_FOUND, "unknown path; / lists the runs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{CONTENT_TYPE, LOCATION};
    use kvdyno_analysis::fixture::Fixture;

    #[test]
    fn a_run_is_found_by_its_id_its_name_and_as_the_latest() {
        let folder = tempfile::tempdir().unwrap();
        let site = Site::new(folder.path().to_owned(), 7333);
        let mut named = Fixture::new();
        named.run.name = Some("new cache".to_owned());
        let older = "2026-11-20T10-15-02Z_fixture_7f3a";
        named.write(&folder.path().join(older));
        let newer = "2026-11-21T10-15-02Z_fixture_7f3b";
        Fixture::new().write(&folder.path().join(newer));
        let find_id = |name: &str| site.find_by_name(name).map(|run| runs::id(&run.path));
        assert_eq!(find_id("new cache").as_deref(), Some(older));
        assert_eq!(find_id(older).as_deref(), Some(older));
        assert_eq!(find_id("latest").as_deref(), Some(newer));
        assert_eq!(find_id("../x"), None);
        let request = Request::builder().uri("/runs/new%20cache.json").body(()).unwrap();
        let response = site.at_hand(&request).unwrap().into_response(&site.policy);
        assert_eq!(response.status(), StatusCode::FOUND);
        assert_eq!(response.headers()[LOCATION], format!("/runs/{older}.json"));
    }

    #[test]
    fn metrics_are_those_of_the_newest_run() {
        let folder = tempfile::tempdir().unwrap();
        let site = Site::new(folder.path().to_owned(), 7333);
        let request = Request::builder().uri("/metrics").body(()).unwrap();
        assert!(site.at_hand(&request).is_none());
        assert_eq!(site.rendered(&request).bytes(), openmetrics::empty().len());
        Fixture::new().write(&folder.path().join("2026-11-20T10-15-02Z_fixture_7f3a"));
        let reply = site.rendered(&request);
        assert_eq!(reply.status, StatusCode::OK);
        assert!(reply.bytes() > 10_000, "{}", reply.bytes());
        let kept = site.at_hand(&request).expect("a sealed run is kept");
        let response = kept.into_response(&site.policy);
        assert_eq!(response.headers()[CONTENT_TYPE], OPENMETRICS);
        // A newer run that was interrupted has its progress and its figures.
        let mut partial = Fixture::new();
        partial.cases.truncate(4);
        partial.write_partial(&folder.path().join("2026-11-21T10-15-02Z_fixture_7f3b"));
        assert!(site.at_hand(&request).is_none());
        let fewer = site.rendered(&request);
        assert_eq!(fewer.status, StatusCode::OK);
        assert!(fewer.bytes() < reply.bytes());
    }
}
