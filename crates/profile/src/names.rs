//! Names of functions, by the addresses in them.

use crate::address::CodeAddress;
use crate::memory::own_vdso;
use blazesym::symbolize::source::{Elf, Kernel, Process, Source};
use blazesym::symbolize::{Input, Sym, Symbolized, Symbolizer};
use blazesym::{MaybeDefault, Pid};
use kvdyno_record::profile::{CUT, Function, KERNEL, VDSO};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// The functions at addresses, outermost first: a function, and those inlined into it there.
pub(crate) struct Names {
    functions: Vec<Function>,
    numbers: HashMap<Function, u32>,
    by_address: HashMap<CodeAddress, Vec<u32>>,
}

impl Names {
    /// Reads the symbols of all files in which an address is.
    pub(crate) fn resolve(addresses: BTreeSet<CodeAddress>, paths: &[PathBuf]) -> Self {
        let mut names =
            Self { functions: Vec::new(), numbers: HashMap::new(), by_address: HashMap::new() };
        let symbolizer = Symbolizer::new();
        for (module, addresses) in group_by_module(addresses) {
            let offsets: Vec<u64> = addresses.iter().map(|address| offset(*address)).collect();
            let symbols = module.symbols(&symbolizer, &offsets, paths);
            for (index, address) in addresses.into_iter().enumerate() {
                let symbol = symbols.get(index).and_then(Symbolized::as_sym);
                let functions = module.functions(symbol, offsets[index], paths);
                let numbers = functions.into_iter().map(|function| names.number(function));
                let numbers = numbers.collect();
                names.by_address.insert(address, numbers);
            }
        }
        names
    }

    /// The functions at an address, by their numbers, outermost first.
    pub(crate) fn find_functions(&self, address: CodeAddress) -> &[u32] {
        self.by_address.get(&address).map_or(&[], Vec::as_slice)
    }

    /// A function by its number.
    pub(crate) fn function(&self, number: u32) -> &Function {
        &self.functions[number as usize]
    }

    /// All functions, by their numbers.
    pub(crate) fn into_functions(self) -> Vec<Function> {
        self.functions
    }

    fn number(&mut self, function: Function) -> u32 {
        let next = self.functions.len() as u32;
        let number = *self.numbers.entry(function.clone()).or_insert(next);
        if number == next {
            self.functions.push(function);
        }
        number
    }
}

/// The source of symbols.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Module {
    Kernel,
    File(u32),
    Vdso,
    Unknown,
    Cut,
}

fn group_by_module(addresses: BTreeSet<CodeAddress>) -> BTreeMap<Module, Vec<CodeAddress>> {
    let mut modules: BTreeMap<Module, Vec<CodeAddress>> = BTreeMap::new();
    for address in addresses {
        let module = match address {
            CodeAddress::Kernel(_) => Module::Kernel,
            CodeAddress::File(file, _) => Module::File(file),
            CodeAddress::Vdso(_) => Module::Vdso,
            CodeAddress::Unknown => Module::Unknown,
            CodeAddress::Cut => Module::Cut,
        };
        modules.entry(module).or_default().push(address);
    }
    modules
}

fn offset(address: CodeAddress) -> u64 {
    match address {
        CodeAddress::Kernel(offset) | CodeAddress::File(_, offset) | CodeAddress::Vdso(offset) => {
            offset
        }
        CodeAddress::Unknown | CodeAddress::Cut => 0,
    }
}

impl Module {
    /// The symbols at offsets; empty: there are none to read.
    fn symbols<'s>(
        self,
        symbolizer: &'s Symbolizer,
        offsets: &[u64],
        paths: &[PathBuf],
    ) -> Vec<Symbolized<'s>> {
        let symbols = match self {
            Self::File(file) => {
                let source = Source::Elf(Elf::new(&paths[file as usize]));
                symbolizer.symbolize(&source, Input::FileOffset(offsets))
            }
            Self::Kernel => {
                // An image of the kernel with all of its debug information takes seconds to read.
                let kernel = Kernel { vmlinux: MaybeDefault::None, ..Kernel::default() };
                symbolizer.symbolize(&Source::Kernel(kernel), Input::AbsAddr(offsets))
            }
            Self::Vdso => {
                let Some(vdso) = own_vdso() else { return Vec::new() };
                let addresses: Vec<u64> =
                    offsets.iter().map(|offset| vdso.start + offset).collect();
                let source = Source::Process(Process::new(Pid::Slf));
                symbolizer.symbolize(&source, Input::AbsAddr(&addresses))
            }
            Self::Unknown | Self::Cut => return Vec::new(),
        };
        symbols.unwrap_or_default()
    }

    fn functions(self, symbol: Option<&Sym<'_>>, offset: u64, paths: &[PathBuf]) -> Vec<Function> {
        let module = self.name(paths);
        let function = |name: &str| Function { name: name.to_owned(), module: module.clone() };
        let Some(symbol) = symbol else {
            return vec![match self {
                Self::Cut => function(CUT),
                Self::Unknown => function("[unknown]"),
                // Addresses of the kernel say nothing, and differ from boot to boot.
                Self::Kernel => function(KERNEL),
                Self::File(_) | Self::Vdso => function(&format!("{module}+{offset:#x}")),
            }];
        };
        let inlined = symbol.inlined.iter().map(|inlined| function(&inlined.name));
        let mut functions: Vec<_> =
            std::iter::once(function(&symbol.name)).chain(inlined).collect();
        // An alias of a function's symbol is described as inlined into it.
        functions.dedup();
        functions
    }

    fn name(self, paths: &[PathBuf]) -> String {
        match self {
            Self::Kernel => KERNEL.to_owned(),
            Self::Vdso => VDSO.to_owned(),
            Self::File(file) => file_name(&paths[file as usize]),
            Self::Unknown | Self::Cut => String::new(),
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
