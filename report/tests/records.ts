// Pages of the frozen record and of changed copies, written by the program itself.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import type { PageData } from "../src/data";

const FROZEN = resolve(import.meta.dirname, "../../fixtures/records/v1.0/2026-11-20T10-15-02Z_fixture_7f3a");
/** A record of the same engines with a bare drive, whose jobs are ceilings except one. */
const WITH_DRIVE = resolve(import.meta.dirname, "../../fixtures/records/v1.0/2026-11-20T10-15-02Z_fixture_drive");
/** A record of twelve engines in three parts of a suite, in one file. */
const FIELD = resolve(import.meta.dirname, "../../fixtures/records/v1.0/2026-11-20T10-15-02Z_fixture_field.tar.zst");
const TARGET = process.env["CARGO_TARGET_DIR"] ?? join(homedir(), ".cache/kvdyno/target");
export const PROGRAM = process.env["KVDYNO"] ?? join(TARGET, "release/kvdyno");

let dir: string | null = null;
/** Returns the directory of the records, created at the first use. */
export const recordsDir = (): string => (dir ??= mkdtempSync(join(tmpdir(), "kvdyno-page-")));
export const removeRecords = (): void => { if (dir) rmSync(dir, { recursive: true }); };

export type Json = Record<string, any>;

/** Changes of a copy of a record. */
export interface Bend {
  /** The original record; absent: that of engines alone. */
  of?: string;
  /** Changes each case, in the plan and in its own record. */
  case?: (planned: Json) => void;
  record?: (record: Json) => void;
  plan?: (plan: Json) => void;
  run?: (run: Json) => void;
  /** Returns the new text of files of each case; null: the file is removed. */
  files?: Record<string, (text: string, planned: Json) => string | null>;
}

/** Writes a changed copy of a record; returns its directory. */
export function writeRecord(run: string, bend: Bend = {}): string {
  cpSync(bend.of ?? FROZEN, run, { recursive: true });
  editJson(join(run, "plan.json"), (plan) => {
    for (const planned of plan["cases"]) bend.case?.(planned);
    bend.plan?.(plan);
  });
  editJson(join(run, "run.json"), (json) => bend.run?.(json));
  for (const id of readdirSync(join(run, "cases"))) {
    const path = join(run, "cases", id);
    let planned: Json = {};
    editJson(join(path, "case.json"), (record) => {
      planned = record["case"];
      bend.case?.(planned);
      bend.record?.(record);
    });
    for (const [file, text] of Object.entries(bend.files ?? {})) {
      const original = readdirSync(path).includes(file) ? readFileSync(join(path, file), "utf8") : "";
      const now = text(original, planned);
      if (now === null) rmSync(join(path, file), { force: true });
      else writeFileSync(join(path, file), now);
    }
  }
  return sealRecord(run);
}

/** Writes the checksums of an edited record, which would be void without; returns its directory. */
function sealRecord(run: string): string {
  const files = readdirSync(run, { recursive: true, encoding: "utf8" }).filter((name) => statSync(join(run, name)).isFile());
  const sums = files.filter((name) => !["SHA256SUMS", "complete", "lock"].includes(name)).sort()
    .map((name) => `${createHash("sha256").update(readFileSync(join(run, name))).digest("hex")}  ${name}\n`);
  writeFileSync(join(run, "SHA256SUMS"), sums.join(""));
  return run;
}

/** Writes the page of a changed record; returns its path. */
export const writePage = (name: string, bend: Bend = {}): string => writeReport(name, writeRecord(join(recordsDir(), name), bend));

/** Writes the page of many engines; returns its path. */
export const writeFieldPage = (): string => writeReport("field", FIELD);

/** Runs a small suite of a study, which takes seconds, and writes its page; returns its path. */
export function writeStudyPage(): string {
  const runs = join(recordsDir(), "studied");
  const suite = join(import.meta.dirname, "study.toml");
  const result = spawnSync(PROGRAM, ["run", suite, "--runs", runs, "--data-dir", join(recordsDir(), "databases"), "--create-data-dir", "--quiet"], { encoding: "utf8" });
  const [run] = result.status === 0 || result.status === 4 ? readdirSync(runs) : [];
  if (!run) throw new Error(`${PROGRAM} run: ${result.error ?? result.stderr}`);
  return writeReport("studied", join(runs, run));
}

