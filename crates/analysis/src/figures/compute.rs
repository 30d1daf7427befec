//! Computes a record's figures, part by part: each part uses those before it.

use super::block_io;
use super::comparable;
use super::copies;
use super::efficiency;
use super::engines;
use super::evidence::{CaseEvidence, Evidence};
use super::explain;
use super::findings::{self, Finding, Id, Severity};
use super::group::Group;
use super::hiccups::HiccupRow;
use super::instructions;
use super::lists::{group_equal, unique};
use super::load_generator::LoadGenerator;
use super::profile;
use super::ranks;
use super::validity;
use super::{Figures, METHOD_VERSION, RunInfo};
use kvdyno_record::exit::Exit;
use kvdyno_record::files::RecordError;
use kvdyno_record::tier::TierRecord;
use kvdyno_record::volume::VolumeRecord;

impl Figures {
    /// Computes the figures of a record.
    pub fn from_evidence(evidence: &Evidence) -> Result<Self, RecordError> {
        let run = RunInfo::from_evidence(evidence);
        let copies = copies::list_copies(evidence);
        let evidence = &*evidence.results();
        let host = &evidence.run.host_before;
        let mut groups = Vec::new();
        for cases in group_by_key(&evidence.cases) {
            groups.push(Group::read(&cases, host, &evidence.plan)?);
        }
        instructions::subtract_load_generator(&mut groups);
        comparable::mark_different_mixes(&mut groups);
        efficiency::judge(&mut groups);
        let load_generator = LoadGenerator::from_groups(evidence, &groups);
        let block_io = block_io::read(evidence, &groups)?;
        let explained = explain::read(evidence, &groups, &block_io)?;
        efficiency::limit(&mut groups, &explained);
        let findings = findings::judge(evidence, &groups, load_generator.as_ref(), &explained)?;
        validity::mark_void(&mut groups, &findings);
        Ok(Self {
            method_version: METHOD_VERSION,
            run,
            host: host.clone(),
            host_after: evidence.run.host_after.clone(),
            engines: engines::list_engines(&evidence.cases, &evidence.torture),
            load_generator,
            hiccups: evidence.run.hiccups.as_ref().and_then(HiccupRow::from_hiccups),
            volumes: volumes(evidence),
            tiers: tiers(evidence),
            copies,
            block_io,
            profile: profile::summarise(evidence, &groups),
            ranks: ranks::read(evidence, &groups),
            explained,
            not_measured: list_not_measured(&groups),
            verdict: verdict(evidence, &findings),
            disturbance: disturbance(&findings, evidence.recorded_cases().count()),
            groups,
            findings,
        })
    }
}

/// Describes how many cases another run disturbed; none: no run did.
fn disturbance(findings: &[Finding], recorded: usize) -> Option<String> {
    let disturbed = findings.iter().find(|finding| finding.id == Id::ConcurrentRun)?;
    let some = disturbed.cases.len();
    Some(format!("another run disturbed {some} of {recorded} cases: repeat them without it"))
}

/// The exit code of a program that shows the figures: 3 where an engine failed, else 4 where a
/// finding makes them invalid. An engine that does not fit its RAM limit has not failed: that is a
/// result.
fn verdict(evidence: &Evidence, findings: &[Finding]) -> Exit {
    if evidence.has_failed_engine() {
        Exit::EngineFailed
    } else if findings.iter().any(|finding| finding.severity == Severity::Invalid) {
        Exit::Invalid
    } else {
        Exit::Ok
    }
}

/// Each volume as it was first made; a later one differs only in its device's number.
fn volumes(evidence: &Evidence) -> Vec<VolumeRecord> {
    let records = evidence.recorded_cases().filter_map(|(_, record)| record.volume.as_ref());
    let volumes = group_equal(records, |a, b| a.name == b.name);
    volumes.into_iter().map(|volumes_of_name| volumes_of_name[0].clone()).collect()
}

/// Each memory tier as it was first, with all that was not enforced in any case.
fn tiers(evidence: &Evidence) -> Vec<TierRecord> {
    let mut tiers: Vec<TierRecord> = Vec::new();
    for tier in evidence.recorded_cases().filter_map(|(_, record)| record.ram_limit.tier.as_ref()) {
        match tiers.iter_mut().find(|existing| existing.name == tier.name) {
            Some(existing) => {
                let more = tier.not_enforced.iter().filter(|w| !existing.not_enforced.contains(w));
                let more: Vec<String> = more.cloned().collect();
                existing.not_enforced.extend(more);
            }
            None => tiers.push(tier.clone()),
        }
    }
    tiers
}

/// Groups cases with equal keys, in the order of the suite.
pub(super) fn group_by_key(cases: &[CaseEvidence]) -> Vec<Vec<&CaseEvidence>> {
    let mut groups = group_equal(cases, |a, b| a.case.key == b.case.key);
    groups.sort_by_key(|group| group[0].case.listed);
    groups
}

fn list_not_measured(groups: &[Group]) -> Vec<String> {
    let trials = groups.iter().flat_map(|group| &group.trials);
    unique(trials.flat_map(|trial| trial.not_measured.iter().cloned()))
}
