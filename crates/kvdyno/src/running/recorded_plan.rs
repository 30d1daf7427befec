//! Checks of a recorded plan before its work is done again: no suite made it, or another kvdyno's.

use crate::exit::Complaint;
use crate::records::bundle::is_dir_name;
use kvdyno_record::engine::Value;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::redact::is_struck_out;
use kvdyno_record::workload::{Activity, Phase};
use kvdyno_suite::SEVERAL_MAX;
use std::collections::BTreeSet;

/// Refuses a plan that no suite expands to, or that lacks its passwords.
pub(crate) fn check(plan: &Plan) -> anyhow::Result<()> {
    check_names(plan)?;
    check_sizes(plan)?;
    Ok(check_secrets(plan)?)
}

/// Refuses cases that no suite expands to: they would fill memory before an engine refused them.
fn check_sizes(plan: &Plan) -> anyhow::Result<()> {
    let threads = |phase: &Phase| match &phase.work {
        Activity::Load(load) => load.threads,
        work => {
            let roles = work.mix().into_iter().flat_map(|mix| &mix.roles);
            roles.map(|role| role.threads).max().unwrap_or(0)
        }
    };
    let mut ids = BTreeSet::new();
    for case in &plan.cases {
        let id = &case.id;
        anyhow::ensure!(ids.insert(id), "two cases in plan.json have the id `{id}`");
        let most = case.phases.iter().map(threads).max().unwrap_or(0);
        anyhow::ensure!(most <= SEVERAL_MAX, "case {id} in plan.json has {most} threads");
    }
    Ok(())
}

/// Refuses names that are not names of directories, which names in a plan become.
fn check_names(plan: &Plan) -> anyhow::Result<()> {
    let names = plan.cases.iter().flat_map(|case| [&case.id, &case.database.id]);
    for name in names.chain([&plan.suite]) {
        anyhow::ensure!(is_dir_name(name), "`{name}` in plan.json is not a directory name");
    }
    Ok(())
}

/// Refuses a plan whose options contained a password: a record contains none, and the case cannot
/// run without it.
fn check_secrets(plan: &Plan) -> Result<(), Complaint> {
    let struck_out = |value: &Value| matches!(value, Value::Text(text) if is_struck_out(text));
    for Case { engine, options, .. } in &plan.cases {
        if let Some((name, _)) = options.values.iter().find(|(_, value)| struck_out(value)) {
            let what = format!("option `{name}` of {engine} contained a password");
            return Err(Complaint::usage(format!(
                "{what}, and a record does not contain passwords"
            ))
            .hint("use `kvdyno run` to run the suite again"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        check_names(&Fixture::new().plan).unwrap();
        let mut plan = Fixture::new().plan;
        plan.cases[0].id = "../../outside".to_owned();
        assert!(check_names(&plan).unwrap_err().to_string().contains("../../outside"));
        let mut plan = Fixture::new().plan;
        plan.suite = "a/b".to_owned();
        assert!(check_names(&plan).is_err());
    }

    #[test]
    fn cases_that_no_suite_comes_to_are_refused() {
        let plan = Fixture::new().plan;
        check_sizes(&plan).unwrap();
        let mut twice = plan.clone();
        twice.cases[1].id = twice.cases[0].id.clone();
        assert!(check_sizes(&twice).unwrap_err().to_string().contains(&twice.cases[0].id));
        let mut crowded = plan;
        for phase in &mut crowded.cases[0].phases {
            if let Activity::Load(load) = &mut phase.work {
                load.threads = u32::MAX;
            }
        }
        assert!(check_sizes(&crowded).unwrap_err().to_string().contains("threads"));
    }
}