/** Writes the page of a record; returns its path. */
export function writeReport(name: string, run: string): string {
  const out = join(recordsDir(), `${name}.html`);
  const result = spawnSync(PROGRAM, ["report", run, "-o", out], { encoding: "utf8" });
  if (result.status === null || ![0, 3, 4].includes(result.status)) throw new Error(`${PROGRAM}: ${result.error ?? result.stderr}`);
  return out;
}

export function editJson(path: string, edit: (json: Json) => void): void {
  const json = JSON.parse(readFileSync(path, "utf8")) as Json;
  edit(json);
  writeFileSync(path, JSON.stringify(json));
}

/** Reads the data of a page. */
export function readPageData(path: string): PageData {
  const inside = /id="data">([^<]*)</.exec(readFileSync(path, "utf8"))?.[1] ?? "";
  return JSON.parse(gunzipSync(Buffer.from(inside, "base64")).toString("utf8")) as PageData;
}

/** Writes a page with changed data; returns its path. */
export function editPage(path: string, name: string, edit: (data: PageData) => void): string {
  const data = readPageData(path), out = join(recordsDir(), `${name}.html`);
  edit(data);
  const inside = gzipSync(JSON.stringify(data)).toString("base64");
  writeFileSync(out, readFileSync(path, "utf8").replace(/(id="data">)[^<]*/, (_, tag: string) => tag + inside));
  return out;
}

/** Adds what the frozen record lacks: readings of the machine, events of the engine, and a log of twice
 * the length. */
export const RICH: Bend = {
  record: (record) => {
    for (const phase of record["phases"]) {
      // A kernel without run queue times.
      if (phase["kind"] === "load") for (const role of phase["roles"]) role["usage"]["runqueue_ns"] = null;
      if (phase["kind"] !== "measure") continue;
      const writes = phase["roles"][1]?.["ops"]["update"]?.["count"] ?? 0;
      for (const role of phase["roles"]) {
        role["usage"] = { time_ns: 1e10, user_ns: 1e9, system_ns: 1e9, runqueue_ns: 0, ...SWITCHES };
      }
      phase["after"]["wait_samples"] = { readers: { ...LOOKS, read: 90, lock: 30 }, writer: { ...LOOKS, sync: 80, write: 20 } };
      Object.assign(phase["before"]["device"] ?? {}, { flushes: 0, flush_ns: 0 });
      Object.assign(phase["after"]["device"] ?? {}, { flushes: 2 * writes, flush_ns: 2 * writes * 3e5 });
    }
  },
  files: {
    "latency.hlog": (text) => text + text.split("\n").filter((line) => line.startsWith("Tag=")).map((line) => {
      const [tag, start, ...rest] = line.split(",");
      return [tag, (Number(start) + 10).toFixed(3), ...rest].join(",") + "\n";
    }).join(""),
    "machine.ndjson": (_, planned) => Array.from({ length: 11 }, (_, second) => JSON.stringify({
      phase: planned["threads"] == null ? "load" : "measure",
      reading: {
        at_unix_ns: BEGAN + second * 1e9,
        process: { ...PROCESS, user_ns: second * 4e8, system_ns: second * 3e8 },
        device: { ...DEVICE, reads: second * 9, read_ns: second * 9e6, flushes: second * 5, flush_ns: second * 2e7, queue_ns: second * 1.5e9, read_bytes: second * 3e7, write_bytes: second * second * 1e6 },
        group: null, steal_ns: 0,
      },
      rss_bytes: 2e7 + second * 1e5,
      database: { used_bytes: 1.3e8 + second * 1e6, apparent_bytes: 1.4e8, files: 2 },
    }) + "\n").join(""),
    "blockio.ndjson": (_, planned) => Array.from({ length: 11 }, (_, second) => JSON.stringify({
      phase: planned["threads"] == null ? "load" : "measure",
      at_unix_ns: BEGAN + second * 1e9,
      io: {
        cells: second === 0 ? [] : [
          { ...CELL, kind: "read", owner: "ours", count: second * 100, slots: [[120, second * 90], [150, second * 10]] },
          { ...CELL, kind: "flush", owner: "kernel", count: second, slots: [[130, second]] },
        ],
        lost: { unseen: 0, full: 0, skipped: 0, log: 0 },
      },
    }) + "\n").join(""),
    "events.ndjson": (_, planned) => planned["engine"] !== "rocksdb" ? null : [
      ["compaction", "begin", 1], ["flush", "point", 2], ["stall", "begin", 3], ["stall", "end", 4], ["compaction", "end", 6],
    ].map(([kind, edge, second]) => JSON.stringify({ at_unix_ns: BEGAN + Number(second) * 1e9, kind, edge, detail: { job: 1 } }) + "\n").join(""),
  },
};

