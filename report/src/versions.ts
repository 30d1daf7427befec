// The data of an engine's history over its versions.

/** One engine over its versions: values and steps of each figure, in the order of the versions. */
export interface History {
  engine: string;
  versions: { label: string; version: string; build: string }[];
  figures: VersionSeries[];
}

export interface VersionSeries {
  case: string;
  phase: string;
  role: string | null;
  figure: string;
  unit: string;
  values: ({ value: number | null; n: number; min: number | null; max: number | null } | null)[];
  /** The change from each version to the next: one fewer than versions. */
  steps: (HistoryStep | null)[];
}

export interface HistoryStep {
  ratio: number | null;
  ratio_low: number | null;
  ratio_high: number | null;
  verdict: string;
  reason: string | null;
}
