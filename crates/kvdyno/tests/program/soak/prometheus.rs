//! A Prometheus beside `kvdyno serve`: it reads all metrics, and replies to every query of the
//! dashboard in docs/.

use super::super::dashboards::{LIVE, queries, run_with_every_figure, write_endless_suite};
use super::super::scratch::{Scratch, wait_until};
use super::super::serve::Server;
use super::super::workers::{needs, report_skip};
use rustix::process::Signal;
use std::net::TcpListener;
use std::process::Command;

/// What it prints for a query; nothing: no series.
fn ask(port: u16, query: &str) -> String {
    let url = format!("http://127.0.0.1:{port}");
    let output = Command::new("promtool").args(["query", "instant", &url, query]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    // It may not listen yet, or not be ready.
    let is_early = error.contains("refused") || error.contains("503");
    assert!(output.status.success() || is_early, "{query}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_prometheus_answers_every_query_of_the_dashboard() {
    let test = "a_prometheus_answers_every_query_of_the_dashboard";
    if Command::new("promtool").arg("--version").output().is_err() {
        return report_skip("prometheus", test, "there is no promtool on PATH");
    }
    if !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    run_with_every_figure(&scratch);
    let server = Server::start(&scratch);
    if !server.get("/metrics").body.contains("kvdyno_device_flush_mean_seconds") {
        server.end();
        return report_skip("disk", test, "the volume has no device that counts flushes");
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "global: {{ scrape_interval: 1s }}\nscrape_configs:\n- job_name: kvdyno\n  \
         static_configs: [{{ targets: [\"127.0.0.1:{}\"] }}]\n",
        server.port()
    );
    let config = scratch.write("prometheus.yml", &config);
    let mut command = Command::new("prometheus");
    command.arg(format!("--config.file={}", config.display()));
    command.arg(format!("--storage.tsdb.path={}", scratch.path("tsdb").display()));
    command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
    let prometheus = scratch.start(command);
    let has_rows = |query: &str| !ask(port, query).trim().is_empty();
    wait_until("it has read the metrics", || has_rows("kvdyno_run"));
    let (live, figures): (Vec<String>, Vec<String>) =
        queries().into_iter().partition(|query| LIVE.iter().any(|name| query.contains(name)));
    let silent: Vec<&String> = figures.iter().filter(|query| !has_rows(query)).collect();
    assert!(silent.is_empty(), "no series: {silent:#?}");
    write_endless_suite(&scratch);
    let running = scratch.start(scratch.kvdyno(&["run", "endless.toml"]));
    for query in &live {
        wait_until(query, || has_rows(query));
    }
    running.signal(Signal::INT);
    running.wait().assert_code(130);
    prometheus.signal(Signal::TERM);
    prometheus.wait().assert_code(0);
    server.end();
}
