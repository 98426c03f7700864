//! Every shape trips at its cap, every bomb is refused by the default limits, and real
//! modules pass. The generators write the binary format by hand, since no compiler emits
//! what they do.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test has nobody to report to"
)]

use super::{ModuleLimits, ScanError, Shape, scan};
use crate::engine::Kind;

const I32: u8 = 0x7f;

fn leb(mut n: usize) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let byte = (n & 0x7f) as u8;
        n >>= 7;
        if n == 0 {
            out.push(byte);
            return out;
        }
        out.push(byte | 0x80);
    }
}

fn sized(bytes: &[u8]) -> Vec<u8> {
    [leb(bytes.len()), bytes.to_vec()].concat()
}

/// A vector of items that are already encoded.
fn list<T: AsRef<[u8]>>(items: &[T]) -> Vec<u8> {
    let mut out = leb(items.len());
    for item in items {
        out.extend_from_slice(item.as_ref());
    }
    out
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [vec![id], sized(content)].concat()
}

fn module(sections: &[Vec<u8>]) -> Vec<u8> {
    [b"\0asm\x01\0\0\0".to_vec(), sections.concat()].concat()
}

fn component(sections: &[Vec<u8>]) -> Vec<u8> {
    [b"\0asm\x0d\0\x01\0".to_vec(), sections.concat()].concat()
}

fn func_type(params: usize, results: usize) -> Vec<u8> {
    [
        vec![0x60],
        leb(params),
        vec![I32; params],
        leb(results),
        vec![I32; results],
    ]
    .concat()
}

fn body(locals: usize, code: &[u8]) -> Vec<u8> {
    let locals = match locals {
        0 => vec![0],
        n => [vec![1], leb(n), vec![I32]].concat(),
    };
    sized(&[&locals, code, &[0x0b]].concat())
}

/// A module of one function of type 0, which takes one number, after other sections.
fn function(types: &[Vec<u8>], between: &[Vec<u8>], locals: usize, code: &[u8]) -> Vec<u8> {
    let types = [&[func_type(1, 0)], types].concat();
    let mut sections = vec![section(1, &list(&types)), section(3, &[1, 0])];
    sections.extend_from_slice(between);
    sections.push(section(10, &list(&[body(locals, code)])));
    module(&sections)
}

fn code(code: &[u8]) -> Vec<u8> {
    function(&[], &[], 0, code)
}

fn functions(n: usize) -> Vec<u8> {
    module(&[
        section(1, &list(&[func_type(0, 0)])),
        section(3, &list(&vec![[0_u8]; n])),
        section(10, &list(&vec![body(0, &[]); n])),
    ])
}

/// Blocks (`0x02`) or loops (`0x03`) within each other.
fn nested(opcode: u8, n: usize) -> Vec<u8> {
    [[opcode, 0x40].repeat(n), vec![0x0b; n]].concat()
}

fn jump_table(n: usize) -> Vec<u8> {
    let head = [vec![0x02, 0x40, 0x20, 0, 0x0e], leb(n)].concat();
    [head, vec![0; n + 1], vec![0x0b]].concat()
}

fn exports(n: usize) -> Vec<u8> {
    let names: Vec<Vec<u8>> = (0..n)
        .map(|i| [sized(i.to_string().as_bytes()), vec![0, 0]].concat())
        .collect();
    module(&[
        section(1, &list(&[func_type(0, 0)])),
        section(3, &[1, 0]),
        section(7, &list(&names)),
        section(10, &list(&[body(0, &[])])),
    ])
}

fn imports(n: usize, kind: &[u8]) -> Vec<u8> {
    let names: Vec<Vec<u8>> = (0..n)
        .map(|i| {
            [
                vec![1, b'm'],
                sized(i.to_string().as_bytes()),
                kind.to_vec(),
            ]
            .concat()
        })
        .collect();
    module(&[
        section(1, &list(&[func_type(0, 0)])),
        section(2, &list(&names)),
    ])
}

/// A module with one function, a table and `n` element segments of `entries` each.
fn elements(n: usize, entries: usize) -> Vec<u8> {
    let segment = [vec![0, 0x41, 0, 0x0b], leb(entries), vec![0; entries]].concat();
    module(&[
        section(1, &list(&[func_type(0, 0)])),
        section(3, &[1, 0]),
        section(4, &[1, 0x70, 0, 1]),
        section(9, &list(&vec![segment; n])),
        section(10, &list(&[body(0, &[])])),
    ])
}

