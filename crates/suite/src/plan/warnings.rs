//! Notes and warnings about a part of a plan: each is a sentence and occurs once.

use crate::plan::cases::is_on_device;
use crate::plan::options;
use crate::plan::setup::EngineSetup;
use crate::plan::sizing::{SizedData, SizingHost};
use crate::written::engine::Engine;
use crate::written::names::push_unique;
use crate::written::part::Part;
use crate::written::phase::Phase;
use crate::written::trace::Trace;
use crate::written::typed::Sharing;
use crate::written::worker::InstalledWorker;
use kvdyno_record::engine::{BatchKind, Preset};
use kvdyno_record::fit;
use kvdyno_record::units;
use kvdyno_record::workload::{Activity, Data};

/// Notes the engines with a preset that sets none of their options.
pub(crate) fn untuned_notes(runnable: &[(&Engine, &InstalledWorker)]) -> Vec<String> {
    let untuned = runnable.iter().filter_map(|(engine, worker)| {
        let preset = engine.preset.as_ref()?.value;
        let mut settings = worker.engine().options.iter().flat_map(|option| &option.presets);
        let sets_nothing = settings.all(|setting| setting.preset != preset);
        let (label, word) = (&engine.label.0, preset.as_str());
        sets_nothing.then(|| format!("{label}: preset {word} equals the default options"))
    });
    untuned.collect()
}

/// Notes the engines that use a preset, and the memory that its shares refer to.
pub(crate) fn preset_notes(setups: &[EngineSetup]) -> Vec<String> {
    let note = |preset: Preset| {
        let uses_preset = |setup: &&EngineSetup| {
            setup.engine.preset.as_ref().is_some_and(|used| used.value == preset)
        };
        let mut labels: Vec<&str> = Vec::new();
        for setup in setups.iter().filter(uses_preset) {
            let label = setup.engine.label.0.as_str();
            push_unique(&mut labels, label);
        }
        let unlimited = setups.iter().filter(uses_preset).all(|setup| setup.limit.bytes.is_none());
        let shares = match preset {
            Preset::Defaults => "",
            Preset::Tuned if unlimited => ", shares of this machine's memory",
            Preset::Tuned => ", shares of the RAM limit",
        };
        let (all, word) = (labels.join(", "), preset.as_str());
        (!labels.is_empty()).then(|| {
            format!(
                "preset {word}{shares}: {all}; `kvdyno engines NAME` shows the reason for each \
                     value"
            )
        })
    };
    Preset::ALL.into_iter().filter_map(note).collect()
}

/// Warns of engines that compress although the suite disables compression for another one, each
/// once.
pub(crate) fn compressor_warnings(setups: &[EngineSetup]) -> Vec<String> {
    let mut off = setups.iter().filter_map(|setup| {
        let off = options::compressor_off(setup.engine, setup.description)?;
        Some(format!("{} has {off}", setup.engine.label.0))
    });
    let Some(reason) = off.next() else { return Vec::new() };
    let mut all: Vec<String> = Vec::new();
    for setup in setups {
        let (engine, description) = (setup.engine, setup.description);
        let warnings = options::compressors_left_on(engine, description, &setup.options, &reason);
        all.extend(warnings.into_iter().filter(|text| !all.contains(text)).collect::<Vec<_>>());
    }
    all
}

/// Notes the databases that cannot be copied, and the alternative.
pub(crate) fn no_copy_notes(part: &Part, setups: &[EngineSetup], host: &SizingHost) -> Vec<String> {
    if part.typed.sharing() != Sharing::State {
        return Vec::new();
    }
    let evicts = part.typed.phase.iter().any(|phase| matches!(phase.value, Phase::Evict(_)));
    let mut notes: Vec<String> = Vec::new();
    for setup in setups {
        let (label, volume) = (&setup.engine.label.0, setup.volume.map(|at| &at.value));
        let location = volume
            .map_or_else(|| "in the data directory".to_owned(), |v| format!("on `{}`", v.name.0));
        if !is_on_device(setup.volume, host.device) {
            continue;
        }
        let warm = if evicts { "" } else { "; copies start cold and these warm: add an `evict`" };
        let note = format!(
            "{label} {location}: each case loads its own database, because a bare device cannot \
             be copied{warm}"
        );
        // An engine under several RAM limits is reported once.
        push_unique(&mut notes, note);
    }
    notes
}

