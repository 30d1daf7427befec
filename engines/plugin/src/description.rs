//! The description that a plugin gives of itself, as JSON. A capability that it leaves out is one
//! that it lacks. It cannot claim a capability that the header has no functions for.

use kvdyno_engine::{
    BatchKind, Capabilities, Description, PluginDescription, PowerLoss, Promise, Transactions,
    list_names,
};

/// The optional functions that a plugin has.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each function")]
pub(crate) struct Present {
    pub(crate) remove: bool,
    pub(crate) scan: bool,
    pub(crate) multiget: bool,
    pub(crate) write: bool,
    pub(crate) transactions: bool,
    pub(crate) sync: bool,
}

/// Returns the description in `json` of a plugin with these functions, and the words that mark a
/// build with assertions. `Err`: what is wrong with the description.
pub(crate) fn read(json: &str, present: Present) -> Result<(Description, Option<String>), String> {
    let mut unknown = None;
    let mut reader = serde_json::Deserializer::from_str(json);
    let plugin: PluginDescription =
        serde_ignored::deserialize(&mut reader, |field| unknown = Some(field.to_string()))
            .map_err(|error| format!("`describe` returns no description: {error}"))?;
    reader.end().map_err(|error| format!("`describe` returns more than a description: {error}"))?;
    if let Some(field) = unknown {
        return Err(format!("`describe` returns an unknown field: `{field}`"));
    }
    let assertions = plugin.assertions.clone();
    let description = Description::from(plugin);
    check(&description.capabilities, present)?;
    for option in &description.options {
        option.kind.accept(&option.default).map_err(|expected| {
            let (name, default) = (&option.name, &option.default);
            format!("the default of option `{name}`: expected {expected}, found {default}")
        })?;
    }
    Ok((description, assertions))
}

/// Checks that every claim has its function, and that batch and multiget functions are claimed.
fn check(claims: &Capabilities, present: Present) -> Result<(), String> {
    if claims.durability.is_empty() {
        return Err("it has no durability class: expected `none`, `async` or `commit`".to_owned());
    }
    let unsure = |promise: &Promise| {
        matches!(promise.power_loss, PowerLoss::LosesLast | PowerLoss::Damages)
            || !promise.exceptions.is_empty()
    };
    let needs_sync = claims.durability.values().any(unsure);
    let needs = [
        (claims.delete, present.remove, "delete", "remove"),
        (claims.scan_forward, present.scan, "scan_forward", "scan"),
        (claims.scan_reverse, present.scan, "scan_reverse", "scan"),
        (claims.native_multiget, present.multiget, "native_multiget", "multiget"),
        (claims.batch != BatchKind::Loop, present.write, "batch", "write"),
        (
            claims.transactions != Transactions::None,
            present.transactions,
            "transactions",
            "begin, commit, rollback",
        ),
        (
            claims.atomic_read_modify_write,
            present.transactions,
            "atomic_read_modify_write",
            "begin, commit, rollback",
        ),
        (needs_sync, present.sync, "durability that may lose writes", "sync"),
    ];
    let missing = needs.iter().filter(|(claimed, has, ..)| *claimed && !has);
    let missing: Vec<String> =
        missing.map(|(_, _, claim, function)| format!("{claim} (needs {function})")).collect();
    if !missing.is_empty() {
        return Err(format!("it claims what it has no function for: {}", list_names(&missing)));
    }
    // Unclaimed functions would be called, but plans and comparisons would not know of them.
    let unclaimed = [
        (present.write && claims.batch == BatchKind::Loop, "write", "batch"),
        (present.multiget && !claims.native_multiget, "multiget", "native_multiget"),
    ];
    match unclaimed.iter().find(|(is_unclaimed, ..)| *is_unclaimed) {
        None => Ok(()),
        Some((_, function, claim)) => {
            Err(format!("it has `{function}`, but claims no `{claim}`: claim it, or remove it"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_engine::Durability;

    fn json(capabilities: &str, options: &str) -> String {
        format!(
            r#"{{"name": "mine", "title": "Mine", "version": "1", "capabilities": {{
            "durability": {{"commit": {{"settings": "fdatasync", "power_loss": "keeps"}}}}
            {capabilities} }}, "options": [{options}],
            "planning": {{"space_factor": 1, "write_factor": 1, "ram_bytes_min": 1}} }}"#
        )
    }

    #[test]
    fn unknown_fields_are_refused_wherever_they_are() {
        let option = r#"{"name": "on", "kind": "boolean", "default": true, "help": "Is on.",
            "preset": []}"#;
        let refused = read(&json("", option), Present::default()).unwrap_err();
        assert!(refused.contains("`options.0.preset`"), "{refused}");
        let misspelt = json("", "").replace("power_loss\"", "exception\": [], \"power_loss\"");
        let refused = read(&misspelt, Present::default()).unwrap_err();
        assert!(refused.contains("`capabilities.durability.commit.exception`"), "{refused}");
    }

    #[test]
    fn what_is_left_out_is_lacking() {
        let (read, assertions) = read(&json("", ""), Present::default()).unwrap();
        assert_eq!(assertions, None);
        let least = Capabilities::minimal([(Durability::Commit, PowerLoss::Keeps, "fdatasync")]);
        assert_eq!(read.capabilities, Capabilities { library: true, ..least });
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let refused = |capabilities: &str, options: &str| {
            read(&json(capabilities, options), Present::default()).unwrap_err()
        };
        let unknown = refused(r#", "scan_foward": true"#, "");
        assert!(unknown.contains("`scan_foward`"), "{unknown}");
        // The header has no functions for it.
        let unknown = refused(r#", "pipelined": true"#, "");
        assert!(unknown.contains("`pipelined`"), "{unknown}");
        let claimed = refused(r#", "delete": true, "transactions": "serial""#, "");
        assert!(claimed.contains("`delete (needs remove)`"), "{claimed}");
        assert!(claimed.contains("`transactions (needs begin, commit, rollback)`"), "{claimed}");
        let option = r#"{"name": "on", "kind": "boolean", "default": 1, "help": "Is on."}"#;
        let default = refused("", option);
        assert!(default.contains("option `on`: expected true or false, found 1"), "{default}");
        let rubbish = read("{", Present::default()).unwrap_err();
        assert!(rubbish.starts_with("`describe` returns no description: EOF"), "{rubbish}");
    }

    #[test]
    fn a_class_that_may_lose_writes_needs_sync() {
        let loses = json("", "").replace("keeps", "loses_last");
        let refused = read(&loses, Present::default()).unwrap_err();
        assert!(refused.contains("needs sync"), "{refused}");
        assert!(read(&loses, Present { sync: true, ..Present::default() }).is_ok());
    }
}
