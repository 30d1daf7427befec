//! What a reader asks: the answer in sentences, searches, histories, trends, fleets and studies.

pub mod answer;
pub mod fleet;
pub mod history;
pub mod search;
pub mod series;
pub mod study;
pub mod summary;
pub mod target;
pub mod trend;
