//! Finds the rows of a run that a published row describes by its selectors.

use super::comparison::RowRef;
use super::published::{Selectors, StudyTable, TableKind};
use crate::figures::Figures;
use crate::figures::group::{Group, RoleRow};
use crate::figures::job::DriveJob;
use crate::figures::narrow::Narrowed;
use kvdyno_record::units;

/// The rows of a run that a table can match, and the sizes of both.
pub(super) struct Candidates<'s> {
    rows: Vec<Candidate<'s>>,
    records: Scale,
    ram: Scale,
}

#[derive(Clone)]
struct Candidate<'s> {
    seat: RowRef,
    group: &'s Group,
    phase: &'s str,
    role: Option<&'s RoleRow>,
    job: Option<&'s DriveJob>,
}

/// The sizes (records, or bytes of RAM) of a study and of a scaled run. Where both have as many,
/// they match in ascending order, unless one size is the same in both.
struct Scale {
    published: Vec<u64>,
    own: Vec<u64>,
}

impl Scale {
    fn from_values(mut published: Vec<u64>, mut own: Vec<u64>) -> Self {
        for values in [&mut published, &mut own] {
            values.sort_unstable();
            values.dedup();
        }
        Self { published, own }
    }

    fn is_like(&self, published: u64, own: u64) -> bool {
        if published == own {
            return true;
        }
        let same = self.own.iter().any(|own| self.published.contains(own));
        let at = |values: &[u64], value| values.iter().position(|other| *other == value);
        let in_order = || at(&self.published, published) == at(&self.own, own);
        !same && self.published.len() == self.own.len() && in_order()
    }
}

impl<'s> Candidates<'s> {
    pub(super) fn for_table(place: TableKind, table: &StudyTable, figures: &'s Figures) -> Self {
        let groups = figures.groups.iter().enumerate();
        let rows: Vec<_> = groups.flat_map(|(at, group)| rows(place, at, group)).collect();
        let published_values = |read: fn(&Selectors) -> Option<u64>| {
            table.row.iter().filter_map(|row| read(&row.selectors.or(&table.selectors))).collect()
        };
        // A part of a suite has a scale of its own.
        let part = |row: &&Candidate<'_>| {
            table.selectors.part.is_none()
                || row.group.part.as_deref() == table.selectors.part.as_deref()
        };
        let own = |read: fn(&Group) -> Option<u64>| {
            rows.iter().filter(part).filter_map(|row| read(row.group)).collect()
        };
        let records =
            Scale::from_values(published_values(records), own(|group| Some(group.records)));
        let ram = Scale::from_values(published_values(ram), own(|group| group.ram_limit_bytes));
        Self { rows, records, ram }
    }

    /// The rows that match all of `published`; or a message on the first part that none matches.
    pub(super) fn find_matching_rows(&self, published: &Selectors) -> Result<Vec<RowRef>, String> {
        let mut rows: Narrowed<&Candidate<'_>> = Narrowed::new(self.rows.iter().collect());
        // A run in which no row has the property does not distinguish by it.
        let condition = |value: &Option<String>, own: fn(&Group) -> Option<&String>| {
            value.clone().filter(|_| self.rows.iter().any(|row| own(row.group).is_some()))
        };
        let part = condition(&published.part, |group| group.part.as_ref());
        let volume = condition(&published.volume, |group| group.volume.as_ref());
        let tier = condition(&published.tier, |group| group.tier.as_ref());
        let eq = |own: Option<&str>, value: &Option<String>| own == value.as_deref();
        rows.keep_matching("part", part, |row| row.group.part == published.part)?;
        rows.keep_matching("engine", published.engine.as_ref(), |row| {
            published.engine.as_deref().is_some_and(|name| row.group.is_called(name))
        })?;
        rows.keep_matching("volume", volume, |row| row.group.volume == published.volume)?;
        rows.keep_matching("tier", tier, |row| row.group.tier == published.tier)?;
        rows.keep_matching("phase", published.phase.as_ref(), |row| {
            published.phase.as_deref().is_some_and(|phase| is_same_phase(row.phase, phase))
        })?;
        rows.keep_matching("I/O", published.io.as_ref(), |row| {
            eq(row.job.map(|job| job.io.as_str()), &published.io)
        })?;
        let block = published.block.as_ref().and_then(|block| units::parse_bytes(block).ok());
        rows.keep_matching("block", published.block.as_ref(), |row| {
            row.job.map(|job| job.block_bytes) == block
        })?;
        rows.keep_matching("depth", published.depth, |row| {
            row.job.map(|job| job.depth) == published.depth
        })?;
        rows.keep_matching("role", published.role.as_ref(), |row| {
            eq(row.role.map(|role| role.role.as_str()), &published.role)
        })?;
        rows.keep_matching("threads", published.threads, |row| {
            row.group.threads == published.threads
                || row.role.map(|role| role.threads) == published.threads
        })?;
        let records = records(published);
        rows.keep_matching("a number of records like", published.records.as_ref(), |row| {
            records.is_some_and(|records| self.records.is_like(records, row.group.records))
        })?;
        let ram = ram(published);
        rows.keep_matching("RAM like", published.ram.as_ref(), |row| {
            let limits = ram.zip(row.group.ram_limit_bytes);
            limits.is_some_and(|(ram, own)| self.ram.is_like(ram, own))
        })?;
        if rows.remaining().is_empty() {
            return Err("nothing of the kind was measured".to_owned());
        }
        Ok(rows.into_remaining().into_iter().map(|row| row.seat.clone()).collect())
    }
}