/// Calls within a `try_table` of `n` clauses that catch everything, within a block.
fn catches(n: usize, calls: usize) -> Vec<u8> {
    let head = [vec![0x02, 0x40, 0x1f, 0x40], leb(n)].concat();
    let call = [0x20, 0, 0x10, 0].repeat(calls);
    [head, [2, 0].repeat(n), call, vec![0x0b, 0x0b]].concat()
}

/// Instance types within each other.
fn nested_types(n: usize) -> Vec<u8> {
    let mut bytes = vec![1];
    bytes.extend([0x42, 1, 1].repeat(n));
    bytes.push(0x79);
    component(&[section(7, &bytes)])
}

/// A chain of `levels` components, each instantiating the one before `fan` times.
fn instance_bomb(levels: usize, fan: usize) -> Vec<u8> {
    let mut inner = component(&[section(1, &module(&[])), section(2, &[1, 0, 0, 0])]);
    for _ in 0..levels {
        let instances = list(&vec![[0_u8, 0, 0]; fan]);
        inner = component(&[section(4, &inner), section(5, &instances)]);
    }
    inner
}

/// Imports one function over a tuple of `n` tuples of `n` numbers and lowers it.
fn converted(n: usize) -> Vec<u8> {
    let inner = [vec![0x6f], leb(n), vec![0x79; n]].concat();
    let outer = [vec![0x6f], leb(n), vec![0; n]].concat();
    let func = [vec![0x40, 1, 1, b'x', 1, 1, 0]].concat();
    let memory = module(&[section(5, &[1, 0, 1]), section(7, &[1, 1, b'm', 2, 0])]);
    component(&[
        section(7, &list(&[inner, outer, func])),
        section(10, &[1, 0, 1, b'f', 1, 2]),
        section(1, &memory),
        section(2, &[1, 0, 0, 0]),
        section(6, &[1, 0, 2, 1, 0, 1, b'm']),
        section(8, &[1, 1, 0, 0, 1, 3, 0]),
    ])
}

/// An input that has at least two of a shape.
fn sample(shape: Shape) -> Vec<u8> {
    match shape {
        Shape::ModuleSize | Shape::Functions | Shape::CodeSize => functions(3),
        Shape::FunctionSize | Shape::Work => code(&[0x01; 9]),
        Shape::Types => module(&[section(1, &list(&vec![func_type(0, 0); 3]))]),
        Shape::TypeArity => module(&[section(1, &list(&[func_type(3, 2)]))]),
        Shape::TypeBytes | Shape::TypeNesting => nested_types(3),
        Shape::Imports | Shape::NameSize => {
            let name = [sized(b"name"), vec![1, b'n', 0, 0]].concat();
            let types = section(1, &list(&[func_type(0, 0)]));
            module(&[types, section(2, &list(&[name.clone(), name]))])
        }
        Shape::Exports => exports(3),
        Shape::Globals => module(&[section(6, &list(&[[I32, 0, 0x41, 0, 0x0b]; 3]))]),
        Shape::Initializer => module(&[section(6, &[1, I32, 0, 0x41, 0, 0x41, 1, 0x6a, 0x0b])]),
        Shape::Tags => imports(3, &[4, 0, 0]),
        Shape::Tables | Shape::TableElements => module(&[section(4, &list(&[[0x70, 0, 5]; 3]))]),
        Shape::Memories | Shape::MemoryPages => {
            let memory = module(&[section(5, &[1, 0, 2])]);
            component(&[section(1, &memory), section(1, &memory)])
        }
        Shape::DataSegments => module(&[
            section(5, &[1, 0, 1]),
            section(11, &list(&[[0, 0x41, 0, 0x0b, 1, b'x']; 3])),
        ]),
        Shape::ElementSegments => elements(3, 1),
        Shape::ElementEntries => elements(1, 3),
        Shape::Locals => function(&[], &[], 3, &[]),
        Shape::Nesting | Shape::Blocks => code(&nested(0x02, 3)),
        // Two reads of a global that holds a reference.
        Shape::HiddenBlocks => module(&[
            section(1, &[1, 0x60, 0, 0]),
            section(3, &[1, 0]),
            section(6, &[1, 0x6f, 1, 0xd0, 0x6f, 0x0b]),
            section(10, &[1, 8, 0, 0x23, 0, 0x1a, 0x23, 0, 0x1a, 0x0b]),
        ]),
        // Two locals that hold references, two calls.
        Shape::Safepoints => module(&[
            section(1, &[1, 0x60, 0, 0]),
            section(3, &[1, 0]),
            section(10, &[1, 8, 1, 2, 0x6f, 0x10, 0, 0x10, 0, 0x0b]),
        ]),
        Shape::LiveValues => function(&[], &[], 4, &nested(0x02, 3)),
        Shape::LoopValues => function(&[], &[], 4, &nested(0x03, 3)),
        Shape::BranchTargets => code(&jump_table(3)),
        Shape::Catches | Shape::LandingPads => code(&catches(3, 2)),
        Shape::Operands => function(
            &[func_type(2, 2)],
            &[],
            0,
            &[0x20, 0, 0x20, 0, 0x02, 1, 0x0b, 0x1a, 0x1a],
        ),
        Shape::Modules => component(&[section(1, &module(&[])), section(1, &module(&[]))]),
        Shape::Components => component(&[section(4, &component(&[])), section(4, &component(&[]))]),
        Shape::ComponentNesting => {
            component(&[section(4, &component(&[section(4, &component(&[]))]))])
        }
        Shape::Instances => instance_bomb(2, 2),
        Shape::Wiring => converted(2),
        Shape::Conversions => converted(3),
    }
}

