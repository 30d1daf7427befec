//! The owner of a thread, by its name and its functions.

use kvdyno_host::Root;
use kvdyno_record::profile::ThreadOwner;
use kvdyno_record::usage::THREAD_NAME;

/// The worker's own functions, with which every thread of a role begins.
const LOAD_GENERATOR: &str = "kvdyno_worker::";

/// The name shown for threads without one of their own, which have that of the thread that started
/// them.
const UNNAMED: &str = "unnamed";

/// Whether a function is the load generator's.
pub(crate) fn is_load_generator(function: &str) -> bool {
    function.contains(LOAD_GENERATOR)
}

/// Reads a thread's name; `None`: it has ended.
pub(crate) fn read_name(root: &Root, pid: u32, tid: u32) -> Option<String> {
    root.text(format!("/proc/{pid}/task/{tid}/comm"))
}

/// Returns the name and the owner of a worker's thread. `generates_load`: functions of the load
/// generator are in its stacks; `None`: not known, because the worker has no symbols or all of the
/// thread's stacks are cut.
pub(crate) fn classify_of_worker(
    name: &str,
    roles: &[String],
    generates_load: Option<bool>,
) -> (String, ThreadOwner) {
    let Some(rest) = name.strip_prefix(THREAD_NAME) else {
        return (without_number(name), ThreadOwner::Engine);
    };
    // A thread that the engine starts and does not name has the name of the one that called it.
    if generates_load == Some(false) {
        return (UNNAMED.to_owned(), ThreadOwner::Engine);
    }
    match rest.parse().ok().and_then(|role: usize| roles.get(role)) {
        Some(role) => (role.clone(), ThreadOwner::Role),
        None => ("load generator".to_owned(), ThreadOwner::LoadGenerator),
    }
}

/// Returns the name and the owner of a server's thread.
pub(crate) fn classify_of_server(name: &str, is_supervisor: bool) -> (String, ThreadOwner) {
    if is_supervisor {
        return ("supervisor".to_owned(), ThreadOwner::LoadGenerator);
    }
    (without_number(name), ThreadOwner::Server)
}

/// Returns a thread's name without its number: threads that differ only in it are of one kind.
fn without_number(name: &str) -> String {
    let separator = |c: char| matches!(c, '-' | '_' | ':' | '#' | '.' | ' ' | '/');
    let kind = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(separator);
    if kind.is_empty() { name.to_owned() } else { kind.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_a_roles_by_its_name_and_its_functions() {
        let roles = ["readers".to_owned(), "writer".to_owned()];
        let of = |name: &str, generates| classify_of_worker(name, &roles, generates);
        let role = ("writer".to_owned(), ThreadOwner::Role);
        assert_eq!(of("kvdyno-1", Some(true)), role);
        assert_eq!(of("kvdyno-1", None), role);
        assert_eq!(of("kvdyno-1", Some(false)), ("unnamed".to_owned(), ThreadOwner::Engine));
        let main = ("load generator".to_owned(), ThreadOwner::LoadGenerator);
        assert_eq!(of("kvdyno-lmdb", Some(true)), main);
        assert_eq!(of("rocksdb:low12", None), ("rocksdb:low".to_owned(), ThreadOwner::Engine));
        assert_eq!(of("ib_io_rd-3", None).0, "ib_io_rd");
        assert_eq!(of("42", None).0, "42");
        assert_eq!(classify_of_server("conn7", false), ("conn".to_owned(), ThreadOwner::Server));
    }
}