/** Engines and the bare drive. */
export const DRIVE: Bend = { of: WITH_DRIVE };

/** The bare drive alone. */
export const DRIVE_ALONE: Bend = {
  of: WITH_DRIVE,
  plan: (plan) => { plan["cases"] = plan["cases"].filter((one: Json) => one["engine"] === "drive"); },
};

const BEGAN = 1_795_169_702e9;
const CELL = { device: 0, bytes: 0, fua: 0, latency_ns: 0 };
const SWITCHES = { voluntary_switches: 0, involuntary_switches: 0, minor_faults: 0, major_faults: 0 };
const LOOKS = { running: 100, read: 0, write: 0, sync: 0, ring: 0, lock: 0, sleep: 0, network: 0, other: 0 };
const PROCESS = {
  voluntary_switches: 0, involuntary_switches: 0, minor_faults: 0, major_faults: 0, input_blocks_512: 0,
  output_blocks_512: 0, rss_peak_bytes: 0, io: null,
};
const DEVICE = {
  device: "vda", read_ns: 0, writes: 0, write_ns: 0, busy_ns: 0, queue_ns: 0, discards: 0, discard_bytes: 0, flushes: 0,
};

/** Creates a search whose points are the record's two. */
const createSearch = (axis: Json | string, target: string): Json => ({
  axis, target, phase: "measure", between: { low: 1, high: 1e12 }, within: 0.1, trials: 2,
  making: { engine: "LMDB", set: [], threads: null },
});

/** Two RAM limits in place of two numbers of threads, for the figure of memory. */
export const SIZES: Bend = {
  plan: (plan) => { plan["search"] = { ...createSearch("ram", "readers.ops > 15k/s"), between: { low: 28 << 20, high: 56 << 20 } }; },
  case: (planned) => {
    if (planned["threads"] === 2) planned["ram_limit_bytes"] *= 2;
    if (planned["threads"] != null) planned["threads"] = 1;
  },
};

/** One engine on two volumes in place of two engines, for the figure of volumes. */
export const VOLUMES: Bend = {
  case: (planned) => {
    const other = planned["engine"] === "rocksdb";
    if (other) Object.assign(planned, { engine: "lmdb", label: "LMDB" });
    planned["volume"] ??= { name: other ? "xfs" : "ext4", kind: "directory", path: "/mnt" };
  },
};

/** Two offered rates in place of two numbers of threads, for the figure of rates. */
export const RATES: Bend = {
  plan: (plan) => { plan["search"] = { ...createSearch({ rate: { role: "readers" } }, "readers.p99 < 50ms"), between: { low: 1000, high: 2000 } }; },
  case: (planned) => {
    if (planned["threads"] == null) return;
    const offered = planned["threads"] * 1000;
    planned["threads"] = 1;
    for (const phase of planned["phases"]) {
      const reader = phase["roles"]?.[0];
      if (reader) {
        reader["threads"] = 1;
        reader["rate"] = { operations_per_s: offered, schedule: "poisson" };
      }
    }
  },
  record: (record) => {
    const key = String(record["case"]["key"]);
    for (const phase of record["phases"]) {
      for (const role of phase["roles"]) if (role["role"] === "readers") role["offered_per_s"] = key.endsWith("t2") ? 2000 : 1000;
    }
  },
  files: { "latency.hlog": (text) => text + text.split("\n").filter((line) => line.includes("readers/get/service"))
    .map((line) => line.replace("/service", "/response") + "\n").join("") },
};

/** Four ranks on two hosts in place of one worker, the last of them at half the pace. */
export const CREW: Bend = {
  case: (planned) => {
    if (planned["threads"] != null) planned["threads"] *= 4;
    for (const phase of planned["phases"]) for (const role of phase["roles"] ?? []) role["threads"] *= 4;
  },
  record: (record) => {
    for (const phase of record["phases"]) {
      if (!["load", "measure"].includes(phase["kind"])) continue;
      let operations = 0, threads = 0;
      for (const role of phase["roles"]) {
        role["threads"] *= 4;
        threads += role["threads"] / 4;
        const ops = Object.values<Json>(role["ops"]);
        const each = Math.floor(ops.reduce((sum, op) => sum + op["items"], 0) / role["threads"]);
        operations += (each * role["threads"]) / 4;
        const last = (role["threads"] / 4) * 3;
        if (phase["kind"] === "measure") {
          role["windows"] = Array.from({ length: role["threads"] }, (_, at) => ({ window_ns: role["window_ns"], operations: at < last ? each : Math.floor(each / 2) }));
        }
      }
      phase["ranks"] = Array.from({ length: 4 }, (_, rank) => ({
        rank, host: rank < 2 ? "node0" : "{b|node1}", cpus: 8, threads, operations, errors: 0, backlog: 0, window_ns: phase["roles"][0]["window_ns"],
        cpu_ns: 2e9, skew_ns: rank * 12e4, clock_offset_ns: rank < 2 ? 0 : -17e5, clock_error_ns: rank * 1e4,
      }));
    }
  },
};