/// Limits that limit nothing.
fn open() -> ModuleLimits {
    Shape::ALL
        .iter()
        .fold(ModuleLimits::untrusted(), |limits, &shape| {
            limits.with(shape, u64::MAX)
        })
}

/// The shape for which the input is refused.
fn refused_for(bytes: &[u8], limits: &ModuleLimits) -> Shape {
    match scan(bytes, limits) {
        Err(ScanError::TooMuch { shape, .. }) => shape,
        other => panic!("not refused for a shape: {other:?}"),
    }
}

fn refusal(bytes: &[u8]) -> String {
    match scan(bytes, &ModuleLimits::untrusted()) {
        Err(error) => error.to_string(),
        Ok(facts) => panic!("accepted: {facts:?}"),
    }
}

#[test]
fn every_shape_passes_at_its_cap_and_trips_below() {
    for &shape in Shape::ALL {
        let bytes = sample(shape);
        let used = match scan(&bytes, &open()) {
            Ok(facts) => facts.used(shape),
            Err(error) => panic!("{shape:?}: {error}"),
        };
        assert!(used >= 2, "{shape:?} is used {used} times");
        let at_cap = scan(&bytes, &open().with(shape, used));
        assert!(at_cap.is_ok(), "{shape:?}: {at_cap:?}");
        match scan(&bytes, &open().with(shape, used - 1)) {
            Err(
                ref error @ ScanError::TooMuch {
                    shape: named,
                    cap,
                    used: counted,
                    ..
                },
            ) => {
                assert_eq!((named, cap), (shape, used - 1));
                assert!(counted > cap && counted <= used, "{shape:?}: {counted}");
                let line = error.to_string();
                assert!(line.contains(&format!("`{}`", shape.name())), "{line}");
                assert!(line.contains(&format!("at most {cap} ")), "{line}");
                assert!(!line.contains('\n'), "{line}");
            }
            other => panic!("{shape:?}: {other:?}"),
        }
    }
}

#[test]
fn names_of_shapes_are_distinct_and_runtimes_get_no_less() {
    let mut names: Vec<_> = Shape::ALL.iter().map(|shape| shape.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Shape::ALL.len());
    for &shape in Shape::ALL {
        assert!(ModuleLimits::runtime().cap(shape) >= ModuleLimits::untrusted().cap(shape));
    }
}

