//! What the suite asks for and was not run on this machine: its empty cells, each with its reason.

use crate::table::{Side, Table, Titled};
use kvdyno_analysis::summary::Summary;

pub(super) fn table(summary: &Summary) -> Titled {
    let columns = ["part", "engine", "volume", "tier", "phase", "why it was not run"];
    let mut table = Table::new(columns.map(|column| (column, Side::Left)));
    table.lead = Some(columns.len() - 1);
    for left in &summary.run.left_out {
        let named = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".to_owned());
        let (part, volume, tier) = (named(&left.part), named(&left.volume), named(&left.tier));
        let phase = named(&left.phase);
        table.row(&[part, left.engine.clone(), volume, tier, phase, left.why.clone()]);
    }
    let title = "Not run here: cells that stay empty".into();
    Titled { name: "not-here", title, table, aid: String::new() }
}
