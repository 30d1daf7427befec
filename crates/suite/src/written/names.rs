//! Checks and insertions that keep members of lists unique.

use crate::written::mistake::Mistakes;
use crate::written::read::At;
use crate::written::scalar::Name;
use std::collections::HashSet;

/// Records each name that occurs twice among `what`.
pub(crate) fn check_names<'n>(
    what: &str,
    names: impl Iterator<Item = &'n At<Name>>,
    mistakes: &mut Mistakes,
) {
    let mut unique = HashSet::new();
    for name in names.filter(|name| !unique.insert(&name.0)) {
        let mistake = mistakes.at(&name.span, format!("two {what} are named `{}`", name.0));
        mistake.label("expected a unique name");
    }
}

/// Appends an item that the list does not yet contain.
pub(crate) fn push_unique<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
