//! The walk over a module or component, section by section.

use wasmparser::{
    Chunk, CompositeInnerType, ConstExpr, DataKind, Element, ElementItems, ElementKind, Encoding,
    FromReader, Imports, MemoryType, Parser, Payload, RecGroup, SectionLimited, TableInit,
    TableType, TypeRef, ValidPayload, Validator, WasmFeatures,
};

use super::body::{self, Scratch};
use super::component::Components;
use super::error::{Place, ScanError};
use super::shape::{ModuleLimits, Shape, Uses};
use super::support::{SUPPORTED, refused, unsupported};
use crate::engine::Kind;

const MAGIC: &[u8] = b"\0asm";
/// Bytes of the magic, the version and the layer.
const HEADER: usize = 8;

/// What was measured of an accepted input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Module or component.
    pub kind: Kind,
    /// Where the largest body starts, when there is one.
    pub largest: Option<Place>,
    uses: Uses,
}

impl Facts {
    /// How much of a shape the input has, in the shape's unit.
    #[must_use]
    pub fn used(&self, shape: Shape) -> u64 {
        self.uses.of(shape)
    }
}

/// Measures and their caps.
pub(super) struct Tally<'l> {
    limits: &'l ModuleLimits,
    uses: Uses,
    /// Where the largest body so far starts.
    pub(super) largest: Option<Place>,
}

impl Tally<'_> {
    pub(super) fn used(&self, shape: Shape) -> u64 {
        self.uses.of(shape)
    }

    /// Adds to a sum.
    pub(super) fn add(&mut self, shape: Shape, more: u64, place: Place) -> Result<(), ScanError> {
        let used = self.uses.of(shape).saturating_add(more);
        self.most(shape, used, place)
    }

    /// Notes a measure of which the greatest counts.
    pub(super) fn most(&mut self, shape: Shape, used: u64, place: Place) -> Result<(), ScanError> {
        if used <= self.uses.of(shape) {
            return Ok(());
        }
        let cap = self.limits.cap(shape);
        if used > cap {
            return Err(ScanError::TooMuch {
                shape,
                cap,
                used,
                place,
            });
        }
        self.uses.set(shape, used);
        Ok(())
    }
}

/// Validates and measures a module or component. Takes time linear in the input.
///
/// # Errors
/// When the bytes are not valid, use a proposal that the engine does not offer, or exceed
/// a cap of `limits`.
pub fn scan(bytes: &[u8], limits: &ModuleLimits) -> Result<Facts, ScanError> {
    let mut tally = Tally {
        limits,
        uses: Uses::none(),
        largest: None,
    };
    tally.add(Shape::ModuleSize, bytes.len() as u64, Place::at(0))?;
    let kind = header(bytes)?;
    Walk {
        bytes,
        tally: &mut tally,
        validator: Validator::new_with_features(SUPPORTED),
        components: Components::default(),
        scratch: Scratch::default(),
        open: Vec::new(),
        memories: 0,
    }
    .run()?;
    Ok(Facts {
        kind,
        largest: tally.largest,
        uses: tally.uses,
    })
}

/// Tells from the first bytes what the input is.
fn header(bytes: &[u8]) -> Result<Kind, ScanError> {
    if !bytes.starts_with(MAGIC) {
        let text = bytes.trim_ascii_start();
        if text.starts_with(b"(") || text.starts_with(b";;") {
            return invalid(
                "this is WebAssembly text; turn it into a binary first, for example with `wasm-tools parse`",
                0,
            );
        }
        return invalid("it does not start with the bytes `\\0asm`", 0);
    }
    match bytes.get(MAGIC.len()..HEADER) {
        Some([1, 0, 0, 0]) => Ok(Kind::Core),
        Some([0x0d, 0, 1, 0]) => Ok(Kind::Component),
        Some([_, _, 0, 0]) => invalid("its version is not 1, the only one of core modules", 4),
        Some([_, _, 1, 0]) => invalid("its version is not 13, the only one of components", 4),
        Some(_) => invalid("it is neither a core module nor a component", 4),
        None => invalid("it ends within its header", bytes.len()),
    }
}

struct Walk<'b, 't, 'l> {
    bytes: &'b [u8],
    tally: &'t mut Tally<'l>,
    validator: Validator,
    components: Components,
    scratch: Scratch,
    /// What is open, the outermost first.
    open: Vec<Encoding>,
    /// Memories of the current module.
    memories: u32,
}

