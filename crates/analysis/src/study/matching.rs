//! Which rows of a run a published one stands beside: those that are of what it says it is of.

use super::beside::Seat;
use super::published::{Place, Selectors, StudyTable};
use crate::group::{Group, RoleRow};
use crate::job::DriveJob;
use crate::summary::Summary;
use kvdyno_record::units;

/// The rows of a run at one place, and what the table's rows say of sizes.
pub(super) struct Candidates<'s> {
    rows: Vec<Candidate<'s>>,
    records: Scale,
    ram: Scale,
}

#[derive(Clone)]
struct Candidate<'s> {
    seat: Seat,
    group: &'s Group,
    phase: &'s str,
    role: Option<&'s RoleRow>,
    job: Option<&'s DriveJob>,
}

/// A scaled suite has another number of records (or bytes of RAM) at each point: where as many are
/// varied as in the study they are each other's like in their order, unless one is the same.
struct Scale {
    published: Vec<u64>,
    own: Vec<u64>,
}

impl Scale {
    fn of(mut published: Vec<u64>, mut own: Vec<u64>) -> Self {
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
    pub(super) fn of(place: Place, table: &StudyTable, summary: &'s Summary) -> Self {
        let groups = summary.groups.iter().enumerate();
        let rows: Vec<_> = groups.flat_map(|(at, group)| rows(place, at, group)).collect();
        let said = |read: fn(&Selectors) -> Option<u64>| {
            table.row.iter().filter_map(|row| read(&row.of.or(&table.of))).collect()
        };
        // A part of a suite has a scale of its own.
        let part = |row: &&Candidate<'_>| {
            table.of.part.is_none() || row.group.part.as_deref() == table.of.part.as_deref()
        };
        let own = |read: fn(&Group) -> Option<u64>| {
            rows.iter().filter(part).filter_map(|row| read(row.group)).collect()
        };
        let records = Scale::of(said(records), own(|group| Some(group.records)));
        let ram = Scale::of(said(ram), own(|group| group.ram_limit_bytes));
        Self { rows, records, ram }
    }

    /// The rows that are of all that `of` says, or the first of it that none is of.
    pub(super) fn like(&self, of: &Selectors) -> Result<Vec<Seat>, String> {
        let mut left: Vec<&Candidate<'_>> = self.rows.iter().collect();
        let mut keep = |what: &str, said: Option<String>, is: &dyn Fn(&Candidate<'_>) -> bool| {
            let Some(said) = said else { return Ok(()) };
            left.retain(|row| is(row));
            if left.is_empty() { Err(format!("{what} {said} was not measured")) } else { Ok(()) }
        };
        let text = |said: &Option<String>| said.clone();
        // A run that has none of them does not tell them apart.
        let told = |said: &Option<String>, own: fn(&Group) -> Option<&String>| {
            said.clone().filter(|_| self.rows.iter().any(|row| own(row.group).is_some()))
        };
        let part = told(&of.part, |group| group.part.as_ref());
        let volume = told(&of.volume, |group| group.volume.as_ref());
        let tier = told(&of.tier, |group| group.tier.as_ref());
        let eq = |own: Option<&str>, said: &Option<String>| own == said.as_deref();
        keep("part", part, &|row| eq(row.group.part.as_deref(), &of.part))?;
        keep("engine", text(&of.engine), &|row| {
            of.engine.as_deref().is_some_and(|name| row.group.is_called(name))
        })?;
        keep("volume", volume, &|row| eq(row.group.volume.as_deref(), &of.volume))?;
        keep("tier", tier, &|row| eq(row.group.tier.as_deref(), &of.tier))?;
        keep("phase", text(&of.phase), &|row| eq(Some(row.phase), &of.phase))?;
        keep("I/O", text(&of.io), &|row| eq(row.job.map(|job| job.io.as_str()), &of.io))?;
        let block = of.block.as_ref().and_then(|block| units::parse_bytes(block).ok());
        let block_of = |row: &Candidate<'_>| row.job.map(|job| job.block_bytes);
        keep("block", text(&of.block), &|row| block_of(row) == block)?;
        let depth = of.depth.map(|depth| depth.to_string());
        keep("depth", depth, &|row| row.job.map(|job| job.depth) == of.depth)?;
        keep("client group", text(&of.role), &|row| {
            eq(row.role.map(|role| role.role.as_str()), &of.role)
        })?;
        let threads = of.threads.map(|threads| threads.to_string());
        let has = |row: &Candidate<'_>| row.role.map(|role| role.threads) == of.threads;
        keep("threads", threads, &|row| row.group.threads == of.threads || has(row))?;
        let published = records(of);
        keep("a number of records like", text(&of.records), &|row| {
            published.is_some_and(|published| self.records.is_like(published, row.group.records))
        })?;
        let published = ram(of);
        keep("RAM like", text(&of.ram), &|row| {
            let limit = published.zip(row.group.ram_limit_bytes);
            limit.is_some_and(|(published, own)| self.ram.is_like(published, own))
        })?;
        if left.is_empty() {
            return Err("nothing of the kind was measured".to_owned());
        }
        Ok(left.into_iter().map(|row| row.seat.clone()).collect())
    }
}

fn records(of: &Selectors) -> Option<u64> {
    units::parse_count(of.records.as_ref()?).ok()
}

fn ram(of: &Selectors) -> Option<u64> {
    units::parse_bytes(of.ram.as_ref()?).ok()
}

/// The rows of a group at a place. The load generator alone has no like in any study.
fn rows(place: Place, at: usize, group: &Group) -> Vec<Candidate<'_>> {
    let seat = |run, role| Seat { group: at, run, role };
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
            seat: Seat { role: Some(at), ..run.seat.clone() },
            group,
            phase: &group.runs[number].phase,
            role: Some(role),
            job: None,
        })
    };
    match place {
        _ if group.stores_nothing || (place == Place::Drive) != group.bare_drive => Vec::new(),
        Place::Load => load.into_iter().collect(),
        Place::Drive => runs().collect(),
        Place::Run => runs().flat_map(roles).collect(),
        Place::Phase => load.into_iter().chain(runs()).collect(),
    }
}
