//! A cache of reports of sealed runs: such a run does not change, and rendering a large one takes
//! seconds.

use super::reply::Reply;
use super::route::Form;
use kvdyno_record::torture;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The most bytes of all pages together: a page of eight engines has 1.5 MB.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// The most recently used pages.
#[derive(Default)]
pub(super) struct Pages(Mutex<Vec<CachedPage>>);

struct CachedPage {
    run: PathBuf,
    form: Form,
    version: PageVersion,
    reply: Reply,
}

/// What a page was made of: the time of the run's seal, and of the newest torture record beside it,
/// whose verdicts the page has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct PageVersion {
    sealed: SystemTime,
    tortured: Option<SystemTime>,
}

impl PageVersion {
    /// The version of a run's page now; none: the run is not sealed.
    pub(super) fn read(run: &Path) -> Option<Self> {
        let runs = run.parent().and_then(|runs| runs.read_dir().ok()).into_iter().flatten();
        let torture = runs.flatten().map(|entry| entry.path().join(torture::FILE));
        let tortured = torture.filter_map(|file| change_time(&file)).max();
        Some(Self { sealed: seal_time(run)?, tortured })
    }
}

impl Pages {
    /// The page of a run in its current state.
    pub(super) fn get(&self, run: &Path, form: Form) -> Option<Reply> {
        let version = PageVersion::read(run)?;
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_page =
            |page: &CachedPage| page.run == run && page.form == form && page.version == version;
        let index = pages.iter().position(is_page)?;
        // The page moves to the end of the list: pages are evicted from its beginning.
        pages[index..].rotate_left(1);
        pages.last().map(|page| page.reply.clone())
    }

    /// Stores this version of a run's page, and replaces an older one.
    pub(super) fn insert(&self, run: &Path, form: Form, version: PageVersion, reply: &Reply) {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|page| page.run != run || page.form != form);
        pages.push(CachedPage { run: run.to_owned(), form, version, reply: reply.clone() });
        let bytes =
            |pages: &[CachedPage]| pages.iter().map(|page| page.reply.bytes()).sum::<usize>();
        while bytes(&pages) > KEPT_BYTES_MAX {
            pages.remove(0);
        }
    }
}

/// The time of a run's seal; none: it is not sealed.
pub(super) fn seal_time(run: &Path) -> Option<SystemTime> {
    change_time(&run.join("complete"))
}

fn change_time(file: &Path) -> Option<SystemTime> {
    file.metadata().and_then(|file| file.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_kept_is_of_the_last_seal_and_has_a_bound() {
        let dir = tempfile::tempdir().unwrap();
        let page = |byte: u8, bytes: usize| Reply::ok("text/html", vec![byte; bytes]);
        let run = |name: &str| {
            let run = dir.path().join(name);
            fs::create_dir(&run).unwrap();
            fs::write(run.join("complete"), "").unwrap();
            run
        };
        let (pages, old, new) = (Pages::default(), run("old"), run("new"));
        let now = |run: &Path| PageVersion::read(run).unwrap();
        assert!(pages.get(&old, Form::Page).is_none());
        pages.insert(&old, Form::Page, now(&old), &page(1, KEPT_BYTES_MAX / 2));
        pages.insert(&old, Form::Json, now(&old), &page(2, 10));
        assert_eq!(pages.get(&old, Form::Page).unwrap().bytes(), KEPT_BYTES_MAX / 2);
        assert_eq!(pages.get(&old, Form::Json).unwrap().bytes(), 10);
        // There is no room for both pages: the least recently used one is evicted.
        pages.insert(&new, Form::Page, now(&new), &page(3, KEPT_BYTES_MAX / 2));
        assert!(pages.get(&old, Form::Page).is_none());
        assert!(pages.get(&old, Form::Json).is_some());
        assert!(pages.get(&new, Form::Page).is_some());
        // A page that does not fit alone is not stored.
        pages.insert(&old, Form::Page, now(&old), &page(4, KEPT_BYTES_MAX + 1));
        assert!(pages.get(&old, Form::Page).is_none());
        pages.insert(&new, Form::Json, now(&new), &page(5, 1));
        fs::create_dir(dir.path().join("torture")).unwrap();
        fs::write(dir.path().join("torture/torture.json"), "{}").unwrap();
        assert!(pages.get(&new, Form::Json).is_none(), "its engine was tortured");
        pages.insert(&new, Form::Json, now(&new), &page(6, 1));
        assert!(pages.get(&new, Form::Json).is_some());
        let file = fs::File::options().write(true).open(new.join("complete")).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(pages.get(&new, Form::Json).is_none(), "it was sealed again");
        fs::remove_file(new.join("complete")).unwrap();
        assert!(pages.get(&new, Form::Json).is_none());
    }
}
