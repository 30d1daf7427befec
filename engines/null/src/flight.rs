//! Operations in flight of an engine that performs none. Each is done when it is submitted, and
//! answered later and out of order, so that this tests how the caller tells answers apart.

use kvdyno_engine::Result;

/// The result of an operation in flight.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The value of every record.
    Value,
    /// A value of the store.
    Stored(Vec<u8>),
    /// A write, or a key that is not there.
    Nothing,
}

/// Answers that were not read yet.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    waiting: Vec<(u32, Result<Answer>)>,
    sent: usize,
}

impl Flight {
    pub(crate) fn queue_answer(&mut self, ticket: u32, answer: Result<Answer>) {
        self.waiting.push((ticket, answer));
    }

    pub(crate) fn send(&mut self) {
        self.sent = self.waiting.len();
    }

    /// Answers the newer half of the operations that were sent.
    pub(crate) fn complete(
        &mut self,
        value: &[u8],
        mut done: impl FnMut(u32, Result<Option<&[u8]>>),
    ) -> usize {
        let answered = self.sent.div_ceil(2);
        self.sent -= answered;
        for (ticket, answer) in self.waiting.drain(self.sent..self.sent + answered) {
            match answer {
                Ok(Answer::Value) => done(ticket, Ok(Some(value))),
                Ok(Answer::Stored(value)) => done(ticket, Ok(Some(&value))),
                Ok(Answer::Nothing) => done(ticket, Ok(None)),
                Err(error) => done(ticket, Err(error)),
            }
        }
        answered
    }
}
