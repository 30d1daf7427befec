//! Published studies: their figures as data, and where they stand beside a run's own.
//!
//! Published figures are shown and never judged: they are in no statistic, ranking, finding or
//! comparison, for they were measured elsewhere.

mod comparison;
mod differs;
mod matching;
mod published;
#[cfg(test)]
mod tests;

pub use comparison::{Published, RowRef, StudyComparison};
pub use differs::Difference;
pub use published::{
    OwnFigure, PublishedValue, Selectors, Study, StudyData, StudyHead, StudyHost, StudyRow,
    StudyTable, TableKind, Written,
};

/// The studies that are built into the program: the id and text of each file.
const FILES: [(&str, &str); 5] = [
    (
        "callaghan-linkbench-2015",
        include_str!("../../../../../studies/callaghan-linkbench-2015.toml"),
    ),
    ("raidix-metadata-2017", include_str!("../../../../../studies/raidix-metadata-2017.toml")),
    ("selectel-p4800x-2018", include_str!("../../../../../studies/selectel-p4800x-2018.toml")),
    ("symas-imdt-2018", include_str!("../../../../../studies/symas-imdt-2018.toml")),
    ("symas-optane-2018", include_str!("../../../../../studies/symas-optane-2018.toml")),
];

/// A study by its id; none: there is none of that name.
pub fn study_by_id(id: &str) -> Option<Study> {
    let (_, text) = FILES.iter().find(|(known, _)| *known == id)?;
    // A test reads each of them.
    toml::from_str(text).ok()
}
