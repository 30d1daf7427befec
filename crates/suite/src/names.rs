//! Names that tell members of a list from each other.

use super::mistake::Mistakes;
use super::read::At;
use super::scalar::Name;
use std::collections::HashSet;

/// Each of `what` has a name of its own.
pub(super) fn check_names<'n>(
    what: &str,
    names: impl Iterator<Item = &'n At<Name>>,
    mistakes: &mut Mistakes,
) {
    let mut known = HashSet::new();
    for name in names.filter(|name| !known.insert(&name.0)) {
        let mistake = mistakes.at(&name.span, format!("two {what} are named `{}`", name.0));
        mistake.label("expected a name of its own");
    }
}
