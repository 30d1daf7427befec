//! The `Engine` trait for libmdbx; sessions are those of LMDB's adapter.

use crate::describe::{self, PAGE};
use crate::library::ffi;
use crate::raw::Env;
use crate::session::EnvSession;
use crate::size;
use kvdyno_engine::{
    Counters, DataShape, Description, Engine, Location, Options, Result, Settled, Value,
};
use std::time::Duration;

/// An open environment of libmdbx.
pub(crate) struct Mdbx {
    env: Env,
    append: bool,
}

impl Engine for Mdbx {
    type Session<'e> = EnvSession<'e>;

    fn describe() -> Description {
        describe::description()
    }

    fn open(location: &Location, options: &Options, data: &DataShape) -> Result<Self> {
        let directory = location.directory()?;
        let opening = describe::opening(options, data)?;
        if opening.flags & ffi::MDBX_WRITEMAP != 0 {
            let needed = size::file_bytes(data, PAGE).min(opening.size_upper as u64);
            size::refuse_sigbus(directory, needed)?;
        }
        let env = Env::open(directory, &opening)?;
        Ok(Self { env, append: options.boolean("append")? })
    }

    fn session(&self) -> Result<EnvSession<'_>> {
        EnvSession::new(&self.env, self.append)
    }

    fn settle(&self, _limit: Duration) -> Result<Settled> {
        Ok(Settled::at_once())
    }

    fn sync(&self) -> Result<()> {
        self.env.sync()
    }

    fn close(self) -> Result<()> {
        self.env.close()
    }

    fn counters(&self) -> Counters {
        let mut counters = Counters::new();
        let mut count = |name: &str, value: u64| {
            counters.insert(name.to_owned(), Value::Integer(value));
        };
        if let Ok(stat) = self.env.stat() {
            count("ms_psize", stat.ms_psize.into());
            count("ms_depth", stat.ms_depth.into());
            count("ms_branch_pages", stat.ms_branch_pages);
            count("ms_leaf_pages", stat.ms_leaf_pages);
            count("ms_overflow_pages", stat.ms_overflow_pages);
            count("ms_entries", stat.ms_entries);
        }
        if let Ok(info) = self.env.info() {
            count("mi_geo.lower", info.mi_geo.lower);
            count("mi_geo.upper", info.mi_geo.upper);
            count("mi_geo.current", info.mi_geo.current);
            count("mi_geo.grow", info.mi_geo.grow);
            count("mi_geo.shrink", info.mi_geo.shrink);
            count("mi_last_pgno", info.mi_last_pgno);
            count("mi_recent_txnid", info.mi_recent_txnid);
            count("mi_maxreaders", info.mi_maxreaders.into());
            count("mi_numreaders", info.mi_numreaders.into());
            count("mi_unsync_volume", info.mi_unsync_volume);
            count("mi_autosync_threshold", info.mi_autosync_threshold);
            let pages = info.mi_pgop_stat;
            count("mi_pgop_stat.newly", pages.newly);
            count("mi_pgop_stat.cow", pages.cow);
            count("mi_pgop_stat.split", pages.split);
            count("mi_pgop_stat.merge", pages.merge);
            count("mi_pgop_stat.spill", pages.spill);
            count("mi_pgop_stat.unspill", pages.unspill);
            count("mi_pgop_stat.wops", pages.wops);
            count("mi_pgop_stat.msync", pages.msync);
            count("mi_pgop_stat.fsync", pages.fsync);
        }
        if let Ok(flags) = self.env.flags() {
            let names = Value::Text(describe::flag_names(flags));
            counters.insert("mdbx_env_get_flags".to_owned(), names);
        }
        counters
    }
}
