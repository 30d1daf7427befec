// The data of a fleet's page: one suite's figures by host.

import type { Definition, Direction } from "./data";

export interface FleetData {
  kind: "fleet";
  program: string;
  fleet: Fleet;
  remarks: [word: string, text: string][];
  aid: string;
  definitions: Definition[];
}

export interface Fleet {
  suite: string;
  hosts: FleetHost[];
  left_out: { run: string; reason: string }[];
  figures: FleetFigure[];
  facts: FleetFact[];
  outlier_hosts: FleetApart[];
}

export interface FleetHost {
  name: string;
  run: string;
  started_unix_ns: number;
  machine: string;
  drive_health: string | null;
}

export interface FleetFigure {
  case: string;
  phase: string;
  role: string | null;
  figure: string;
  unit: string;
  direction: Direction;
  values: (number | null)[];
  median: number;
  outliers: FleetOutlier[];
}

export interface FleetOutlier {
  host: number;
  ratio: number | null;
  better: boolean;
}

export interface FleetFact {
  name: string;
  values: string[];
  most: string | null;
}

export interface FleetApart {
  host: number;
  worse: number[];
  better: number[];
  only_apart: number[];
}
