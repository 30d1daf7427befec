//! Tests of `[[ram.tier]]`: the tier below each RAM limit is an axis of the grid.

use super::*;
use kvdyno_record::engine::Value;
use kvdyno_record::tier::{Memory, Tier};
use std::collections::BTreeSet;

const MIB: u64 = 1 << 20;

/// Returns the small suite with this `[ram]`.
fn with(ram: &str) -> String {
    SMALL.replace("[[engine]]", &format!("[ram]\n{ram}\n[[engine]]"))
}

const LIMITS: &str = "limit = [\"64MiB\", \"128MiB\"]";

const ALL: &str = r#"
[[ram.tier]]
name = "dram"
kind = "dram"
[[ram.tier]]
name = "slow"
kind = "swap"
size = "256MiB"
[[ram.tier]]
name = "drive"
kind = "swap"
path = "/dev/nvme1n1"
size = "1GiB"
swappiness = 100
[[ram.tier]]
name = "zram"
kind = "zram"
size = "256MiB"
swappiness = 180
[[ram.tier]]
name = "cxl"
kind = "node"
node = 1
"#;

fn all() -> String {
    with(&format!("{LIMITS}\n{ALL}")).replace("\"null\"", "\"lmdb\"")
}

#[test]
fn every_limit_comes_with_every_tier() {
    let plan = plan(&all(), &["run.trials=1"]);
    let tiers: Vec<&Tier> = plan.cases.iter().map(|case| case.tier.as_ref().unwrap()).collect();
    // Ten settings, each with a load and the reads on it.
    assert_eq!(plan.cases.len(), 20);
    let memory = |name: &str| &tiers.iter().find(|tier| tier.name == name).unwrap().memory;
    assert_eq!(*memory("dram"), Memory::Dram);
    let image = Memory::Swap { path: None, bytes: 256 * MIB, swappiness: 60 };
    assert_eq!(*memory("slow"), image);
    let device =
        Memory::Swap { path: Some("/dev/nvme1n1".into()), bytes: 1024 * MIB, swappiness: 100 };
    assert_eq!(*memory("drive"), device);
    assert_eq!(*memory("zram"), Memory::Zram { bytes: 256 * MIB, swappiness: 180 });
    assert_eq!(*memory("cxl"), Memory::Node { node: 1 });
    let of_case = |words: &str| {
        let mut cases = plan.cases.iter().filter(|case| case.id.contains(words));
        cases.next().unwrap()
    };
    let zram = of_case("_lmdb_128mib_with-zram_load_r1");
    assert_eq!(zram.ram_limit_bytes, Some(128 * MIB));
    assert!(zram.key.contains("/ram-128MiB+zram/"), "{}", zram.key);
    let mut keys: Vec<&str> = plan.cases.iter().map(|case| case.key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 20);
}

/// The location belongs to the host, the size to the work.
#[test]
fn the_same_tier_on_another_device_is_the_same_work() {
    let keys = |text: &str| -> Vec<String> {
        plan(text, &[]).cases.into_iter().map(|case| case.key).collect()
    };
    assert_eq!(keys(&all()), keys(&all().replace("/dev/nvme1n1", "/dev/nvme2n1")));
    assert_ne!(keys(&all()), keys(&all().replace("1GiB", "2GiB")));
    let bare = with(LIMITS);
    assert!(keys(&bare).iter().all(|key| !key.contains('+') || !key.contains("MiB+")));
}

/// A cache of half the memory is half of limit and swap together, which is the purpose of a tier.
/// The data keeps its ratio to the limit.
#[test]
fn a_share_of_memory_is_one_of_limit_and_swap() {
    let text = with(&format!("limit = \"64MiB\"\n{ALL}"))
        .replace("name = \"null\"", "name = \"rocksdb\"\n[engine.options]\nblock_cache = \"50%\"");
    let plan = plan(&text, &["run.trials=1"]);
    let cache = |tier: &str| {
        let of_tier = plan.cases.iter().find(|case| case.tier.as_ref().unwrap().name == tier);
        of_tier.unwrap().options.values["block_cache"].clone()
    };
    assert_eq!(cache("dram"), Value::Integer(32 * MIB));
    assert_eq!(cache("slow"), Value::Integer(160 * MIB));
    assert_eq!(cache("cxl"), Value::Integer(32 * MIB));
}

#[test]
fn room_for_an_image_is_asked_for_and_sizes_are_scaled_as_limits_are() {
    let image = "[[ram.tier]]\nname = \"slow\"\nkind = \"swap\"\nsize = \"256MiB\"";
    let space = |text: &str| plan(text, &["run.trials=1"]).estimate.space_bytes;
    let bare = with("limit = \"64MiB\"");
    assert_eq!(space(&with(&format!("limit = \"64MiB\"\n{image}"))), space(&bare) + 256 * MIB);
    let device = format!("limit = \"64MiB\"\n{image}\npath = \"/dev/sdx\"");
    assert_eq!(space(&with(&device)), space(&bare));
    let scale =
        Overrides { scale: Some(kvdyno_record::units::parse_ratio("1/4").unwrap()), ..set(&[]) };
    let suite = Suite::parse("suite.toml", &with(&device), &scale).unwrap();
    let plan = expand(&suite, &engines(), &HOST).unwrap();
    assert_eq!(plan.cases[0].tier.as_ref().unwrap().memory.swap(), Some((64 * MIB, 60)));
}

#[test]
fn without_a_limit_there_is_no_tier() {
    let overrides = Overrides { no_ram_limit: true, ..Overrides::default() };
    let suite = Suite::parse("suite.toml", &all(), &overrides).unwrap();
    let plan = expand(&suite, &engines(), &HOST).unwrap();
    assert!(plan.cases.iter().all(|case| case.tier.is_none()));
    assert!(plan.title.contains("without its RAM limit"), "{}", plan.title);
}

#[test]
fn what_is_no_tier_is_refused() {
    let tier = |lines: &str| with(&format!("limit = \"64MiB\"\n[[ram.tier]]\n{lines}"));
    let texts = [
        tier("name = \"x\"\nkind = \"optane\""),
        tier("name = \"x\"\nkind = \"zram\""),
        tier("name = \"x\"\nkind = \"zram\"\nsize = \"1GiB\"\npath = \"/dev/sdx\""),
        tier("name = \"x\"\nkind = \"swap\"\nsize = \"1GiB\"\nswappiness = 201"),
        tier("name = \"x\"\nkind = \"node\""),
        with("[[ram.tier]]\nname = \"x\"\nkind = \"zram\"\nsize = \"1GiB\""),
        tier("name = \"x\"\nkind = \"dram\"\n[[ram.tier]]\nname = \"x\"\nkind = \"dram\""),
    ];
    let refusals: Vec<String> =
        texts.iter().map(|text| refusal(text, &Overrides::default())).collect();
    insta::assert_snapshot!(refusals.join("\n"));
}

/// A case's id names a directory, and a bundle has 100 bytes for its name and that of a file in it.
#[test]
fn a_long_label_is_cut_in_the_ids_of_its_cases() {
    let label = "cache-of-all-bytes-".repeat(3);
    let engine = format!("[[engine]]\nlabel = \"{label}\"");
    let plan = plan(&all().replace("[[engine]]", &engine), &["run.trials=12"]);
    let ids: BTreeSet<&str> = plan.cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids.len(), plan.cases.len());
    assert!(ids.iter().all(|id| id.len() <= 72), "{ids:?}");
    assert!(ids.iter().any(|id| id.ends_with("_load_r12") && id.len() == 72), "{ids:?}");
    assert!(plan.cases.iter().all(|case| case.label == label));
}
