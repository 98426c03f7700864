//! A module apart from the contents of its memory.

use wasm_encoder::{DataSection, ExportKind, ExportSection, RawSection};
use wasmparser::{
    BinaryReaderError, DataKind, ExternalKind, MemoryType, Operator, Parser, Payload, TypeRef,
    ValType,
};

/// What the names of exported globals begin with.
const GLOBAL: &str = "probity:global:";
/// Most mutable globals.
pub(super) const MAX_GLOBALS: usize = 1_000;
/// Bytes of a page of memory.
const PAGE: u64 = 65_536;

/// A module without the contents of its memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bare {
    /// The module, to be compiled.
    pub module: Vec<u8>,
    /// What its memory holds at first, a whole number of pages of 64 KiB.
    pub memory: Vec<u8>,
}

/// No snapshots can be made of a module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StripError {
    /// It is not a valid core module.
    #[error("not a core module: {0}")]
    Invalid(String),
    /// It has state that snapshots do not hold.
    #[error("no snapshots of this module: it {0}")]
    State(&'static str),
}

impl From<BinaryReaderError> for StripError {
    fn from(error: BinaryReaderError) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// What was seen on the way through a module.
#[derive(Default)]
struct Seen {
    memory: Option<MemoryType>,
    mutable: Vec<u32>,
    imported_globals: bool,
}

/// Takes the contents of its memory out of a module, and exports its mutable globals.
/// `most` bounds the memory, in bytes.
///
/// # Errors
/// When the bytes are no core module, or have state that a snapshot does not hold: more
/// memories than one, imported memories or globals, changed tables, forgotten segments,
/// globals that are no numbers, a start function.
pub fn strip(bytes: &[u8], most: u64) -> Result<Bare, StripError> {
    let mut out = wasm_encoder::Module::new();
    let mut seen = Seen::default();
    let mut memory = Vec::new();
    let mut exported = false;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        // Sections come in a fixed order; exports follow globals and precede code.
        let past_exports = matches!(
            payload,
            Payload::StartSection { .. }
                | Payload::ElementSection(_)
                | Payload::DataCountSection { .. }
                | Payload::CodeSectionStart { .. }
                | Payload::DataSection(_)
                | Payload::End(_)
        );
        if past_exports && !exported {
            out.section(&exports(None, &seen)?);
            exported = true;
        }
        match &payload {
            Payload::ImportSection(imports) => {
                for import in imports.clone().into_imports() {
                    match import?.ty {
                        TypeRef::Func(_) | TypeRef::FuncExact(_) | TypeRef::Tag(_) => {}
                        TypeRef::Global(_) => seen.imported_globals = true,
                        TypeRef::Memory(_) => return Err(StripError::State("imports a memory")),
                        TypeRef::Table(_) => return Err(StripError::State("imports a table")),
                    }
                }
            }
            Payload::MemorySection(memories) => {
                for found in memories.clone() {
                    if seen.memory.replace(found?).is_some() {
                        return Err(StripError::State("has more than one memory"));
                    }
                }
                memory = initial(seen.memory, most)?;
            }
            Payload::GlobalSection(globals) => {
                if seen.imported_globals {
                    return Err(StripError::State("imports globals"));
                }
                for (index, global) in (0_u32..).zip(globals.clone()) {
                    let ty = global?.ty;
                    if !ty.mutable {
                        continue;
                    }
                    match ty.content_type {
                        ValType::I32 | ValType::I64 | ValType::F32 | ValType::F64 => {}
                        ValType::V128 | ValType::Ref(_) => {
                            return Err(StripError::State("has globals that are no numbers"));
                        }
                    }
                    seen.mutable.push(index);
                }
                if seen.mutable.len() > MAX_GLOBALS {
                    return Err(StripError::State("has more than 1,000 mutable globals"));
                }
            }
            Payload::ExportSection(reader) => {
                out.section(&exports(Some(reader.clone()), &seen)?);
                exported = true;
                continue;
            }
            Payload::StartSection { .. } => {
                return Err(StripError::State("has a start function"));
            }
            Payload::CodeSectionEntry(body) => {
                let mut operators = body.get_operators_reader()?;
                while !operators.eof() {
                    check(&operators.read()?)?;
                }
            }
            Payload::DataSection(reader) => {
                out.section(&emptied(reader.clone(), &mut memory)?);
                continue;
            }
            Payload::End(_) => break,
            _ => {}
        }
        if let Some((id, range)) = payload.as_section() {
            let data = bytes
                .get(range)
                .ok_or_else(|| StripError::Invalid("a section ends past the module".to_owned()))?;
            out.section(&RawSection { id, data });
        }
    }
    if seen.memory.is_none() {
        return Err(StripError::State("has no memory"));
    }
    Ok(Bare {
        module: out.finish(),
        memory,
    })
}