#[test]
fn compile_bombs_are_refused_by_default() {
    // Loops over locals, each of which changes in the innermost.
    let local = |i: usize| leb(i + 1);
    let change: Vec<u8> = (0..1_000)
        .flat_map(|i| [vec![0x20], local(i), vec![0x41, 3, 0x6c, 0x21], local(i)].concat())
        .collect();
    let loops = [
        [0x03, 0x40].repeat(300),
        change,
        [0x20, 0, 0x0d, 0, 0x0b].repeat(300),
    ]
    .concat();
    // Blocks that take and leave 100 values each.
    let phi = [
        [0x20, 0].repeat(100),
        [0x03, 1].repeat(400),
        vec![0x0b; 400],
        vec![0x1a; 100],
    ]
    .concat();
    let ifs = [[0x20, 0, 0x04, 0x40].repeat(100_000), vec![0x0b; 100_000]].concat();
    let casts = [0x20, 0, 0xb7, 0xaa, 0x1a].repeat(100_000);
    let cast_functions = module(&[
        section(1, &list(&[func_type(1, 0)])),
        section(3, &list(&[[0_u8]; 20])),
        section(10, &list(&vec![body(0, &casts[..500_000]); 20])),
    ]);
    let table = section(4, &[1, 0x6f, 0, 1]);
    let grows = [0xd0, 0x6f, 0x20, 0, 0xfc, 0x0f, 0, 0x1a].repeat(60_000);
    let chosen = [0x03, 0x40, 0x20, 0, 0x0d, 0, 0x0b].repeat(3_900);
    let quadratic = module(&[
        section(1, &list(&[func_type(1, 0)])),
        section(3, &list(&[[0_u8]; 40])),
        section(10, &list(&vec![body(0, &chosen); 40])),
    ]);
    let bombs = [
        (
            "nested blocks",
            code(&nested(0x02, 130_000)),
            Shape::Nesting,
        ),
        ("deep ifs", code(&ifs), Shape::Nesting),
        (
            "large jump table",
            code(&jump_table(3_000_000)),
            Shape::FunctionSize,
        ),
        (
            "wide jump table",
            code(&jump_table(500_000)),
            Shape::BranchTargets,
        ),
        ("tiny functions", functions(400_000), Shape::Functions),
        (
            "loops over locals",
            function(&[], &[], 1_000, &loops),
            Shape::LoopValues,
        ),
        (
            "phi parameters",
            function(&[func_type(100, 100)], &[], 0, &phi),
            Shape::Operands,
        ),
        ("casts", cast_functions, Shape::Work),
        (
            "table operations",
            function(&[], &[table], 0, &grows),
            Shape::Work,
        ),
        ("many branches, many times", quadratic, Shape::Work),
        (
            "types",
            module(&[section(1, &list(&vec![func_type(0, 0); 900_000]))]),
            Shape::Types,
        ),
        (
            "landing pads",
            code(&catches(100, 1_000)),
            Shape::LandingPads,
        ),
        ("catch clauses", code(&catches(5_000, 1)), Shape::Catches),
        ("exports", exports(480_000), Shape::Exports),
        ("imports", imports(480_000, &[0, 0]), Shape::Imports),
        (
            "locals",
            function(&[], &[], 4_000_000_000, &[]),
            Shape::Locals,
        ),
        (
            "element segments",
            elements(50_000, 1),
            Shape::ElementSegments,
        ),
        (
            "memory",
            module(&[section(5, &[[1, 0].to_vec(), leb(65_536)].concat())]),
            Shape::MemoryPages,
        ),
        (
            "table",
            module(&[section(
                4,
                &[[1, 0x70, 0].to_vec(), leb(4_000_000_000)].concat(),
            )]),
            Shape::TableElements,
        ),
        (
            "deep component types",
            nested_types(300_000),
            Shape::TypeNesting,
        ),
        ("instances", instance_bomb(3, 30), Shape::Instances),
        ("wide conversions", converted(400), Shape::Conversions),
        (
            "nested components",
            instance_bomb(40, 1),
            Shape::ComponentNesting,
        ),
    ];
    for (name, bytes, shape) in bombs {
        assert_eq!(
            refused_for(&bytes, &ModuleLimits::untrusted()),
            shape,
            "{name}"
        );
    }
}

