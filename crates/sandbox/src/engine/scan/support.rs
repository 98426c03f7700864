//! Which proposals the engine offers, and the names of those that it does not.

use wasmparser::WasmFeatures;

use super::error::{ScanError, clean};

/// What the engine is configured to run.
pub(super) const SUPPORTED: WasmFeatures = WasmFeatures::WASM2
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::EXCEPTIONS)
    .union(WasmFeatures::COMPONENT_MODEL);

const REBUILD: &str = "rebuild the module without it";

/// What is refused: the feature, its name in messages, the next step.
const REFUSED: &[(WasmFeatures, &str, &str)] = &[
    (
        WasmFeatures::SHARED_EVERYTHING_THREADS,
        "the shared-everything-threads proposal",
        REBUILD,
    ),
    (
        WasmFeatures::THREADS,
        "the threads proposal (shared memory, atomics)",
        "build for a target without threads, such as wasm32-wasip1",
    ),
    (
        WasmFeatures::MEMORY64,
        "the memory64 proposal (64-bit memories and tables)",
        "build for a 32-bit target, such as wasm32-wasip1",
    ),
    (
        WasmFeatures::MULTI_MEMORY,
        "the multi-memory proposal",
        "use one memory per module",
    ),
    (
        WasmFeatures::TAIL_CALL,
        "the tail-call proposal",
        "build with -mno-tail-call",
    ),
    (
        WasmFeatures::RELAXED_SIMD,
        "the relaxed SIMD proposal",
        "build with -mno-relaxed-simd; plain SIMD is supported",
    ),
    (
        WasmFeatures::LEGACY_EXCEPTIONS,
        "the legacy exception-handling proposal",
        "build with the standard one (-mllvm -wasm-use-legacy-eh=false)",
    ),
    (
        WasmFeatures::CUSTOM_DESCRIPTORS,
        "the custom-descriptors proposal",
        REBUILD,
    ),
    (
        WasmFeatures::STACK_SWITCHING,
        "the stack-switching proposal",
        REBUILD,
    ),
    (
        WasmFeatures::GC,
        "the garbage-collection proposal",
        "compile to linear memory instead",
    ),
    (
        WasmFeatures::FUNCTION_REFERENCES,
        "the typed function references proposal",
        REBUILD,
    ),
    (
        WasmFeatures::CUSTOM_PAGE_SIZES,
        "the custom-page-sizes proposal",
        REBUILD,
    ),
    (
        WasmFeatures::WIDE_ARITHMETIC,
        "the wide-arithmetic proposal",
        "build with -mno-wide-arithmetic",
    ),
    (
        WasmFeatures::MEMORY_CONTROL,
        "the memory-control proposal",
        REBUILD,
    ),
    (
        WasmFeatures::COMPACT_IMPORTS,
        "the compact import section proposal",
        REBUILD,
    ),
    (
        WasmFeatures::CM_ASYNC
            .union(WasmFeatures::CM_ASYNC_STACKFUL)
            .union(WasmFeatures::CM_MORE_ASYNC_BUILTINS)
            .union(WasmFeatures::CM_ERROR_CONTEXT),
        "component-model async (WASI 0.3)",
        "build for WASI 0.2 or 0.1",
    ),
    (
        WasmFeatures::CM_THREADING,
        "component-model threading",
        REBUILD,
    ),
    (
        WasmFeatures::CM_VALUES
            .union(WasmFeatures::CM_NESTED_NAMES)
            .union(WasmFeatures::CM_FIXED_LENGTH_LISTS)
            .union(WasmFeatures::CM_GC)
            .union(WasmFeatures::CM_MAP)
            .union(WasmFeatures::CM64)
            .union(WasmFeatures::CM_IMPLEMENTS)
            .union(WasmFeatures::CM_CANON_NAMES),
        "a component-model feature beyond WASI 0.2",
        "build for WASI 0.2",
    ),
];

/// The refusal of a proposal.
pub(super) fn unsupported(feature: WasmFeatures, offset: usize) -> ScanError {
    let (what, hint) = REFUSED
        .iter()
        .find(|(features, ..)| features.intersects(feature))
        .map_or(("a WebAssembly proposal", REBUILD), |&(_, what, hint)| {
            (what, hint)
        });
    ScanError::Unsupported { what, hint, offset }
}

/// Turns the validator's error into ours.
pub(super) fn refused(error: &wasmparser::Error) -> ScanError {
    match error.missing_wasm_feature() {
        Some(feature) if !SUPPORTED.contains(feature) => unsupported(feature, error.offset()),
        Some(_) | None => ScanError::Invalid {
            message: clean(error.message()),
            offset: error.offset(),
        },
    }
}
