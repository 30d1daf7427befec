//! Pages of the frozen record and of hand-made ones.

mod mirror;

use super::{PageData, html};
use base64::Engine as _;
use flate2::read::GzDecoder;
use kvdyno_analysis::fixture::Fixture;
use kvdyno_record::engine::{Edge, EngineEvent, EventKind};
use kvdyno_record::files::RunDir;
use kvdyno_record::series::MachineReading;
use std::io::Read as _;
use std::path::PathBuf;

const TEMPLATE: &str = "<script id=\"data\">%KVDYNO_DATA%</script>";

fn frozen() -> RunDir {
    let root = PathBuf::from(env!("KVDYNO_SOURCE"));
    let path = root.join("fixtures/records/v1.0/2026-11-20T10-15-02Z_fixture_7f3a");
    RunDir::open(path).unwrap()
}

/// What a browser reads out of a page.
fn read_back(page: &str) -> serde_json::Value {
    let inside = page.strip_prefix("<script id=\"data\">").unwrap();
    let inside = inside.strip_suffix("</script>").unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(inside).unwrap();
    let mut json = String::new();
    GzDecoder::new(bytes.as_slice()).read_to_string(&mut json).unwrap();
    serde_json::from_str(&json).unwrap()
}

#[test]
fn a_page_holds_all_of_a_frozen_record() {
    let data = PageData::read(&frozen()).unwrap();
    assert_eq!(data.answers.len(), 2);
    // Load, one and two readers of three engines; one combination does not fit.
    let of_readers = data.curves.iter().filter(|curve| curve.role == "readers");
    assert_eq!(of_readers.count(), 5);
    let lmdb =
        &data.curves.iter().find(|curve| curve.group == 1 && curve.role == "writer").unwrap();
    assert_eq!((lmdb.n, lmdb.kind, lmdb.op.as_deref()), (26_898, "service", None));
    let (_, ns) = *lmdb.points.iter().find(|(nines, _)| (nines - 3.0).abs() < 1e-6).unwrap();
    let role = &data.summary.groups[1].runs[0].roles[1];
    let p999 = role.metrics.get(&kvdyno_analysis::figures::catalogue::SERVICE_P999).unwrap();
    // The percentile of all samples together lies among the trials' own.
    let (low, high) = p999.range().unwrap();
    assert!((low..=high).contains(&(ns as f64)), "{ns} {p999:?}");
    // One map for each group, two roles but for loads.
    assert_eq!(data.heats.iter().filter(|heat| heat.group == 1).count(), 2);
    for heat in &data.heats {
        assert!(heat.columns > 0 && heat.cells.iter().all(|cell| cell.0 < heat.columns));
    }
    // Loads settle as well.
    assert_eq!(data.time_lines.iter().filter(|line| line.kind == "measure").count(), 10);
    // Headings say the workload.
    let titles: Vec<&str> = data.workloads.iter().map(|work| work.title.as_str()).collect();
    assert!(titles.contains(&"Random reads while one thread updates"), "{titles:?}");
    assert!(data.heats.iter().all(|heat| heat.tails.len() == heat.columns));
    // The fixture's engines do not report for what they wrote.
    assert_eq!(data.written, []);
    assert_eq!(data.suite, "name = \"fixture\"\n");
    assert_eq!(data.definitions.len(), kvdyno_analysis::figures::catalogue::ALL.len());
}

#[test]
fn a_page_can_be_read_back_and_nothing_in_a_record_ends_its_element() {
    let mut fixture = Fixture::new();
    let hostile = "</script><script>alert(1)</script>%KVDYNO_DATA%<!--";
    fixture.plan.title = hostile.to_owned();
    for case in &mut fixture.plan.cases {
        hostile.clone_into(&mut case.label);
    }
    let dir = kvdyno_analysis::fixture::make_dir();
    let data = PageData::read(&fixture.write(&dir.path().join("run"))).unwrap();
    let page = html(TEMPLATE, &data).unwrap();
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</script").count(), 1);
    let read = read_back(&page);
    assert_eq!(read["summary"]["run"]["title"], hostile);
    assert_eq!(read["summary"]["groups"][0]["label"], hostile);
    assert_eq!(read["kind"], "report");
    assert!(html("no place", &data).is_err());
}

#[test]
fn machine_and_engine_stand_on_the_time_line() {
    let dir = kvdyno_analysis::fixture::make_dir();
    let fixture = Fixture::new();
    let run = fixture.write_partial(&dir.path().join("run"));
    let case = fixture.cases.iter().find(|c| c.record.case.id.ends_with("lmdb_t1_r1")).unwrap();
    let measure = case.record.phases.iter().find(|phase| phase.name == "measure").unwrap();
    let second = kvdyno_analysis::fixture::SECOND;
    let began = measure.started_unix_ns;
    let mut lines = String::new();
    for at in 1..=2 {
        let mut reading = measure.before.clone();
        reading.at_unix_ns = began + at * second;
        reading.device.as_mut().unwrap().write_bytes += 5_000_000 * at;
        reading.device.as_mut().unwrap().writes += 7 * at;
        let process = reading.process.as_mut().unwrap();
        process.user_ns += at * second / 2;
        let line = MachineReading {
            phase: "measure".to_owned(),
            reading,
            rss_bytes: Some(3 << 20),
            database: None,
        };
        lines += &(serde_json::to_string(&line).unwrap() + "\n");
    }
    let path = run.case(&case.record.case, 1).path;
    std::fs::write(path.join("machine.ndjson"), lines).unwrap();
    let stall = EngineEvent {
        at_unix_ns: began + second,
        kind: EventKind::Stall,
        edge: Edge::Point,
        detail: std::collections::BTreeMap::new(),
    };
    std::fs::write(path.join("events.ndjson"), serde_json::to_string(&stall).unwrap() + "\n")
        .unwrap();
    let data = PageData::read(&run).unwrap();
    let line = data.time_lines.iter().find(|line| !line.machine.at_s.is_empty()).unwrap();
    assert_eq!(line.machine.at_s, [1.0, 2.0]);
    assert_eq!(line.machine.cpu_percent, [Some(50.0), Some(50.0)]);
    assert_eq!(line.machine.write_mb_per_s, [Some(5.0), Some(5.0)]);
    assert_eq!(line.machine.write_iops, [Some(7.0), Some(7.0)]);
    assert_eq!(line.machine.rss_mib, [Some(3.0), Some(3.0)]);
    assert_eq!(line.machine.database_mib, [None, None]);
    assert_eq!(line.marks.len(), 1);
    assert_eq!(line.roles.len(), 2);
}
