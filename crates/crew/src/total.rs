//! A slice of several ranks together: counts and histograms added up, in whatever order.

use crate::slices::{RankSlice, invalid};
use kvdyno_record::hlog;
use kvdyno_record::samples::{Decoder, Samples};
use kvdyno_record::series::{Slice, SliceCounts};
use std::collections::BTreeMap;
use std::io;

/// The sum of some ranks' slices, all of the same time.
///
/// Counts and the buckets of histograms are whole numbers: two sums of the same slices are equal to
/// the last bit, whether one rank has added all of them or each its neighbours'.
#[derive(Clone, Debug)]
pub struct Total {
    pub(crate) slice: Slice,
    pub(crate) tagged: BTreeMap<String, Samples>,
}

impl Total {
    /// Adds up the slices of one time; `None`: there are none. Fails if the sum does not have as
    /// many times as operations: a histogram was then added to another slice.
    pub fn from_slices<'r>(
        slices: impl IntoIterator<Item = &'r RankSlice>,
        decoder: &mut Decoder,
    ) -> io::Result<Option<Self>> {
        let mut total: Option<Self> = None;
        for RankSlice { slice, histograms } in slices {
            let total = match &mut total {
                Some(total) => {
                    add(&mut total.slice, slice)?;
                    total
                }
                None => total.insert(Self { slice: slice.clone(), tagged: BTreeMap::new() }),
            };
            for (tag, encoded) in histograms {
                let counts = decoder.read(encoded);
                let counts = counts.map_err(|error| invalid(format!("tag `{tag}`: {error}")))?;
                total.tagged.entry(tag.clone()).or_default().add_all(counts);
            }
        }
        if let Some(total) = &total {
            total.check()?;
        }
        Ok(total)
    }

    /// Returns the sum as one rank would send it.
    pub fn into_rank_slice(self) -> io::Result<RankSlice> {
        let text = |(tag, samples): (String, Samples)| {
            Ok((tag, hlog::to_text(&samples.histogram()).map_err(invalid)?))
        };
        let histograms = self.tagged.into_iter().map(text).collect::<io::Result<_>>()?;
        Ok(RankSlice { slice: self.slice, histograms })
    }

    fn check(&self) -> io::Result<()> {
        for (role, ops) in &self.slice.roles {
            for (op, counts) in ops {
                let tag = hlog::tag(&self.slice.phase, role, op, hlog::Kind::Service);
                let times = self.tagged.get(&tag).map_or(0, Samples::len);
                if times != counts.count {
                    let (number, count) = (self.slice.slice, counts.count);
                    let what =
                        format!("`{tag}`, slice {number}: {times} times of {count} operations");
                    return Err(invalid(what));
                }
            }
        }
        Ok(())
    }
}

/// Adds a slice to a sum. The last slice of a rank may be shorter than the others'.
fn add(sum: &mut Slice, slice: &Slice) -> io::Result<()> {
    if (&sum.phase, sum.slice, sum.start_ns) != (&slice.phase, slice.slice, slice.start_ns) {
        let (expected, found) = (sum.slice, slice.slice);
        let phase = &sum.phase;
        return Err(invalid(format!(
            "a rank in `{phase}`: expected slice {expected}, found \
            {found}"
        )));
    }
    sum.length_ns = sum.length_ns.max(slice.length_ns);
    for (role, ops) in &slice.roles {
        let ops_of_role = sum.roles.entry(role.clone()).or_default();
        for (op, counts) in ops {
            let sum = ops_of_role.entry(op.clone()).or_default();
            *sum = SliceCounts {
                count: sum.count + counts.count,
                service_ns: sum.service_ns + counts.service_ns,
                service_ns_max: sum.service_ns_max.max(counts.service_ns_max),
                errors: sum.errors + counts.errors,
            };
        }
    }
    Ok(())
}
