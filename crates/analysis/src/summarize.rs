//! Computes a record's summary: each part from which others, in this order.

use super::answer;
use super::block_io;
use super::claim;
use super::comparable;
use super::comparison;
use super::confidence;
use super::copies;
use super::efficiency;
use super::engines;
use super::evidence::{CaseEvidence, Evidence};
use super::explain;
use super::findings::{self, Finding, Severity};
use super::group::Group;
use super::hiccups::HiccupRow;
use super::history;
use super::instructions;
use super::lists::{together, unique};
use super::load_generator::LoadGenerator;
use super::ranking;
use super::ranks;
use super::search;
use super::summary::{METHOD_VERSION, RunInfo, Summary};
use super::versus::Record;
use kvdyno_record::exit::Exit;
use kvdyno_record::files::{RecordError, RunFolder};
use kvdyno_record::tier::TierRecord;
use kvdyno_record::volume::VolumeRecord;

impl Summary {
    /// Reads a run and computes all its figures.
    pub fn read(folder: &RunFolder) -> Result<Self, RecordError> {
        Self::from_evidence(&Evidence::read(folder)?)
    }

    /// Computes all figures of a record.
    pub fn from_evidence(evidence: &Evidence) -> Result<Self, RecordError> {
        let host = &evidence.run.host_before;
        let mut groups = Vec::new();
        for cases in by_key(&evidence.cases) {
            groups.push(Group::read(&cases, host)?);
        }
        instructions::subtract_load_generator(&mut groups);
        comparison::compare(&mut groups);
        comparable::mark(&mut groups);
        efficiency::judge(&mut groups);
        let load_generator = LoadGenerator::from_groups(evidence, &groups);
        let hiccups = evidence.run.hiccups.as_ref().and_then(HiccupRow::from_hiccups);
        let block_io = block_io::read(evidence, &groups)?;
        let explained = explain::read(evidence, &groups, &block_io)?;
        efficiency::limit(&mut groups, &explained);
        let engines = engines::list_engines(&evidence.cases, &evidence.torture);
        let findings = findings::judge(evidence, &groups, load_generator.as_ref(), &explained)?;
        let confidence = confidence::judge(&groups, &findings, &engines);
        let mut summary = Self {
            answer: Vec::new(),
            history: Vec::new(),
            study: None,
            claims: Vec::new(),
            method_version: METHOD_VERSION,
            run: run_info(evidence),
            host: host.clone(),
            host_after: evidence.run.host_after.clone(),
            ranks: ranks::read(evidence, &groups),
            rankings: ranking::list_rankings(evidence, &groups, &engines),
            engines,
            load_generator,
            volumes: volumes(evidence),
            tiers: tiers(evidence),
            copies: copies::list_copies(evidence),
            block_io,
            explained,
            hiccups,
            search: search::answer(evidence)?,
            not_measured: not_measured(&groups),
            verdict: verdict_of(evidence, &findings),
            confidence,
            groups,
            findings,
        };
        summary.answer = answer::sentences(&summary);
        summary.history = history::read::list_histories(evidence, &summary);
        summary.claims = claim::judge(&evidence.plan.claims, &summary);
        summary.match_study(evidence.plan.study.as_deref());
        Ok(summary)
    }
}

impl Record {
    /// Reads a run and computes its figures.
    pub fn read(folder: &RunFolder) -> Result<Self, RecordError> {
        Self::from_evidence(Evidence::read(folder)?)
    }

    /// Computes a record's figures.
    pub fn from_evidence(evidence: Evidence) -> Result<Self, RecordError> {
        let summary = Summary::from_evidence(&evidence)?;
        Ok(Self { evidence, summary })
    }
}

fn verdict_of(evidence: &Evidence, findings: &[Finding]) -> Exit {
    if evidence.engine_failed() {
        Exit::EngineFailed
    } else if findings.iter().any(|finding| finding.severity == Severity::Invalid) {
        Exit::Invalid
    } else {
        Exit::Ok
    }
}

/// Each volume as it was first made; a later one differs only in its device's number.
fn volumes(evidence: &Evidence) -> Vec<VolumeRecord> {
    let records = evidence.recorded().filter_map(|(_, record)| record.volume.as_ref());
    let volumes = together(records, |a, b| a.name == b.name);
    volumes.into_iter().map(|volumes_of_name| volumes_of_name[0].clone()).collect()
}

/// Each memory tier as it was first, with all that was not enforced in any case.
fn tiers(evidence: &Evidence) -> Vec<TierRecord> {
    let mut tiers: Vec<TierRecord> = Vec::new();
    for tier in evidence.recorded().filter_map(|(_, record)| record.ram_limit.tier.as_ref()) {
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

/// Cases with equal keys, in the order of the suite.
fn by_key(cases: &[CaseEvidence]) -> Vec<Vec<&CaseEvidence>> {
    let mut groups = together(cases, |a, b| a.case.key == b.case.key);
    groups.sort_by_key(|group| group[0].case.listed);
    groups
}

fn run_info(evidence: &Evidence) -> RunInfo {
    let (run, plan) = (&evidence.run, &evidence.plan);
    RunInfo {
        id: run.id.clone(),
        suite: run.suite.clone(),
        name: run.name.clone(),
        note: run.note.clone(),
        title: plan.title.clone(),
        program: run.program.clone(),
        format: run.format.clone(),
        command: run.command.clone(),
        started_unix_ns: run.started_unix_ns,
        ended_unix_ns: run.ended_unix_ns,
        data_dir: run.data_dir.clone(),
        sized: plan.sized.clone(),
        warnings: plan.warnings.clone(),
        left_out: plan.left_out.clone(),
        columns: plan.columns.clone(),
        complete: evidence.complete,
        cases_planned: evidence.cases.len(),
        cases_recorded: evidence.recorded().count(),
        cases_done: evidence.cases.iter().filter(|case| case.is_done()).count(),
    }
}

fn not_measured(groups: &[Group]) -> Vec<String> {
    let trials = groups.iter().flat_map(|group| &group.trials);
    unique(trials.flat_map(|trial| trial.not_measured.iter().cloned()))
}
