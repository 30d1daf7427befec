//! Cells of the suite that were not run on this machine, each with its reason.

use crate::table::{Side, Table, Titled};
use kvdyno_analysis::answers::summary::Summary;

pub(super) fn table(summary: &Summary) -> Titled {
    let columns = ["part", "engine", "volume", "tier", "phase", "why it was not run"];
    let mut table = Table::new(columns.map(|column| (column, Side::Left)));
    table.lead = Some(columns.len() - 1);
    for omitted in &summary.run.left_out {
        let or_dash = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".to_owned());
        let (part, volume, tier) =
            (or_dash(&omitted.part), or_dash(&omitted.volume), or_dash(&omitted.tier));
        let phase = or_dash(&omitted.phase);
        table.row(&[part, omitted.engine.clone(), volume, tier, phase, omitted.reason.clone()]);
    }
    let title = "Not run here: cells that stay empty".into();
    Titled { name: "not-here", title, table, aid: String::new() }
}
