//! The choice of the figures that a comparison shows.

use crate::figures::catalogue as c;
use crate::figures::metric::{Definition, Direction};

/// The choice of the figures that a comparison shows.
#[derive(Clone, Debug, Default)]
pub enum FigureChoice {
    /// The usual ones.
    #[default]
    Usual,
    /// All with a better direction, and each operation by itself.
    All,
    /// The named ones.
    Named(Vec<&'static Definition>),
}

/// An unknown figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown figure `{name}`")]
pub struct UnknownFigure {
    /// The name as the user typed it.
    pub name: String,
    /// Names that contain it; all, where none does.
    pub known: Vec<&'static str>,
}

/// The scope of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FigureScope {
    Load,
    Phase,
    /// A role; `mix`: with several kinds of operations.
    Role {
        open_loop: bool,
        mix: bool,
    },
    /// One operation of a role.
    Op {
        open_loop: bool,
    },
}

const LOAD: [&Definition; 3] = [&c::RECORDS_PER_S, &c::INSTRUCTIONS_PER_OP, &c::DATABASE_USED];
const PHASE: [&Definition; 4] =
    [&c::DEVICE_WRITE_BYTES_PER_OP, &c::CPU_PER_OP, &c::INSTRUCTIONS_PER_OP, &c::DATABASE_USED];
const CLOSED: [&Definition; 4] =
    [&c::OPS_PER_S, &c::SERVICE_P50, &c::SERVICE_P99, &c::SERVICE_P999];
/// On a schedule, the wait before an operation began counts.
const OPEN: [&Definition; 4] =
    [&c::OPS_PER_S, &c::RESPONSE_P50, &c::RESPONSE_P99, &c::RESPONSE_P999];

impl FigureChoice {
    /// The figures of these names.
    pub fn from_names(names: &[String]) -> Result<Self, UnknownFigure> {
        let definitions = names.iter().map(|name| find(name)).collect::<Result<_, _>>()?;
        Ok(Self::Named(definitions))
    }

    /// Whether a figure is judged: a primary one, or one that was named.
    pub(crate) fn judges(&self, name: &str, scope: FigureScope) -> bool {
        matches!(self, Self::Named(_)) || scope.is_primary(name)
    }

    pub(crate) fn includes(&self, name: &str, direction: Direction, scope: FigureScope) -> bool {
        let among = |figures: &[&Definition]| figures.iter().any(|figure| figure.name == name);
        let latency = c::is_latency(name);
        match (self, scope) {
            // Common latencies of several kinds of operations have no meaning.
            (_, FigureScope::Role { mix: true, .. }) if latency => false,
            (Self::Named(_) | Self::Usual, FigureScope::Op { .. }) if !latency => false,
            (Self::All, _) => direction != Direction::Neither,
            (Self::Named(definitions), _) => among(definitions),
            (Self::Usual, FigureScope::Load) => among(&LOAD),
            (Self::Usual, FigureScope::Phase) => among(&PHASE),
            (Self::Usual, FigureScope::Role { open_loop, .. } | FigureScope::Op { open_loop }) => {
                among(if open_loop { &OPEN } else { &CLOSED })
            }
        }
    }
}

impl FigureScope {
    /// Whether a figure is the one by which its scope is judged: a rate, or the count of
    /// instructions where there is no rate; on a schedule, the 99th percentile of response times.
    fn is_primary(self, name: &str) -> bool {
        let is = |figure: &Definition| figure.name == name;
        match self {
            Self::Load => is(&c::RECORDS_PER_S) || is(&c::INSTRUCTIONS_PER_OP),
            Self::Phase => is(&c::INSTRUCTIONS_PER_OP),
            Self::Role { open_loop, .. } if !open_loop => is(&c::OPS_PER_S),
            Self::Role { .. } => is(&c::RESPONSE_P99),
            Self::Op { open_loop } => open_loop && is(&c::RESPONSE_P99),
        }
    }
}

fn find(name: &str) -> Result<&'static Definition, UnknownFigure> {
    let definition = c::ALL.iter().find(|definition| definition.name == name);
    definition.copied().ok_or_else(|| {
        let all = || c::ALL.iter().map(|definition| definition.name);
        let mut names: Vec<&str> = all().filter(|other| other.contains(name)).collect();
        if names.is_empty() {
            names = all().collect();
        }
        UnknownFigure { name: name.to_owned(), known: names }
    })
}