#[test]
fn claimed_counts_are_refused_before_they_are_believed() {
    let huge = leb(u32::MAX as usize);
    for (id, shape) in [
        (1, Shape::Types),
        (2, Shape::Imports),
        (3, Shape::Functions),
        (7, Shape::Exports),
        (9, Shape::ElementSegments),
        (11, Shape::DataSegments),
        (13, Shape::Tags),
    ] {
        let bytes = module(&[section(id, &huge)]);
        assert_eq!(refused_for(&bytes, &ModuleLimits::untrusted()), shape);
    }
    for id in [4, 5, 6, 10, 12] {
        assert!(scan(&module(&[section(id, &huge)]), &open()).is_err());
    }
    for id in [2, 3, 5, 6, 7, 8, 10, 11] {
        assert!(scan(&component(&[section(id, &huge)]), &open()).is_err());
    }
}

#[test]
fn proposals_are_refused_by_name() {
    let memory = |flags: &[u8]| module(&[section(5, &[&[1], flags].concat())]);
    let ty = |bytes: &[u8]| module(&[section(1, &[&[1], bytes].concat())]);
    let with_memory = |bytes: &[u8]| function(&[], &[section(5, &[1, 0, 1])], 0, bytes);
    let cases = [
        ("threads", memory(&[3, 1, 1])),
        ("memory64", memory(&[4, 1])),
        ("custom-page-sizes", memory(&[8, 1, 0])),
        ("multi-memory", module(&[section(5, &[2, 0, 1, 0, 1])])),
        ("memory64", module(&[section(4, &[1, 0x70, 4, 1])])),
        ("threads", with_memory(&[0x20, 0, 0xfe, 0x10, 2, 0, 0x1a])),
        ("tail-call", code(&[0x20, 0, 0x12, 0])),
        ("garbage-collection", ty(&[0x5f, 0])),
        ("garbage-collection", ty(&[0x4e, 0xff, 0xff, 0x3f])),
        ("garbage-collection", ty(&[0x50, 0, 0x60, 0, 0])),
        ("typed function references", ty(&[0x60, 1, 0x64, 0x70, 0])),
        ("garbage-collection", ty(&[0x60, 1, 0x6e, 0])),
        (
            "stack-switching",
            module(&[section(1, &[2, 0x60, 0, 0, 0x5d, 0])]),
        ),
        ("legacy exception", code(&[0x06, 0x40, 0x19, 0x0b])),
        (
            "relaxed SIMD",
            code(&[
                0x20, 0, 0xfd, 0x11, 0x20, 0, 0xfd, 0x11, 0xfd, 0x80, 2, 0x1a,
            ]),
        ),
        (
            "wide-arithmetic",
            code(&[0x42, 0, 0x42, 0, 0x42, 0, 0x42, 0, 0xfc, 0x13, 0x1a, 0x1a]),
        ),
        (
            "memory-control",
            with_memory(&[0x41, 0, 0x41, 0, 0xfc, 0x12, 0]),
        ),
        (
            "compact import",
            module(&[section(2, &[1, 1, b'm', 0, 0x7f, 0])]),
        ),
        (
            "component-model async",
            component(&[section(7, &[1, 0x66, 0])]),
        ),
        (
            "component-model async",
            component(&[section(7, &[1, 0x43, 0, 1, 0])]),
        ),
        (
            "component-model async",
            component(&[section(8, &[1, 0x0d])]),
        ),
        (
            "composed of components",
            component(&[section(4, &converted(2))]),
        ),
        (
            "passed as a value",
            component(&[
                section(7, &[1, 0x41, 0]),
                section(10, &[1, 0, 1, b'c', 4, 0]),
            ]),
        ),
    ];
    for (name, bytes) in cases {
        let line = refusal(&bytes);
        assert!(
            line.contains(name) && line.contains("not supported"),
            "{name}: {line}"
        );
    }
}

#[test]
fn what_is_supported_passes() {
    let cases = [
        module(&[]),
        component(&[]),
        // Sign extension, saturating conversion, bulk memory, vectors, exceptions.
        code(&[0x20, 0, 0xc0, 0x1a]),
        code(&[0x44, 0, 0, 0, 0, 0, 0, 0, 0, 0xfc, 2, 0x1a]),
        function(
            &[],
            &[section(5, &[1, 0, 1])],
            0,
            &[0x20, 0, 0x20, 0, 0x20, 0, 0xfc, 10, 0, 0],
        ),
        code(&[0x20, 0, 0xfd, 0x11, 0x1a]),
        code(&catches(1, 1)),
        // Several results, references, extended constants.
        module(&[section(1, &list(&[func_type(1, 2)]))]),
        module(&[section(4, &[1, 0x6f, 0, 1])]),
        sample(Shape::Initializer),
    ];
    for bytes in cases {
        let result = scan(&bytes, &ModuleLimits::untrusted());
        assert!(result.is_ok(), "{result:?}");
    }
}

