//! The shapes that are measured and their caps.
//!
//! One table holds every shape with its unit, its caps and the next step; everything else
//! is derived from it. The caps were set by compiling the worst module that each of them
//! lets pass, and by measuring real programs.

/// Defines [`Shape`] and the table behind it.
macro_rules! shapes {
    ($($(#[$doc:meta])* $shape:ident $name:literal ($unit:literal) untrusted $untrusted:literal runtime $runtime:literal hint $hint:expr;)*) => {
        /// One bound on the shape of a module. All counts are sums over the whole input,
        /// nested modules and components included, unless said otherwise.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Shape {
            $($(#[$doc])* $shape,)*
        }

        impl Shape {
            /// Every shape, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$shape,)*];

            /// The name in reports and options.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$shape => $name,)* }
            }

            /// What is counted, as words that follow a number.
            #[must_use]
            pub const fn unit(self) -> &'static str {
                match self { $(Self::$shape => $unit,)* }
            }

            /// The next step for the maker of a module that has too much of it.
            #[must_use]
            pub const fn hint(self) -> &'static str {
                match self { $(Self::$shape => $hint,)* }
            }
        }

        impl ModuleLimits {
            /// Caps for modules that nobody vouches for: the defaults.
            #[must_use]
            pub const fn untrusted() -> Self {
                Self { caps: [$($untrusted,)*] }
            }

            /// Looser caps for pinned language runtimes, such as an interpreter or a
            /// compiler of tens of megabytes.
            #[must_use]
            pub const fn runtime() -> Self {
                Self { caps: [$($runtime,)*] }
            }
        }

        /// Number of shapes.
        const SHAPES: usize = [$(Shape::$shape,)*].len();
    };
}

const SMALLER: &str = "build it optimized for size and strip it";
const SPLIT: &str = "split the function or build it with optimization";
const FEWER: &str = "reduce what it declares";
const FLAT: &str = "ship one flat component or a core module";

