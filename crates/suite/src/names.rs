//! Unique members of lists.

use super::mistake::Mistakes;
use super::read::At;
use super::scalar::Name;
use std::collections::HashSet;

/// Records each name that occurs twice among `what`.
pub(super) fn check_names<'n>(
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
pub(super) fn push_unique<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
