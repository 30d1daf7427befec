//! Small suites, built from their parts.

/// The default number of records.
pub(crate) const RECORDS: u64 = 2000;

/// A suite's parts.
#[derive(Clone)]
pub(crate) struct Suite {
    data: String,
    tables: String,
    run: String,
    engines: String,
    phases: String,
}

/// A few records, one trial.
pub(crate) fn suite() -> Suite {
    Suite {
        data: format!("records = {RECORDS}\nvalue_bytes = 100\n"),
        tables: String::new(),
        run: "trials = 1\n".to_owned(),
        engines: String::new(),
        phases: String::new(),
    }
}

/// A load, and 200 ms of reads by one thread.
pub(crate) fn reads() -> Suite {
    suite().load("batch = 500").measure("duration = \"200ms\"").role("readers", GET)
}

/// Looks keys up.
pub(crate) const GET: &str = "mix = [{ op = \"get\" }]";

/// Writes keys that are there.
pub(crate) const UPDATE: &str = "mix = [{ op = \"update\" }]";

impl Suite {
    /// Replaces the keys of `[data]`.
    pub(crate) fn data(mut self, lines: &str) -> Self {
        self.data = format!("{lines}\n");
        self
    }

    /// More of `[run]`.
    pub(crate) fn run(mut self, line: &str) -> Self {
        self.run += &format!("{line}\n");
        self
    }

    /// Replaces the single trial.
    pub(crate) fn trials(mut self, trials: u32) -> Self {
        self.run = self.run.replace("trials = 1", &format!("trials = {trials}"));
        self
    }

    /// A RAM limit.
    pub(crate) fn ram(self, limit: &str) -> Self {
        self.rams(&format!("\"{limit}\""))
    }

    /// RAM limits as TOML.
    pub(crate) fn rams(mut self, limits: &str) -> Self {
        self.tables += &format!("[ram]\nlimit = {limits}\n");
        self
    }

    /// The tier below the last RAM limit: further lines after its name.
    pub(crate) fn tier(mut self, name: &str, lines: &str) -> Self {
        self.tables += &format!("[[ram.tier]]\nname = \"{name}\"\n{lines}\n");
        self
    }

    /// A crew of this many ranks on this machine.
    pub(crate) fn crew(mut self, ranks: u32) -> Self {
        self.tables += &format!("[crew]\nhosts = [\"localhost:{ranks}\"]\n");
        self
    }

    /// A volume: further lines after its name.
    pub(crate) fn volume(mut self, name: &str, lines: &str) -> Self {
        self.tables += &format!("[[volume]]\nname = \"{name}\"\n{lines}\n");
        self
    }

    /// An engine with its defaults.
    pub(crate) fn engine(self, name: &str) -> Self {
        self.engine_as(name, name, "")
    }

    /// An engine with a label and options.
    pub(crate) fn engine_as(mut self, label: &str, name: &str, options: &str) -> Self {
        self.engines += &format!(
            "[[engine]]\nname = \"{name}\"\nlabel = \"{label}\"\n[engine.options]\n{options}\n"
        );
        self
    }

    /// A phase that loads.
    pub(crate) fn load(self, lines: &str) -> Self {
        self.phase("load", lines)
    }

    /// A phase that measures; its roles come next.
    pub(crate) fn measure(self, lines: &str) -> Self {
        self.phase("measure", lines)
    }

    /// A phase.
    pub(crate) fn phase(mut self, kind: &str, lines: &str) -> Self {
        self.phases += &format!("[[phase]]\nkind = \"{kind}\"\n{lines}\n");
        self
    }

    /// A role of the last phase.
    pub(crate) fn role(mut self, name: &str, lines: &str) -> Self {
        self.phases += &format!("[[phase.role]]\nname = \"{name}\"\n{lines}\n");
        self
    }

    /// With text replaced in its engines.
    pub(crate) fn with(mut self, part: &str, other: &str) -> Self {
        self.engines = self.engines.replace(part, other);
        self
    }

    /// Its text.
    pub(crate) fn text(&self) -> String {
        let Self { data, tables, run, engines, phases } = self;
        format!("[suite]\nname = \"test\"\n[data]\n{data}{tables}[run]\n{run}{engines}{phases}")
    }
}
