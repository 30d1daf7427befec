//! Reports of sealed runs as they were rendered: nothing changes in such a run, and a large one
//! takes seconds.

use super::reply::Reply;
use super::route::Form;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The bytes of all together: a page of eight engines has 1.5 MB.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// Those that were asked for last.
#[derive(Default)]
pub(super) struct Pages(Mutex<Vec<CachedPage>>);

struct CachedPage {
    run: PathBuf,
    form: Form,
    /// One that was sealed anew since is another.
    sealed: SystemTime,
    reply: Reply,
}

impl Pages {
    /// What was rendered of a run in the state that it is in.
    pub(super) fn get(&self, run: &Path, form: Form) -> Option<Reply> {
        let sealed = sealed_at(run)?;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same =
            |kept: &CachedPage| kept.run == run && kept.form == form && kept.sealed == sealed;
        let found = kept.iter().position(same)?;
        // The last is the one that goes last.
        kept[found..].rotate_left(1);
        kept.last().map(|kept| kept.reply.clone())
    }

    /// Keeps what was rendered of a run that was sealed then, in the place of what was there.
    pub(super) fn keep(&self, run: &Path, form: Form, sealed: SystemTime, reply: &Reply) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.run != run || kept.form != form);
        kept.push(CachedPage { run: run.to_owned(), form, sealed, reply: reply.clone() });
        let bytes = |kept: &[CachedPage]| kept.iter().map(|kept| kept.reply.bytes()).sum::<usize>();
        while bytes(&kept) > KEPT_BYTES_MAX {
            kept.remove(0);
        }
    }
}

/// When a run was sealed; none: it is not.
pub(super) fn sealed_at(run: &Path) -> Option<SystemTime> {
    run.join("complete").metadata().and_then(|file| file.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_kept_is_of_the_last_seal_and_has_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let page = |byte: u8, bytes: usize| Reply::ok("text/html", vec![byte; bytes]);
        let run = |name: &str| {
            let run = folder.path().join(name);
            fs::create_dir(&run).unwrap();
            fs::write(run.join("complete"), "").unwrap();
            run
        };
        let (pages, old, new) = (Pages::default(), run("old"), run("new"));
        let sealed = |run: &Path| sealed_at(run).unwrap();
        assert!(pages.get(&old, Form::Page).is_none());
        pages.keep(&old, Form::Page, sealed(&old), &page(1, KEPT_BYTES_MAX / 2));
        pages.keep(&old, Form::Json, sealed(&old), &page(2, 10));
        assert_eq!(pages.get(&old, Form::Page).unwrap().bytes(), KEPT_BYTES_MAX / 2);
        assert_eq!(pages.get(&old, Form::Json).unwrap().bytes(), 10);
        // There is no room for both pages: the one that was asked for first goes.
        pages.keep(&new, Form::Page, sealed(&new), &page(3, KEPT_BYTES_MAX / 2));
        assert!(pages.get(&old, Form::Page).is_none());
        assert!(pages.get(&old, Form::Json).is_some());
        assert!(pages.get(&new, Form::Page).is_some());
        // What has room beside nothing is not kept at all.
        pages.keep(&old, Form::Page, sealed(&old), &page(4, KEPT_BYTES_MAX + 1));
        assert!(pages.get(&old, Form::Page).is_none());
        pages.keep(&new, Form::Json, sealed(&new), &page(5, 1));
        let file = fs::File::options().write(true).open(new.join("complete")).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(pages.get(&new, Form::Json).is_none(), "it was sealed anew");
        fs::remove_file(new.join("complete")).unwrap();
        assert!(pages.get(&new, Form::Json).is_none());
    }
}