#[test]
fn the_header_tells_the_kind() {
    let limits = ModuleLimits::untrusted();
    let kind = |bytes: &[u8]| scan(bytes, &limits).map(|facts| facts.kind);
    assert_eq!(kind(&module(&[])), Ok(Kind::Core));
    assert_eq!(kind(&component(&[])), Ok(Kind::Component));
    for (bytes, message) in [
        (&b"(module)"[..], "text"),
        (b"\n ;; text\n(module)", "text"),
        (b"", "does not start"),
        (b"\x7fELF", "does not start"),
        (b"\0asm", "ends within"),
        (b"\0asm\x02\0\0\0", "version"),
        (b"\0asm\x0a\0\x01\0", "version"),
        (b"\0asm\x01\0\x07\0", "neither"),
    ] {
        let line = refusal(bytes);
        assert!(line.contains(message), "{line}");
    }
}

#[test]
fn cut_and_continued_modules_are_invalid() {
    for whole in [
        exports(3),
        converted(3),
        instance_bomb(2, 2),
        code(&jump_table(3)),
    ] {
        assert!(scan(&whole, &open()).is_ok());
        for end in 9..whole.len() {
            let cut = scan(&whole[..end], &open());
            // What ends between two sections may be a smaller module of its own.
            assert!(
                matches!(cut, Ok(_) | Err(ScanError::Invalid { .. })),
                "{end}: {cut:?}"
            );
        }
        let longer = [whole, vec![0xff]].concat();
        assert!(scan(&longer, &open()).is_err());
    }
}

#[test]
fn text_of_the_module_is_cleaned() {
    let name = sized("a\u{1b}[31m\n\u{202e}evil".repeat(30).as_bytes());
    let export = [name, vec![0, 0]].concat();
    let bytes = module(&[
        section(1, &list(&[func_type(0, 0)])),
        section(3, &[1, 0]),
        section(7, &list(&[export.clone(), export])),
        section(10, &list(&[body(0, &[])])),
    ]);
    let line = refusal(&bytes);
    assert!(line.contains("duplicate export"), "{line}");
    assert!(line.chars().count() < 400, "{line}");
    assert!(
        !line.chars().any(|c| c.is_control() || c == '\u{202e}'),
        "{line}"
    );
}

#[test]
fn the_largest_body_and_the_place_are_named() {
    let bytes = module(&[
        section(1, &list(&[func_type(1, 0)])),
        section(2, &list(&[[1, b'm', 1, b'f', 0, 0]])),
        section(3, &list(&[[0_u8], [0]])),
        section(10, &list(&[body(0, &[]), body(0, &nested(0x02, 9))])),
    ]);
    let limits = open();
    let largest = scan(&bytes, &limits).map(|facts| facts.largest.and_then(|place| place.function));
    assert_eq!(largest, Ok(Some(2)));
    match scan(&bytes, &limits.with(Shape::Nesting, 4)) {
        Err(error) => assert!(
            error.to_string().contains("in function 2 at offset 0x"),
            "{error}"
        ),
        Ok(facts) => panic!("accepted: {facts:?}"),
    }
}

#[test]
fn check_packs_use_less_than_a_quarter_of_each_cap() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guest-checks/built");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().extension().is_none_or(|end| end != "wasm") {
            continue;
        }
        seen += 1;
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        let limits = ModuleLimits::untrusted();
        match scan(&bytes, &limits) {
            Ok(facts) => {
                for &shape in Shape::ALL {
                    let (used, cap) = (facts.used(shape), limits.cap(shape));
                    assert!(used * 4 <= cap, "{:?}: {shape:?} {used}", entry.path());
                }
            }
            Err(error) => panic!("{:?}: {error}", entry.path()),
        }
    }
    assert!(seen > 0, "no check packs in {folder}");
}