shapes! {
    /// Bytes of the whole input.
    ModuleSize "module-size" ("bytes") untrusted 16_777_216 runtime 536_870_912 hint SMALLER;
    /// Bytes of all function bodies.
    CodeSize "code-size" ("bytes of code") untrusted 8_388_608 runtime 335_544_320 hint SMALLER;
    /// Estimated work of compiling all code; an ordinary instruction is 1.
    Work "work" ("units of compile work") untrusted 14_000_000 runtime 800_000_000 hint SMALLER;
    /// Declared types: core types, component types and the declarations inside of them.
    Types "types" ("types") untrusted 10_000 runtime 10_000 hint FEWER;
    /// Bytes of the type sections of components.
    TypeBytes "type-bytes" ("bytes of component types") untrusted 1_048_576 runtime 1_048_576 hint FEWER;
    /// Depth of component and instance types within each other; the deepest.
    TypeNesting "type-nesting" ("levels of nested types") untrusted 10 runtime 10 hint FLAT;
    /// Parameters or results of one core function type, whichever is more; the largest.
    TypeArity "type-arity" ("parameters or results") untrusted 128 runtime 256 hint "pass them through memory";
    /// Imports of modules and components.
    Imports "imports" ("imports") untrusted 1_000 runtime 4_000 hint FEWER;
    /// Exports of modules, components and of instances made of single items.
    Exports "exports" ("exports") untrusted 4_000 runtime 20_000 hint "export only what the host calls";
    /// Bytes of the longest import or export name.
    NameSize "name-size" ("bytes in one name") untrusted 1_024 runtime 4_096 hint "shorten the name";
    /// Functions with a body.
    Functions "functions" ("functions") untrusted 20_000 runtime 600_000 hint SMALLER;
    /// Globals, imported ones counted.
    Globals "globals" ("globals") untrusted 2_000 runtime 20_000 hint FEWER;
    /// Exception tags, imported ones counted.
    Tags "tags" ("exception tags") untrusted 100 runtime 1_000 hint FEWER;
    /// Tables, imported ones counted.
    Tables "tables" ("tables") untrusted 10 runtime 20 hint FEWER;
    /// Declared minimum elements of all tables.
    TableElements "table-elements" ("declared table elements") untrusted 100_000 runtime 400_000 hint FEWER;
    /// Memories, imported ones counted.
    Memories "memories" ("memories") untrusted 10 runtime 20 hint FEWER;
    /// Declared minimum size of all memories in pages of 64 KiB.
    MemoryPages "memory-pages" ("declared memory pages") untrusted 16_384 runtime 65_536 hint "start small and grow";
    /// Data segments.
    DataSegments "data-segments" ("data segments") untrusted 20_000 runtime 100_000 hint "merge the segments";
    /// Element segments.
    ElementSegments "element-segments" ("element segments") untrusted 1_000 runtime 20_000 hint "merge the segments";
    /// Entries of all element segments.
    ElementEntries "element-entries" ("element entries") untrusted 100_000 runtime 400_000 hint FEWER;
    /// Instructions of one constant expression; the longest.
    Initializer "initializer" ("instructions in a constant expression") untrusted 100 runtime 100 hint "compute it in the start function";
    /// Bytes of one function body; the largest.
    FunctionSize "function-size" ("bytes of code") untrusted 524_288 runtime 2_097_152 hint SPLIT;
    /// Parameters and locals of one function; the most.
    Locals "locals" ("parameters and locals") untrusted 16_000 runtime 50_000 hint SPLIT;
    /// Depth of nested blocks in one function; the deepest.
    Nesting "nesting" ("levels of nested blocks") untrusted 2_000 runtime 20_000 hint SPLIT;
    /// Blocks and branches of one function; the most.
    Blocks "blocks" ("blocks and branches") untrusted 8_000 runtime 40_000 hint SPLIT;
    /// Blocks that the engine adds: lazy table entries, barriers of references, checks of
    /// indirect calls; of one function, the most.
    HiddenBlocks "hidden-blocks" ("checks and barriers of references") untrusted 16_000 runtime 400_000 hint SPLIT;
    /// References that may live at a call, summed over the calls of one function; the most.
    Safepoints "safepoints" ("references live across calls") untrusted 200_000 runtime 40_000_000 hint SPLIT;
    /// Locals and operands that may live at a block or branch, summed over those of one
    /// function; the most.
    LiveValues "live-values" ("values live across blocks") untrusted 16_000_000 runtime 40_000_000 hint SPLIT;
    /// Locals that may change in a loop, summed over the loops of one function; the most.
    LoopValues "loop-values" ("locals across loops") untrusted 200_000 runtime 400_000 hint SPLIT;
    /// Targets of all jump tables of one function; the most.
    BranchTargets "branch-targets" ("jump table targets") untrusted 8_192 runtime 65_536 hint SPLIT;
    /// Catch clauses of one `try_table`, those of the blocks around it counted; the most.
    Catches "catches" ("active catch clauses") untrusted 100 runtime 400 hint SPLIT;
    /// Calls and throws times the catch clauses active at them, summed over one function;
    /// the most.
    LandingPads "landing-pads" ("catch clauses at calls") untrusted 20_000 runtime 160_000 hint SPLIT;
    /// Values passed by calls, blocks and branches of one function; the most.
    Operands "operands" ("values passed by calls and branches") untrusted 65_536 runtime 262_144 hint SPLIT;
    /// Core modules inside of components.
    Modules "modules" ("core modules") untrusted 32 runtime 64 hint FLAT;
    /// Components inside of components.
    Components "components" ("nested components") untrusted 64 runtime 64 hint FLAT;
    /// Depth of components within each other; the deepest.
    ComponentNesting "component-nesting" ("levels of nested components") untrusted 4 runtime 4 hint FLAT;
    /// Core and component instances that instantiating creates, each instantiation of a
    /// nested component counted in full.
    Instances "instances" ("instances") untrusted 1_000 runtime 1_000 hint FLAT;
    /// Aliases, canonical functions, arguments and exports that instantiating passes
    /// through, each instantiation of a nested component counted in full.
    Wiring "wiring" ("items wired between instances") untrusted 10_000 runtime 20_000 hint FLAT;
    /// Fields and cases of the types that canonical functions convert, each instantiation
    /// of a nested component counted in full.
    Conversions "conversions" ("converted fields") untrusted 100_000 runtime 100_000 hint "pass lists or handles instead of wide records";
}

/// The caps on the shape of a module, one per [`Shape`], in the shape's unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleLimits {
    caps: [u64; SHAPES],
}

impl Default for ModuleLimits {
    fn default() -> Self {
        Self::untrusted()
    }
}

impl ModuleLimits {
    /// The most that a module may have of a shape.
    #[must_use]
    pub fn cap(&self, shape: Shape) -> u64 {
        self.caps.get(shape as usize).copied().unwrap_or(0)
    }

    /// The same limits with another cap for one shape.
    #[must_use]
    pub fn with(mut self, shape: Shape, cap: u64) -> Self {
        if let Some(slot) = self.caps.get_mut(shape as usize) {
            *slot = cap;
        }
        self
    }
}

/// What was measured so far, in the units of the shapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Uses([u64; SHAPES]);

impl Uses {
    pub(super) const fn none() -> Self {
        Self([0; SHAPES])
    }

    pub(super) fn of(&self, shape: Shape) -> u64 {
        self.0.get(shape as usize).copied().unwrap_or(0)
    }

    pub(super) fn set(&mut self, shape: Shape, used: u64) {
        if let Some(slot) = self.0.get_mut(shape as usize) {
            *slot = used;
        }
    }
}
