//! Names that stay inside their directory.

use std::path::{Component, Path, PathBuf};

/// Levels of nested directories.
const DEPTH_MAX: usize = 16;

/// The longest names of any filesystem.
const NAME_BYTES_MAX: usize = 255;

/// Whether a name is that of one directory, and not a path to elsewhere.
pub(crate) fn is_dir_name(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX
        && !name.chars().any(char::is_control)
        && Path::new(name).components().eq([Component::Normal(name.as_ref())])
}

/// Returns a path of such names, or the reason why it is not one.
pub(super) fn path(bytes: &[u8]) -> Result<PathBuf, &'static str> {
    let text = str::from_utf8(bytes).map_err(|_| "its name is not UTF-8")?;
    let text = text.strip_suffix('/').unwrap_or(text);
    if text.starts_with('/') {
        return Err("its name is absolute");
    }
    let names: Vec<&str> = text.split('/').collect();
    if names.contains(&"..") {
        return Err("its name leads out of its directory");
    }
    if names.len() > DEPTH_MAX || !names.iter().all(|name| is_dir_name(name)) {
        return Err("kvdyno does not use such names");
    }
    Ok(PathBuf::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_stay_below() {
        assert_eq!(path(b"run/record/run.json"), Ok("run/record/run.json".into()));
        assert_eq!(path(b"run/record/"), Ok("run/record".into()));
        assert_eq!(path(b"/etc/passwd"), Err("its name is absolute"));
        for out in ["..", "../x", "run/../../x", "run/.."] {
            assert_eq!(path(out.as_bytes()), Err("its name leads out of its directory"), "{out}");
        }
        let deep = "a/".repeat(20) + "a";
        let long = "a".repeat(300);
        for bad in ["", ".", "./x", "run//x", "run/./x", "run/a\nb", "a\0b", &deep, &long] {
            assert_eq!(path(bad.as_bytes()), Err("kvdyno does not use such names"), "{bad:?}");
        }
        assert_eq!(path(b"run/\xff"), Err("its name is not UTF-8"));
    }
}