/** A text that must not act on a page. */
export const HOSTILE = `</script><script>window.hit=1</script><img src=x onerror="window.hit=1">{a|b}%KVDYNO_DATA%`;

export const EVIL: Bend = {
  case: (planned) => { planned["label"] = `${planned["engine"]} ${HOSTILE}`; },
  plan: (plan) => { plan["title"] = HOSTILE; plan["suite"] = HOSTILE; plan["sized"] = [HOSTILE]; },
  run: (run) => { run["suite"] = HOSTILE; run["command"] = ["kvdyno", HOSTILE]; run["data_dir"] = HOSTILE; run["host_before"]["hostname"] = HOSTILE; },
  record: (record) => {
    record["not_measured"] = [HOSTILE];
    if (record["worker"]) record["worker"]["description"]["engine"]["version"] = HOSTILE;
    if (record["outcome"]["message"]) record["outcome"]["message"] = HOSTILE;
  },
  files: { ...RICH.files, "events.ndjson": () => JSON.stringify({ at_unix_ns: BEGAN + 1e9, kind: "stall", edge: "point", detail: { [HOSTILE]: HOSTILE } }) + "\n" },
};

/** A nearly empty record: no samples, no time lines, no worker, no operation. */
export const BARE: Bend = {
  files: { "latency.hlog": () => null, "series.ndjson": () => null, "counters.json": () => null },
  record: (record) => {
    if (record["case"]["engine"] === "rocksdb") record["worker"] = null;
    record["ram_limit"] = { ...record["ram_limit"], enforced_by: null, reason: "not root" };
    for (const phase of record["phases"]) {
      phase["before"]["device"] = null;
      phase["after"]["process"] = null;
      phase["database"] = null;
      for (const role of phase["roles"]) {
        for (const op of Object.values<Json>(role["ops"])) Object.assign(op, { count: 0, found: 0, items: 0, service_ns: 0, service_ns_max: 0 });
      }
    }
  },
  run: (run) => { run["load_generator_ns_per_op"] = null; run["host_before"]["drive"] = null; run["ended_unix_ns"] = null; },
};

/** Extends a record from two to six trials, and multiplies the windows of LMDB's readers by `slower`. */
export function addTrials(run: string, slower: number): string {
  const cases = join(run, "cases");
  const stretchWindows = (record: Json, trial: number): void => {
    for (const phase of record["phases"]) {
      for (const role of phase["roles"]) {
        const factor = role["role"] === "readers" && record["case"]["engine"] === "lmdb" ? slower : 1;
        role["window_ns"] = Math.round(role["window_ns"] * factor * (1 + 0.004 * ((trial * 7) % 5)));
      }
    }
  };
  const planned: Json[] = [];
  editJson(join(run, "plan.json"), (plan) => {
    planned.push(...plan["cases"]);
    for (let trial = 3; trial <= 6; trial += 1) {
      const like = planned.filter((one) => one["trial"] === (trial % 2) + 1);
      plan["cases"].push(...like.map((one) => JSON.parse(JSON.stringify(one).replaceAll(`_r${one["trial"]}"`, `_r${trial}"`)) as Json)
        .map((one) => ({ ...one, trial })));
    }
  });
  for (const one of planned) {
    const from = join(cases, one["id"]);
    for (let trial = 3; trial <= 6; trial += 1) {
      if (one["trial"] !== (trial % 2) + 1) continue;
      const to = join(cases, String(one["id"]).replace(/_r\d$/, `_r${trial}`));
      cpSync(from, to, { recursive: true });
      const path = join(to, "case.json");
      const record = JSON.parse(readFileSync(path, "utf8").replaceAll(`_r${one["trial"]}"`, `_r${trial}"`)) as Json;
      record["case"]["trial"] = trial;
      stretchWindows(record, trial);
      writeFileSync(path, JSON.stringify(record));
    }
    editJson(join(from, "case.json"), (record) => stretchWindows(record, one["trial"]));
  }
  return sealRecord(run);
}