/// Notes that each case loads its own database on an attached server, although the suite shares
/// databases.
pub(crate) fn attached_server_notes(part: &Part, setups: &[EngineSetup<'_>]) -> Vec<String> {
    if part.typed.sharing() == Sharing::Fresh {
        return Vec::new();
    }
    let attached = setups.iter().filter(|setup| setup.engine.attached_server().is_some());
    let note = |setup: &EngineSetup<'_>| {
        let label = &setup.engine.label.0;
        format!(
            "{label}: each case loads its own database, because kvdyno does not run this server"
        )
    };
    attached.map(note).collect()
}

/// Warns of engines without batches: in a load each of their records commits by itself, where
/// other engines commit a batch at once.
pub(crate) fn single_commits(setups: &[EngineSetup<'_>]) -> Vec<String> {
    let has_batches = |setup: &EngineSetup<'_>| {
        let abilities = &setup.description.capabilities;
        abilities.batch != BatchKind::Loop && !abilities.stores_nothing && !abilities.bare_drive
    };
    if !setups.iter().any(has_batches) {
        return Vec::new();
    }
    let note = |setup: &EngineSetup<'_>| {
        let phases = setup.points.iter().flat_map(|point| &point.phases);
        let batches = phases.filter_map(|phase| match &phase.work {
            Activity::Load(load) => Some(load.batch),
            _ => None,
        });
        let batch = batches.max().filter(|batch| *batch > 1)?;
        let is_single = setup.description.capabilities.commits_singly(setup.options.durability);
        let label = &setup.engine.label.0;
        is_single.then(|| {
            format!(
                "{label} has no batches: in a load each of its records commits by itself, where \
                 others commit {batch} at once; its load is not compared with theirs"
            )
        })
    };
    let mut notes: Vec<String> = setups.iter().filter_map(note).collect();
    notes.dedup();
    notes
}

/// Warns of engines that hardly fit their RAM limit. They run all the same, and end as "does not
/// fit" if they do not.
pub(crate) fn fit_warnings(
    setups: &[EngineSetup],
    sets: &[SizedData],
    host: &SizingHost,
) -> Vec<String> {
    let note = |setup: &EngineSetup| {
        setup.limit.bytes?;
        let (label, stem) = (&setup.engine.label.0, &setup.engine.stem);
        let limit = setup.limit.memory_bytes(host);
        let (description, options) = (setup.description, &setup.options);
        let data = sets[setup.data].user_bytes();
        if description.capabilities.in_memory && data > limit as f64 {
            return Some(format!(
                "{label} keeps all data in memory: {} do not fit its RAM limit of {}; use a \
                 larger limit (`quick --ram`, `ram.limit` of a suite), less data, or `run \
                 --no-ram-limit`",
                units::bytes_in_words(data as u64),
                units::bytes_in_words(limit),
            ));
        }
        // If the machine has less memory, that is the limit, and smaller caches do not help.
        if let Some(cache) = fit::cache_over_limit(description, options, limit, stem) {
            return Some(format!("{label}: {cache}"));
        }
        let (bound, bytes, remedy) = if limit > host.memory_bytes {
            ("this machine's memory", host.memory_bytes, "smaller caches or less data")
        } else {
            let remedy = "a larger limit (`quick --ram`, `ram.limit` of a suite, or more data \
                          with `data_to_ram`) or `run --no-ram-limit`";
            ("its RAM limit", limit, remedy)
        };
        let caches = fit::cache_bytes(description, options);
        let needed = description.planning.ram_bytes_min.saturating_add(caches);
        (needed > bytes).then(|| {
            let with = match caches {
                0 => "no cache".to_owned(),
                bytes => format!("{} of it for caches and buffers", units::bytes_in_words(bytes)),
            };
            format!(
                "{label} may not fit {bound} of {}: minimum memory {} ({with}); use {remedy}",
                units::bytes_in_words(bytes),
                units::bytes_in_words(needed),
            )
        })
    };
    let mut notes: Vec<String> = setups.iter().filter_map(note).collect();
    // An engine on several volumes is reported once.
    notes.dedup();
    notes
}

/// Warns of keys in the trace that the load does not write.
pub(crate) fn unloaded_keys(part: &Part, sets: &[&Data]) -> Vec<String> {
    let roles = || part.typed.roles();
    let with_keys = |trace: &&Trace| trace.multiple_of.is_none();
    let traces = roles().filter_map(|role| role.replayed_trace()).filter(with_keys);
    let warnings = traces.filter_map(|trace| {
        let keys = trace.records.unwrap_or(trace.keys);
        let fewer = sets.iter().find(|data| data.records < keys)?;
        let (loaded, keys) = (units::group_digits(fewer.records), units::group_digits(keys));
        Some(format!(
            "{loaded} records are loaded, and the trace has {keys} keys: reads of the others count \
             as misses"
        ))
    });
    let mut warnings: Vec<String> = warnings.collect();
    warnings.dedup();
    warnings
}