impl Walk<'_, '_, '_> {
    fn run(&mut self) -> Result<(), ScanError> {
        let bytes = self.bytes;
        let mut parser = Parser::new(0);
        parser.set_features(SUPPORTED);
        // The parsers of what is around the current module, as many as may nest.
        let mut outer: Vec<Parser> = Vec::new();
        let mut at = 0_usize;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let Chunk::Parsed { consumed, payload } =
                parser.parse(rest, true).map_err(|e| refused(&e))?
            else {
                return invalid("it ends too early", bytes.len());
            };
            at = at.saturating_add(consumed);
            self.measure(&payload)?;
            self.components.section(self.tally, &payload, bytes)?;
            match self.validator.payload(&payload).map_err(|e| refused(&e))? {
                ValidPayload::Ok => {}
                ValidPayload::Parser(inner) => {
                    outer.push(std::mem::replace(&mut parser, inner));
                }
                ValidPayload::Func(function, body) => {
                    body::body(self.tally, &mut self.scratch, function, &body, bytes)?;
                }
                ValidPayload::End(_) => {
                    if self.open.pop() == Some(Encoding::Component) {
                        self.components.leave();
                    }
                    match outer.pop() {
                        Some(around) => parser = around,
                        None => break,
                    }
                }
            }
            self.components
                .canonical(self.tally, &payload, self.validator.types(0))?;
        }
        if at < bytes.len() {
            return invalid("bytes follow its end", at);
        }
        Ok(())
    }

    /// Measures where a module or component starts, and the sections of core modules.
    fn measure(&mut self, payload: &Payload<'_>) -> Result<(), ScanError> {
        match payload {
            Payload::Version {
                encoding, range, ..
            } => self.start(*encoding, Place::at(range.start)),
            Payload::TypeSection(section) => self.types(section),
            Payload::ImportSection(section) => self.imports(section),
            Payload::FunctionSection(section) => self.count(Shape::Functions, section),
            Payload::TagSection(section) => self.count(Shape::Tags, section),
            Payload::TableSection(section) => each(section, |offset, table| {
                if let TableInit::Expr(expr) = &table.init {
                    self.initializer(expr, offset)?;
                }
                self.table(&table.ty, offset)
            }),
            Payload::MemorySection(section) => {
                each(section, |offset, memory| self.memory(&memory, offset))
            }
            Payload::GlobalSection(section) => each(section, |offset, global| {
                self.tally.add(Shape::Globals, 1, Place::at(offset))?;
                self.initializer(&global.init_expr, offset)
            }),
            Payload::ExportSection(section) => {
                self.count(Shape::Exports, section)?;
                self.trampolines(section)?;
                each(section, |offset, export| self.name(export.name, offset))
            }
            Payload::ElementSection(section) => {
                self.count(Shape::ElementSegments, section)?;
                each(section, |offset, element| self.elements(element, offset))
            }
            Payload::DataSection(section) => {
                self.count(Shape::DataSegments, section)?;
                each(section, |offset, data| match &data.kind {
                    DataKind::Active { offset_expr, .. } => self.initializer(offset_expr, offset),
                    DataKind::Passive => Ok(()),
                })
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self, encoding: Encoding, place: Place) -> Result<(), ScanError> {
        match encoding {
            Encoding::Component => self.components.enter(self.tally, place)?,
            Encoding::Module if self.open.is_empty() => {}
            Encoding::Module => self.tally.add(Shape::Modules, 1, place)?,
        }
        self.open.push(encoding);
        self.memories = 0;
        Ok(())
    }

    fn types(&mut self, section: &SectionLimited<'_, RecGroup>) -> Result<(), ScanError> {
        self.count(Shape::Types, section)?;
        self.trampolines(section)?;
        let mut groups = section.clone().into_iter();
        loop {
            let offset = groups.original_position();
            if groups.len() > 0 {
                no_recursion_group(self.bytes.get(offset), offset)?;
            }
            let Some(group) = groups.next() else {
                return Ok(());
            };
            for ty in group.map_err(|e| refused(&e))?.types() {
                if let CompositeInnerType::Func(ty) = &ty.composite_type.inner {
                    let arity = ty.params().len().max(ty.results().len());
                    self.tally
                        .most(Shape::TypeArity, arity as u64, Place::at(offset))?;
                }
            }
        }
    }

    fn imports(&mut self, section: &SectionLimited<'_, Imports<'_>>) -> Result<(), ScanError> {
        self.count(Shape::Imports, section)?;
        each(section, |offset, imports| {
            let Imports::Single(_, import) = imports else {
                return Err(unsupported(WasmFeatures::COMPACT_IMPORTS, offset));
            };
            self.name(import.module, offset)?;
            self.name(import.name, offset)?;
            match import.ty {
                TypeRef::Table(ty) => self.table(&ty, offset),
                TypeRef::Memory(ty) => self.memory(&ty, offset),
                TypeRef::Global(_) => self.tally.add(Shape::Globals, 1, Place::at(offset)),
                TypeRef::Tag(_) => self.tally.add(Shape::Tags, 1, Place::at(offset)),
                TypeRef::Func(_) | TypeRef::FuncExact(_) => Ok(()),
            }
        })
    }

    fn elements(&mut self, element: Element<'_>, offset: usize) -> Result<(), ScanError> {
        if let ElementKind::Active { offset_expr, .. } = &element.kind {
            self.initializer(offset_expr, offset)?;
        }
        match element.items {
            ElementItems::Functions(items) => {
                self.count(Shape::ElementEntries, &items)?;
                self.trampolines(&items)
            }
            ElementItems::Expressions(_, items) => {
                self.count(Shape::ElementEntries, &items)?;
                self.trampolines(&items)?;
                each(&items, |offset, expr| self.initializer(&expr, offset))
            }
        }
    }

    fn table(&mut self, ty: &TableType, offset: usize) -> Result<(), ScanError> {
        if ty.shared {
            return Err(unsupported(WasmFeatures::SHARED_EVERYTHING_THREADS, offset));
        }
        if ty.table64 {
            return Err(unsupported(WasmFeatures::MEMORY64, offset));
        }
        let place = Place::at(offset);
        self.tally.add(Shape::Tables, 1, place)?;
        self.tally.add(Shape::TableElements, ty.initial, place)
    }

    fn memory(&mut self, ty: &MemoryType, offset: usize) -> Result<(), ScanError> {
        if ty.shared {
            return Err(unsupported(WasmFeatures::THREADS, offset));
        }
        if ty.memory64 {
            return Err(unsupported(WasmFeatures::MEMORY64, offset));
        }
        if ty.page_size_log2.is_some() {
            return Err(unsupported(WasmFeatures::CUSTOM_PAGE_SIZES, offset));
        }
        self.memories = self.memories.saturating_add(1);
        if self.memories > 1 {
            return Err(unsupported(WasmFeatures::MULTI_MEMORY, offset));
        }
        let place = Place::at(offset);
        self.tally.add(Shape::Memories, 1, place)?;
        self.tally.add(Shape::MemoryPages, ty.initial, place)
    }

    fn initializer(&mut self, expr: &ConstExpr<'_>, offset: usize) -> Result<(), ScanError> {
        let mut operators = expr.get_operators_reader();
        let mut count = 0_u64;
        while !operators.eof() {
            operators.read().map_err(|e| refused(&e))?;
            count = count.saturating_add(1);
            self.tally
                .most(Shape::Initializer, count, Place::at(offset))?;
        }
        Ok(())
    }

    fn name(&mut self, name: &str, offset: usize) -> Result<(), ScanError> {
        self.tally
            .most(Shape::NameSize, name.len() as u64, Place::at(offset))
    }

    /// Charges the code that the engine adds for each item of a section: an entry for each
    /// function that the host may call, a caller for each type.
    fn trampolines<T>(&mut self, section: &SectionLimited<'_, T>) -> Result<(), ScanError> {
        let work = u64::from(section.count()).saturating_mul(body::FUNCTION);
        let place = Place::at(section.range().start);
        self.tally.add(Shape::Work, work, place)
    }

    /// Adds the declared number of items of a section to a sum.
    fn count<T>(&mut self, shape: Shape, section: &SectionLimited<'_, T>) -> Result<(), ScanError> {
        let place = Place::at(section.range().start);
        self.tally.add(shape, u64::from(section.count()), place)
    }
}

/// Runs `item` on each item of a section and its offset.
fn each<'a, T: FromReader<'a>>(
    section: &SectionLimited<'a, T>,
    mut item: impl FnMut(usize, T) -> Result<(), ScanError>,
) -> Result<(), ScanError> {
    for found in section.clone().into_iter_with_offsets() {
        let (offset, found) = found.map_err(|e| refused(&e))?;
        item(offset, found)?;
    }
    Ok(())
}

/// Refuses a recursion group before it is read: the reader would make room for as many
/// types as the group claims.
pub(super) fn no_recursion_group(first: Option<&u8>, offset: usize) -> Result<(), ScanError> {
    match first {
        Some(0x4e) => Err(unsupported(WasmFeatures::GC, offset)),
        Some(_) | None => Ok(()),
    }
}

fn invalid<T>(message: &str, offset: usize) -> Result<T, ScanError> {
    Err(ScanError::Invalid {
        message: message.to_owned(),
        offset,
    })
}
