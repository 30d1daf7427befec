//! Operations on lists: group equal values, list each once, test for several, print as words.

/// Each value once, in the order of first occurrence.
pub fn unique<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    group_equal(values, PartialEq::eq)
        .into_iter()
        .filter_map(|set| set.into_iter().next())
        .collect()
}

/// Groups equal values, in the order of first occurrence.
pub fn group_equal<T>(
    all: impl IntoIterator<Item = T>,
    same: impl Fn(&T, &T) -> bool,
) -> Vec<Vec<T>> {
    let mut sets: Vec<Vec<T>> = Vec::new();
    for value in all {
        match sets.iter_mut().find(|set| same(&set[0], &value)) {
            Some(set) => set.push(value),
            None => sets.push(vec![value]),
        }
    }
    sets
}

/// Whether there is more than one distinct value.
pub fn has_several<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// `1, 2 and 4`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