/// The memory as it is before any segment is put into it.
fn initial(memory: Option<MemoryType>, most: u64) -> Result<Vec<u8>, StripError> {
    let Some(memory) = memory else {
        return Ok(Vec::new());
    };
    if memory.memory64 || memory.shared || memory.page_size_log2.is_some() {
        return Err(StripError::State("has a memory of an unusual kind"));
    }
    let size = memory.initial.saturating_mul(PAGE);
    if size > most {
        return Err(StripError::State("begins with more memory than is allowed"));
    }
    let size = usize::try_from(size)
        .map_err(|_| StripError::State("begins with more memory than there can be"))?;
    Ok(vec![0; size])
}

/// The exports as they are, and one for each mutable global and the memory.
fn exports(
    reader: Option<wasmparser::ExportSectionReader<'_>>,
    seen: &Seen,
) -> Result<ExportSection, StripError> {
    let mut section = ExportSection::new();
    for export in reader.into_iter().flatten() {
        let export = export?;
        if export.name.starts_with("probity:") {
            return Err(StripError::State(
                "exports names that begin with `probity:`",
            ));
        }
        let kind = match export.kind {
            ExternalKind::Func | ExternalKind::FuncExact => ExportKind::Func,
            ExternalKind::Table => ExportKind::Table,
            ExternalKind::Memory => ExportKind::Memory,
            ExternalKind::Global => ExportKind::Global,
            ExternalKind::Tag => ExportKind::Tag,
        };
        section.export(export.name, kind, export.index);
    }
    for index in &seen.mutable {
        section.export(&format!("{GLOBAL}{index}"), ExportKind::Global, *index);
    }
    section.export(MEMORY, ExportKind::Memory, 0);
    Ok(section)
}

/// The name under which the memory is exported.
pub(super) const MEMORY: &str = "probity:memory";

/// The index of the global that is exported under this name.
pub(super) fn global_index(name: &str) -> Option<u32> {
    name.strip_prefix(GLOBAL)?.parse().ok()
}

/// The name under which a global is exported.
pub(super) fn global_name(index: u32) -> String {
    format!("{GLOBAL}{index}")
}

/// Refuses what changes state that a snapshot does not hold.
fn check(operator: &Operator<'_>) -> Result<(), StripError> {
    match operator {
        Operator::TableSet { .. }
        | Operator::TableGrow { .. }
        | Operator::TableFill { .. }
        | Operator::TableCopy { .. }
        | Operator::TableInit { .. } => Err(StripError::State("changes its tables")),
        Operator::DataDrop { .. } | Operator::ElemDrop { .. } => {
            Err(StripError::State("forgets segments"))
        }
        _ => Ok(()),
    }
}

