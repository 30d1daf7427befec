//! Engines under other defaults. The kit opens an engine with its defaults, in the weakest
//! durability class; an adjusted engine lets it check others.

use crate::{
    Counters, DataShape, Description, Durability, Engine, EngineEvent, Location, Options, Result,
    Settled,
};
use std::marker::PhantomData;
use std::time::Duration;

/// A change to an engine's description and options.
pub trait Adjust: Send + Sync + 'static {
    /// The engine.
    type Engine: Engine;

    /// Changes the description.
    fn describe(_description: &mut Description) {}

    /// Changes the options of an open.
    fn configure(_location: &Location, _options: &mut Options) -> Result<()> {
        Ok(())
    }
}

/// An engine with the change `A`.
#[derive(Debug)]
pub struct Adjusted<A: Adjust>(A::Engine);

impl<A: Adjust> Engine for Adjusted<A> {
    type Session<'e> = <A::Engine as Engine>::Session<'e>;

    fn describe() -> Description {
        let mut description = A::Engine::describe();
        A::describe(&mut description);
        description
    }

    fn open(location: &Location, options: &Options, data: &DataShape) -> Result<Self> {
        let mut options = options.clone();
        A::configure(location, &mut options)?;
        A::Engine::open(location, &options, data).map(Self)
    }

    fn session(&self) -> Result<Self::Session<'_>> {
        self.0.session()
    }

    fn settle(&self, limit: Duration) -> Result<Settled> {
        self.0.settle(limit)
    }

    fn sync(&self) -> Result<()> {
        self.0.sync()
    }

    fn close(self) -> Result<()> {
        self.0.close()
    }

    fn counters(&self) -> Counters {
        self.0.counters()
    }

    fn events(&self) -> Vec<EngineEvent> {
        self.0.events()
    }
}

/// An engine in one durability class: none, async and commit are 0, 1 and 2.
pub type Only<E, const CLASS: usize> = Adjusted<Class<E, CLASS>>;

/// The change that makes [`Only`].
#[derive(Debug)]
pub struct Class<E, const CLASS: usize>(PhantomData<E>);

impl<E: Engine, const CLASS: usize> Adjust for Class<E, CLASS> {
    type Engine = E;

    fn describe(description: &mut Description) {
        let class = [Durability::None, Durability::Async, Durability::Commit][CLASS];
        description.capabilities.durability.retain(|other, _| *other == class);
    }
}
