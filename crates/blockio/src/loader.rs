//! Loads and starts the programs: the kernel's layout, the tables, the programs in that order, or
//! the reason why not.

use super::btf::Btf;
use super::layout::{Layout, Moment};
use super::maps::Maps;
use super::program::Source;
use super::system::Program;
use super::watched::Watched;
use kvdyno_host::{Root, Unavailable};
use std::io;

/// The kernel's description of its types; anyone may read it.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// The tables and the loaded programs.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) maps: Maps,
    /// One for each [`Moment`], in their order.
    pub(super) programs: Vec<Program>,
}

/// Makes the tables and loads the programs. They do not run yet.
pub(super) fn load(root: &Root, devices: &[Watched], log: bool) -> Result<Loaded, Unavailable> {
    let layout = layout(root)?;
    let maps = Maps::create(devices.len() as u32, log)
        .map_err(|error| bpf_error(&error, "a table for it"))?;
    let source = Source { layout: &layout, devices, maps: &maps };
    let mut programs = Vec::new();
    for moment in Moment::ALL {
        let name = moment.tracepoint();
        let code = source.assemble(moment).ok_or_else(|| {
            Unavailable::new(
                format!("{} devices are too many", devices.len()),
                "use a volume on fewer",
            )
        })?;
        let program = Program::load(name, layout.tracepoint(moment).id, &code);
        programs.push(program.map_err(|error| bpf_error(&error, name))?);
    }
    Ok(Loaded { maps, programs })
}

/// Starts the programs in their order: none sees a completion before another can see its start.
pub(super) fn attach(loaded: &mut Loaded) -> Result<(), Unavailable> {
    for (program, moment) in loaded.programs.iter_mut().zip(Moment::ALL) {
        program.attach().map_err(|error| bpf_error(&error, moment.tracepoint()))?;
    }
    Ok(())
}

fn layout(root: &Root) -> Result<Layout, Unavailable> {
    let bytes = std::fs::read(root.path(TYPES)).map_err(|error| {
        Unavailable::new(
            format!("{TYPES}: {error}"),
            "use a kernel with CONFIG_DEBUG_INFO_BTF, as distributions build them since 2020",
        )
    })?;
    let newer = "use a newer kernel: tested on Linux 6.18";
    let btf =
        Btf::parse(bytes).ok_or_else(|| Unavailable::new(format!("cannot read {TYPES}"), newer))?;
    Layout::read(&btf)
        .map_err(|name| Unavailable::new(format!("this kernel has no `{name}`"), newer))
}

fn bpf_error(error: &io::Error, what: &str) -> Unavailable {
    if error.kind() == io::ErrorKind::PermissionDenied {
        Unavailable::new(
            format!("bpf(2) is not permitted to this process ({what})"),
            "run as root, or give it CAP_BPF and CAP_PERFMON, outside of a container",
        )
    } else {
        Unavailable::new(
            format!("the kernel refused {what}: {error}"),
            "use a newer kernel, with CONFIG_BPF_SYSCALL: tested on Linux 6.18",
        )
    }
}
