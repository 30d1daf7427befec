//! The limit of open files, which ends a large run in its middle.

#![expect(unsafe_code, reason = "calls of the C library")]

use kvdyno_engine::Result;

/// How many files this process may have open, after raising the soft limit to the hard one: a
/// default of 1024 is soon used up.
pub(crate) fn open_files_limit() -> Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is an out parameter, then an in parameter.
    let failed = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 || {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) != 0
        }
    };
    if failed { Err(std::io::Error::last_os_error().into()) } else { Ok(limit.rlim_cur) }
}