/// Whether names are of one phase: the second hour is `hours-w02` of twelve, `hours-w2` of nine.
fn is_same_phase(own: &str, published: &str) -> bool {
    let window = |name: &str| {
        let (phase, number) = name.rsplit_once("-w")?;
        Some((phase.to_owned(), number.parse::<u32>().ok()?))
    };
    own == published || window(own).is_some_and(|own| window(published) == Some(own))
}

fn records(published: &Selectors) -> Option<u64> {
    units::parse_count(published.records.as_ref()?).ok()
}

fn ram(published: &Selectors) -> Option<u64> {
    units::parse_bytes(published.ram.as_ref()?).ok()
}

/// The rows of a group for a kind of table. No study measured the load generator alone.
fn rows(place: TableKind, at: usize, group: &Group) -> Vec<Candidate<'_>> {
    let seat = |run, role| RowRef { group: at, run, role };
    let load = group.load.as_ref().map(|load| Candidate {
        seat: seat(None, None),
        group,
        phase: &load.phase,
        role: None,
        job: None,
    });
    let runs = || {
        group.runs.iter().enumerate().map(|(number, run)| Candidate {
            seat: seat(Some(number), None),
            group,
            phase: &run.phase,
            role: run.roles.first().filter(|_| run.roles.len() == 1),
            job: run.job.as_ref(),
        })
    };
    let roles = |run: Candidate<'_>| {
        let number = run.seat.run.unwrap_or(0);
        group.runs[number].roles.iter().enumerate().map(move |(at, role)| Candidate {
            seat: RowRef { role: Some(at), ..run.seat.clone() },
            group,
            phase: &group.runs[number].phase,
            role: Some(role),
            job: None,
        })
    };
    match place {
        _ if group.stores_nothing || (place == TableKind::Drive) != group.bare_drive => Vec::new(),
        TableKind::Load => load.into_iter().collect(),
        TableKind::Drive => runs().collect(),
        TableKind::Run => runs().flat_map(roles).collect(),
        TableKind::Phase => load.into_iter().chain(runs()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_matched_by_their_numbers() {
        assert!(is_same_phase("hours-w2", "hours-w02") && is_same_phase("load", "load"));
        assert!(!is_same_phase("hours-w12", "hours-w02") && !is_same_phase("hours", "hours-w02"));
        assert!(!is_same_phase("read-warm", "read-wet"));
    }
}