/// The segments, with those that lie in memory at the start put into `memory` instead.
///
/// Code that names one of those traps as it would have: they count as forgotten once they
/// are in place, and so does a passive segment of no bytes.
fn emptied(
    reader: wasmparser::DataSectionReader<'_>,
    memory: &mut [u8],
) -> Result<DataSection, StripError> {
    let mut section = DataSection::new();
    for segment in reader {
        let segment = segment?;
        match segment.kind {
            DataKind::Passive => section.passive(segment.data.iter().copied()),
            DataKind::Active { offset_expr, .. } => {
                let mut operators = offset_expr.get_operators_reader();
                let Operator::I32Const { value } = operators.read()? else {
                    return Err(StripError::State("places data at computed addresses"));
                };
                let start = usize::try_from(value.cast_unsigned()).unwrap_or(usize::MAX);
                let place = start
                    .checked_add(segment.data.len())
                    .and_then(|end| memory.get_mut(start..end))
                    .ok_or(StripError::State("places data outside its memory"))?;
                place.copy_from_slice(segment.data);
                section.passive([])
            }
        };
    }
    Ok(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> Result<Bare, StripError> {
        strip(&wat::parse_str(text).unwrap(), 1 << 20)
    }

    #[test]
    fn data_moves_into_the_memory_and_what_is_left_is_valid() {
        let bare = stripped(
            r#"(module
                (global (mut i32) (i32.const 1)) (global i32 (i32.const 2)) (global (mut f64) (f64.const 3))
                (memory (export "memory") 2)
                (data (i32.const 65534) "abcd") (data "passive") (data (i32.const 0) "xyz")
                (func (export "f") (memory.init 1 (i32.const 0) (i32.const 0) (i32.const 1))))"#,
        )
        .unwrap();
        assert_eq!(bare.memory.len(), 2 * 65_536);
        assert_eq!(&bare.memory[65_534..65_538], b"abcd");
        assert_eq!(&bare.memory[..4], b"xyz\0");
        wasmparser::validate(&bare.module).unwrap();
        let again = strip(&bare.module, 1 << 20);
        assert_eq!(
            again,
            Err(StripError::State(
                "exports names that begin with `probity:`"
            ))
        );
        let names: Vec<String> = Parser::new(0)
            .parse_all(&bare.module)
            .filter_map(|payload| match payload.unwrap() {
                Payload::ExportSection(exports) => Some(exports),
                _ => None,
            })
            .flatten()
            .map(|export| export.unwrap().name.to_owned())
            .collect();
        let wanted = [
            "memory",
            "f",
            "probity:global:0",
            "probity:global:2",
            "probity:memory",
        ];
        assert_eq!(names, wanted);
    }

    #[test]
    fn exports_are_made_where_there_were_none() {
        let bare = stripped("(module (memory 1) (func))").unwrap();
        wasmparser::validate(&bare.module).unwrap();
        assert!(String::from_utf8_lossy(&bare.module).contains(MEMORY));
    }

    #[test]
    fn state_that_a_snapshot_would_lose_is_refused() {
        for (text, reason) in [
            ("(module)", "has no memory"),
            ("(module (memory 1) (memory 1))", "has more than one memory"),
            ("(module (memory 17))", "begins with more memory"),
            ("(module (memory i64 1))", "has a memory of an unusual kind"),
            (
                r#"(module (import "a" "b" (memory 1)))"#,
                "imports a memory",
            ),
            (
                r#"(module (import "a" "b" (table 1 funcref)) (memory 1))"#,
                "imports a table",
            ),
            (
                r#"(module (import "a" "b" (global i32)) (global i32 (i32.const 0)) (memory 1))"#,
                "imports globals",
            ),
            (
                "(module (memory 1) (global (mut v128) (v128.const i64x2 0 0)))",
                "no numbers",
            ),
            (
                "(module (memory 1) (func $f) (start $f))",
                "has a start function",
            ),
            (
                "(module (memory 1) (table 1 funcref) (func (table.set (i32.const 0) (ref.null func))))",
                "changes its tables",
            ),
            (
                "(module (memory 1) (table 1 funcref) (func (drop (table.grow (ref.null func) (i32.const 1)))))",
                "changes its tables",
            ),
            (
                r#"(module (memory 1) (data "x") (func (data.drop 0)))"#,
                "forgets segments",
            ),
            (
                r#"(module (memory 1) (data (i32.const 65536) "x"))"#,
                "outside its memory",
            ),
        ] {
            let error = stripped(text).unwrap_err();
            assert!(error.to_string().contains(reason), "{text}: {error}");
        }
        assert!(matches!(strip(b"\0asm", 1), Err(StripError::Invalid(_))));
    }
}
