//! Percentiles that a user lists: any, of each kind of times of each role and operation.

use super::Figures;
use super::compute::group_by_key;
use super::evidence::Evidence;
use super::group::{Group, RoleRow};
use super::metric::{Combine, Definition, Direction, Metric, Source};
use super::rates::{Clocks, Times};
use super::trials::{At, Trials};
use kvdyno_record::files::RecordError;
use kvdyno_record::hlog::Kind;
use std::fmt;
use std::str::FromStr;

/// Parts of a percent: a percentile has at most four digits after the point.
const SCALE: u32 = 10_000;
/// The smallest and the largest percentile: 0.001 and 99.9999.
const LEAST: u32 = 10;
const MOST: u32 = 999_999;

/// The definition of every percentile of a row.
static PERCENTILE: Definition = Definition {
    name: "percentile_ns",
    unit: "ns",
    direction: Direction::Lower,
    source: Source::LoadGenerator,
    combine: Combine::Median,
    help: "A percentile of times.",
};

/// A percentile: `99.95`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percentile(u32);

impl Percentile {
    /// Its share of all samples.
    fn quantile(self) -> f64 {
        f64::from(self.0) / f64::from(100 * SCALE)
    }

    /// Its name in columns: `p99_95`.
    pub fn name(self) -> String {
        format!("p{self}").replace('.', "_")
    }
}

impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / SCALE, self.0 % SCALE);
        let text = format!("{whole}.{rest:04}");
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl FromStr for Percentile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let (whole, rest) = trimmed.split_once('.').unwrap_or((trimmed, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(rest) {
            return Err(format!("expected a number from 0.001 to 99.9999, found `{trimmed}`"));
        }
        let rest = rest.trim_end_matches('0');
        if rest.len() > 4 {
            return Err(format!("expected at most four digits after the point, found `{trimmed}`"));
        }
        let parts = whole.parse::<u32>().ok().and_then(|whole| whole.checked_mul(SCALE));
        let parts = parts.zip(format!("{rest:0<4}").parse::<u32>().ok());
        match parts.map(|(whole, rest)| whole.saturating_add(rest)) {
            Some(parts) if (LEAST..=MOST).contains(&parts) => Ok(Self(parts)),
            _ => Err(format!("expected a number from 0.001 to 99.9999, found `{trimmed}`")),
        }
    }
}

/// The percentiles of one kind of times.
#[derive(Clone, Debug, PartialEq)]
pub struct PercentileRow {
    /// The group's number.
    pub group: usize,
    /// The measured phase.
    pub phase: String,
    /// The role.
    pub role: String,
    /// One of the role's operations; none: all together.
    pub op: Option<String>,
    /// The kind of times.
    pub clock: Kind,
    /// The percentiles, in the order of the list.
    pub values: Vec<Metric>,
}

/// The rows of a record: for each role its operations together, then each by itself, and for each
/// of those all kinds of times. Cases in which instructions were counted have none.
pub fn read(
    evidence: &Evidence,
    figures: &Figures,
    percentiles: &[Percentile],
) -> Result<Vec<PercentileRow>, RecordError> {
    let evidence = &*evidence.results();
    let mut rows = Vec::new();
    for (number, (cases, group)) in
        group_by_key(&evidence.cases).iter().zip(&figures.groups).enumerate()
    {
        if group.is_counted() {
            continue;
        }
        let trials = Trials::read(cases)?;
        rows.extend(group_rows(number, group, &trials, percentiles));
    }
    Ok(rows)
}

fn group_rows(
    number: usize,
    group: &Group,
    trials: &Trials<'_>,
    percentiles: &[Percentile],
) -> Vec<PercentileRow> {
    let mut rows = Vec::new();
    for run in &group.runs {
        for (role, op) in run.roles.iter().flat_map(scopes) {
            let clocks = Clocks { open_loop: role.open_loop, in_flight: role.depth.is_some() };
            for clock in clocks.kinds() {
                let scope = At { phase: &run.phase, role: &role.role, op };
                let times = Times::read(trials, &scope, clock);
                let value = |one: &Percentile| times.percentile(&PERCENTILE, one.quantile());
                rows.push(PercentileRow {
                    group: number,
                    phase: run.phase.clone(),
                    role: role.role.clone(),
                    op: op.map(str::to_owned),
                    clock,
                    values: percentiles.iter().map(value).collect(),
                });
            }
        }
    }
    rows
}

/// Returns a role with its operations together, then with each operation if it has several.
fn scopes(role: &RoleRow) -> impl Iterator<Item = (&RoleRow, Option<&str>)> {
    let ops = role.ops.iter().map(|op| Some(op.op.as_str()));
    std::iter::once(None).chain(ops).map(move |op| (role, op))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::summary::Summary;
    use crate::figures::catalogue::times;
    use crate::fixture::Fixture;

    #[test]
    fn percentiles_have_bounds_and_four_digits() {
        let parsed = |text: &str| text.parse::<Percentile>();
        for (text, display, name) in [
            ("50", "50", "p50"),
            ("99.95", "99.95", "p99_95"),
            ("0.001", "0.001", "p0_001"),
            ("99.9999", "99.9999", "p99_9999"),
            (" 25.50 ", "25.5", "p25_5"),
        ] {
            let percentile = parsed(text).unwrap();
            assert_eq!(
                (percentile.to_string().as_str(), percentile.name().as_str()),
                (display, name)
            );
        }
        for wrong in ["0", "100", "0.0009", "-1", "p95", "", "1e1", "5.", "4294967296", "NaN"] {
            let message = parsed(wrong).unwrap_err();
            assert!(message.contains("expected") && message.contains(&format!("`{wrong}`")));
        }
        assert!(parsed("99.99995").unwrap_err().contains("four digits after the point"));
        assert!((parsed("99.95").unwrap().quantile() - 0.9995).abs() < 1e-12);
    }

    /// By the catalogue's rule: equal percentiles have equal values and equal reasons.
    #[test]
    fn listed_percentiles_equal_those_of_the_catalogue() {
        let list: Vec<Percentile> =
            ["50", "90", "95", "99", "99.9", "99.99"].map(|text| text.parse().unwrap()).into();
        let drive = Fixture::with_drive(2);
        for fixture in [Fixture::new(), Fixture::with_mixed_role(2), drive] {
            let dir = crate::fixture::make_dir();
            let evidence = Evidence::read(&fixture.write(&dir.path().join("run"))).unwrap();
            let summary = Summary::from_evidence(&evidence).unwrap();
            let rows = read(&evidence, &summary, &list).unwrap();
            assert!(!rows.is_empty());
            for row in rows {
                let run = summary.groups[row.group].run(&row.phase).unwrap();
                let role = run.roles.iter().find(|role| role.role == row.role).unwrap();
                let metrics = match &row.op {
                    Some(name) => &role.ops.iter().find(|op| op.op == *name).unwrap().metrics,
                    None => &role.metrics,
                };
                for (value, definition) in row.values.iter().zip(times(row.clock)) {
                    let expected = metrics.get(definition).unwrap();
                    assert_eq!(value.value, expected.value, "{}", definition.name);
                    assert_eq!(value.missing, expected.missing, "{}", definition.name);
                    assert_eq!(value.range(), expected.range(), "{}", definition.name);
                }
            }
        }
    }
}
