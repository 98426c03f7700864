//! Guests that are made rather than written: malformed binaries, giant ones, and modules
//! that cost a compiler far more than their size.

use std::iter::repeat_n;

type Make = fn() -> Vec<Vec<u8>>;

/// Every guest that is made here.
pub(crate) const MADE: &[(&str, Make)] = &[
    ("empty", || vec![Vec::new()]),
    ("headers", headers),
    ("text", || {
        vec![b"(module (memory (export \"memory\") 1))".to_vec()]
    }),
    ("compiled", compiled),
    ("truncated", truncated),
    ("flipped", flipped),
    ("section-sizes", section_sizes),
    ("counts", counts),
    ("long-numbers", long_numbers),
    ("section-order", section_order),
    ("bad-names", bad_names),
    ("giant-import-name", giant_import_name),
    ("giant-custom-section", giant_custom_section),
    ("giant-name-section", giant_name_section),
    ("too-large", too_large),
    ("many-imports", many_imports),
    ("many-globals", many_globals),
    ("many-unknown-imports", many_unknown_imports),
    ("nested-blocks", nested_blocks),
    ("nested-loops", nested_loops),
    ("nested-ifs", nested_ifs),
    ("branch-tables", branch_tables),
    ("tiny-functions", tiny_functions),
    ("locals-in-loops", locals_in_loops),
    ("wide-frames", wide_frames),
    ("block-parameters", block_parameters),
    ("many-types", many_types),
    ("many-exports", many_exports),
    ("straight-line", straight_line),
    ("deep-expression", deep_expression),
    ("memory-operations", memory_operations),
    ("table-operations", table_operations),
    ("wide-calls", wide_calls),
    ("constant-expression", constant_expression),
    ("many-segments", many_segments),
    ("many-elements", many_elements),
    ("handlers", handlers),
    ("component-depth", component_depth),
    ("component-instances", component_instances),
    ("component-types", component_types),
    ("component-truncated", component_truncated),
];

/// The variants of a guest.
pub(crate) fn guests(name: &str) -> Option<Vec<Vec<u8>>> {
    let (_, make) = MADE.iter().find(|(known, _)| *known == name)?;
    Some(make())
}

// Writing a binary module.

const HEADER: &[u8] = b"\0asm\x01\0\0\0";

fn number(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

fn sized(content: &[u8]) -> Vec<u8> {
    [number(content.len() as u64), content.to_vec()].concat()
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [vec![id], sized(content)].concat()
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    [number(items.len() as u64), items.concat()].concat()
}

/// A module under construction; function 0 is the entry and has no result.
#[derive(Default)]
struct Build {
    /// Types after `() -> ()`.
    types: Vec<Vec<u8>>,
    imports: Vec<Vec<u8>>,
    /// Types of the functions after the entry, and their bodies.
    functions: Vec<(u64, Vec<u8>)>,
    tables: Vec<Vec<u8>>,
    globals: Vec<Vec<u8>>,
    tags: Vec<Vec<u8>>,
    exports: Vec<Vec<u8>>,
    elements: Vec<Vec<u8>>,
    data: Vec<Vec<u8>>,
    /// Locals and instructions of the entry, without the last `end`.
    entry: Vec<u8>,
}

impl Build {
    /// An entry without locals.
    fn code(mut self, instructions: Vec<u8>) -> Self {
        self.entry = [vec![0], instructions].concat();
        self
    }

    fn bytes(self) -> Vec<u8> {
        let entry = if self.entry.is_empty() {
            vec![0]
        } else {
            self.entry
        };
        let types = [vec![vec![0x60, 0, 0]], self.types].concat();
        let first = self.imports.len() as u64;
        let indices = std::iter::once(0).chain(self.functions.iter().map(|(kind, _)| *kind));
        let indices: Vec<Vec<u8>> = indices.map(number).collect();
        let bodies = std::iter::once(entry).chain(self.functions.into_iter().map(|(_, body)| body));
        let bodies: Vec<Vec<u8>> = bodies
            .map(|body| sized(&[body, vec![0x0b]].concat()))
            .collect();
        let mut exports = vec![
            [sized(b"memory"), vec![2, 0]].concat(),
            [sized(b"_start"), vec![0], number(first)].concat(),
        ];
        exports.extend(self.exports);
        let mut module = HEADER.to_vec();
        module.extend(section(1, &list(&types)));
        let mut add = |id: u8, items: &[Vec<u8>]| {
            if !items.is_empty() {
                module.extend(section(id, &list(items)));
            }
        };
        add(2, &self.imports);
        add(3, &indices);
        add(4, &self.tables);
        add(5, &[vec![0, 1]]);
        add(13, &self.tags);
        add(6, &self.globals);
        add(7, &exports);
        add(9, &self.elements);
        add(10, &bodies);
        add(11, &self.data);
        module
    }
}

fn small() -> Vec<u8> {
    // Enough of everything to be worth damaging.
    Build {
        types: vec![vec![0x60, 1, 0x7f, 1, 0x7f]],
        imports: vec![import("sched_yield", 2)],
        functions: vec![(1, vec![0, 0x20, 0, 0x41, 1, 0x6a])],
        tables: vec![vec![0x70, 0, 4]],
        globals: vec![vec![0x7f, 1, 0x41, 0, 0x0b]],
        data: vec![[vec![0, 0x41, 8, 0x0b], sized(b"data")].concat()],
        elements: vec![[vec![0, 0x41, 0, 0x0b], vec![1, 1]].concat()],
        ..Build::default()
    }
    .with_type(vec![0x60, 0, 1, 0x7f])
    .code(vec![0x10, 0, 0x1a, 0x41, 5, 0x10, 2, 0x1a])
    .bytes()
}

impl Build {
    fn with_type(mut self, kind: Vec<u8>) -> Self {
        self.types.push(kind);
        self
    }
}

/// An import of a function of WASI with a type.
fn import(name: &str, kind: u64) -> Vec<u8> {
    let module = b"wasi_snapshot_preview1";
    [sized(module), sized(name.as_bytes()), vec![0], number(kind)].concat()
}

// Malformed binaries.

fn headers() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = (1..8).map(|length| HEADER[..length].to_vec()).collect();
    all.push(b"\0asm\x02\0\0\0".to_vec());
    all.push(b"\0asm\xff\xff\xff\xff".to_vec());
    all.push(b"\0ASM\x01\0\0\0".to_vec());
    all.push([b"\xef\xbb\xbf", HEADER].concat());
    all
}

/// What looks like compiled code, which must never be loaded from a guest.
fn compiled() -> Vec<Vec<u8>> {
    let elf = [b"\x7fELF\x02\x01\x01".to_vec(), vec![0; 4096]].concat();
    vec![
        elf,
        b"wasmtime-aot".to_vec(),
        [vec![0x42; 64], small()].concat(),
    ]
}

fn truncated() -> Vec<Vec<u8>> {
    let whole = small();
    assert!(wasmparser::validate(&whole).is_ok());
    // A module may end after a section, where it lacks only what comes then.
    (9..whole.len())
        .map(|length| whole[..length].to_vec())
        .filter(|part| wasmparser::validate(part).is_err())
        .collect()
}

/// One bit turned round, everywhere.
fn flipped() -> Vec<Vec<u8>> {
    let whole = small();
    let turn = |(place, bit): (usize, usize)| {
        let mut copy = whole.clone();
        copy[place] ^= 1 << bit;
        copy
    };
    (8..whole.len())
        .map(|place| turn((place, place % 8)))
        .collect()
}

fn section_sizes() -> Vec<Vec<u8>> {
    let lie = |id: u8, size: u64| [HEADER, &[id], &number(size), &[0, 0, 0]].concat();
    (0..=13)
        .flat_map(|id| [4, 0x7f, 1 << 20, u64::from(u32::MAX)].map(|size| lie(id, size)))
        .collect()
}

/// Sections that say they hold four billion things.
fn counts() -> Vec<Vec<u8>> {
    let many = number(u64::from(u32::MAX));
    let mut all: Vec<Vec<u8>> = (1..=13)
        .filter(|id| *id != 8)
        .map(|id| [HEADER.to_vec(), section(id, &many)].concat())
        .collect();
    // Parameters, results, locals, targets of a branch, a name.
    for content in [
        [vec![1, 0x60], many.clone()].concat(),
        [vec![1, 0x60, 0], many.clone()].concat(),
    ] {
        all.push([HEADER.to_vec(), section(1, &content)].concat());
    }
    let body = |body: Vec<u8>| {
        Build {
            entry: body,
            ..Build::default()
        }
        .bytes()
    };
    all.push(body([vec![1], many.clone(), vec![0x7f]].concat()));
    all.push(body(
        [vec![2], many.clone(), vec![0x7f], many.clone(), vec![0x7f]].concat(),
    ));
    all.push(body([vec![0, 0x41, 0, 0x0e], many.clone()].concat()));
    all.push([HEADER.to_vec(), section(2, &[vec![1], many].concat())].concat());
    all
}

/// Numbers with more bytes than they need, or than they may have.
fn long_numbers() -> Vec<Vec<u8>> {
    let long = [0x80, 0x80, 0x80, 0x80, 0x80, 0x00];
    let over = [0xff, 0xff, 0xff, 0xff, 0x7f];
    let endless = [0x80; 64];
    [&long[..], &over, &endless]
        .into_iter()
        .flat_map(|number| {
            [
                [HEADER, &[1], number, &[0]].concat(),
                [HEADER, &section(1, number)].concat(),
                Build::default()
                    .code([&[0x41], number, &[0x1a]].concat())
                    .bytes(),
            ]
        })
        .filter(|bytes| wasmparser::validate(bytes).is_err())
        .collect()
}

fn section_order() -> Vec<Vec<u8>> {
    let types = section(1, &list(&[vec![0x60, 0, 0]]));
    let memory = section(5, &list(&[vec![0, 1]]));
    let functions = section(3, &list(&[vec![0]]));
    let code = section(10, &list(&[sized(&[0, 0x0b])]));
    [
        vec![types.clone(), types.clone()],
        vec![memory.clone(), types.clone()],
        vec![types.clone(), functions.clone()],
        vec![types.clone(), code],
        vec![types.clone(), functions, section(10, &list(&[]))],
        vec![section(99, b"unknown")],
        vec![section(0, b"")],
        vec![section(8, &[0])],
        vec![section(12, &[1])],
        vec![
            types,
            memory,
            section(7, &list(&[[sized(b"m"), vec![2, 9]].concat()])),
        ],
    ]
    .into_iter()
    .map(|sections| [HEADER.to_vec(), sections.concat()].concat())
    .collect()
}

fn bad_names() -> Vec<Vec<u8>> {
    [
        &b"\xff\xfe"[..],
        b"\xc0\xaf",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"a\xe2\x82",
    ]
    .into_iter()
    .map(|name| {
        let export = [sized(name), vec![2, 0]].concat();
        Build {
            exports: vec![export],
            ..Build::default()
        }
        .bytes()
    })
    .collect()
}

// Giant, but well formed or nearly.

fn giant_import_name() -> Vec<Vec<u8>> {
    [1_000, 90_000, 200_000]
        .into_iter()
        .map(|length| {
            let name = "\u{202e}".repeat(length / 3);
            let import = [sized(name.as_bytes()), sized(b"f"), vec![0, 0]].concat();
            Build {
                imports: vec![import],
                ..Build::default()
            }
            .bytes()
        })
        .collect()
}

fn giant_custom_section() -> Vec<Vec<u8>> {
    let custom = [sized(b"padding"), vec![0x5a; 48 << 20]].concat();
    vec![[Build::default().bytes(), section(0, &custom)].concat()]
}

/// Names of functions that are not there, in a section that no engine has to believe.
fn giant_name_section() -> Vec<Vec<u8>> {
    let names: Vec<Vec<u8>> = (0..100_000)
        .map(|index| [number(index), sized(&[0x1b; 60])].concat())
        .collect();
    let functions = [vec![1], sized(&list(&names))].concat();
    let custom = [sized(b"name"), functions].concat();
    let trap = Build::default().code(vec![0]).bytes();
    vec![[trap, section(0, &custom)].concat()]
}

fn too_large() -> Vec<Vec<u8>> {
    vec![[HEADER.to_vec(), vec![0; 64 << 20]].concat()]
}

fn many_imports() -> Vec<Vec<u8>> {
    let build = Build {
        imports: repeat_n(import("sched_yield", 1), 65_536).collect(),
        ..Build::default()
    };
    vec![build.with_type(vec![0x60, 0, 1, 0x7f]).bytes()]
}

fn many_unknown_imports() -> Vec<Vec<u8>> {
    let imports = (0..65_536_u32).map(|index| {
        let name = format!("{index}-{}", "x".repeat(100));
        [sized(b"env"), sized(name.as_bytes()), vec![0, 0]].concat()
    });
    vec![
        Build {
            imports: imports.collect(),
            ..Build::default()
        }
        .bytes(),
    ]
}

fn many_globals() -> Vec<Vec<u8>> {
    let globals = repeat_n(vec![0x7e, 1, 0x42, 0, 0x0b], 100_000).collect();
    vec![
        Build {
            globals,
            ..Build::default()
        }
        .bytes(),
    ]
}

// Compile bombs.

/// `open` and `close` around each other.
fn nest(open: &[u8], depth: usize, inside: &[u8], close: &[u8]) -> Vec<u8> {
    [open.repeat(depth), inside.to_vec(), close.repeat(depth)].concat()
}

fn nested_blocks() -> Vec<Vec<u8>> {
    let code = nest(&[0x02, 0x40], 200_000, &[], &[0x41, 0, 0x0d, 0, 0x0b]);
    vec![Build::default().code(code).bytes()]
}

fn nested_loops() -> Vec<Vec<u8>> {
    let code = nest(&[0x03, 0x40], 100_000, &[], &[0x41, 0, 0x0d, 0, 0x0b]);
    vec![Build::default().code(code).bytes()]
}

fn nested_ifs() -> Vec<Vec<u8>> {
    let code = nest(
        &[0x41, 1, 0x04, 0x40],
        100_000,
        &[0x01],
        &[0x05, 0x01, 0x0b],
    );
    vec![Build::default().code(code).bytes()]
}

fn branch_tables() -> Vec<Vec<u8>> {
    let depth = 100_u8;
    let targets: Vec<u8> = (0..65_000_u32)
        .map(|index| (index % u32::from(depth)) as u8)
        .collect();
    let table = [
        vec![0x02, 0x40, 0x41, 1, 0x0e],
        sized(&targets),
        vec![0, 0x0b],
    ]
    .concat();
    let code = nest(
        &[0x02, 0x40],
        usize::from(depth),
        &table.repeat(40),
        &[0x0b],
    );
    vec![Build::default().code(code).bytes()]
}

fn tiny_functions() -> Vec<Vec<u8>> {
    let functions = repeat_n((0, vec![0]), 400_000).collect();
    vec![
        Build {
            functions,
            ..Build::default()
        }
        .bytes(),
    ]
}

/// 1,000 locals that change in each of 500 loops inside each other.
fn locals_in_loops() -> Vec<Vec<u8>> {
    let locals = 1_000;
    let step: Vec<u8> = (0..locals)
        .flat_map(|local| {
            let (from, to) = (number(local), number((local + 1) % locals));
            [vec![0x20], from, vec![0x41, 1, 0x6a, 0x21], to].concat()
        })
        .collect();
    let few: Vec<u8> = (0..20_u64)
        .flat_map(|local| {
            let (from, to) = (number(local * 50), number((local * 50 + 7) % locals));
            [vec![0x20], from, vec![0x41, 1, 0x6a, 0x21], to].concat()
        })
        .collect();
    let open = [vec![0x03, 0x40], few].concat();
    let inside = nest(&open, 500, &step, &[0x41, 0, 0x0d, 0, 0x0b]);
    let entry = [vec![1], number(locals), vec![0x7f], inside].concat();
    vec![
        Build {
            entry,
            ..Build::default()
        }
        .bytes(),
    ]
}

/// Functions with 50,000 locals each.
fn wide_frames() -> Vec<Vec<u8>> {
    let body = [vec![1], number(49_999), vec![0x7b]].concat();
    let functions = repeat_n((0, body), 300).collect();
    vec![
        Build {
            functions,
            ..Build::default()
        }
        .bytes(),
    ]
}

/// Loops that take and give 500 values.
fn block_parameters() -> Vec<Vec<u8>> {
    let width = 500;
    let kinds = vec![0x7f; width];
    let kind = [vec![0x60], sized(&kinds), sized(&kinds)].concat();
    let values = [0x41, 0].repeat(width);
    let step = [vec![0x03, 1], vec![0x41, 0, 0x0d, 0], vec![0x0b]].concat();
    let code = [values, step.repeat(2_000), vec![0x1a; width]].concat();
    vec![Build::default().with_type(kind).code(code).bytes()]
}

fn many_types() -> Vec<Vec<u8>> {
    // Each another one: 20 parameters of two kinds, by the bits of the number.
    let types = (0..900_000_u32).map(|index| {
        let kinds: Vec<u8> = (0..20).map(|bit| 0x7e + (index >> bit & 1) as u8).collect();
        [vec![0x60], sized(&kinds), vec![0]].concat()
    });
    vec![
        Build {
            types: types.collect(),
            ..Build::default()
        }
        .bytes(),
    ]
}

fn many_exports() -> Vec<Vec<u8>> {
    let exports = (0..480_000_u32)
        .map(|index| [sized(format!("{index}").as_bytes()), vec![0, 0]].concat())
        .collect();
    vec![
        Build {
            exports,
            ..Build::default()
        }
        .bytes(),
    ]
}

fn straight_line() -> Vec<Vec<u8>> {
    let step = [0x23, 0, 0x42, 3, 0x7e, 0x42, 1, 0x7c, 0x24, 0];
    let globals = vec![vec![0x7e, 1, 0x42, 0, 0x0b]];
    let build = Build {
        globals,
        ..Build::default()
    };
    vec![build.code(step.repeat(700_000)).bytes()]
}

fn deep_expression() -> Vec<Vec<u8>> {
    let code = [
        [0x41, 1].repeat(1_500_000),
        vec![0x6a; 1_499_999],
        vec![0x1a],
    ]
    .concat();
    vec![Build::default().code(code).bytes()]
}

fn memory_operations() -> Vec<Vec<u8>> {
    let step = [0x41, 0, 0x41, 0, 0x29, 3, 8, 0x37, 3, 0];
    vec![Build::default().code(step.repeat(500_000)).bytes()]
}

fn table_operations() -> Vec<Vec<u8>> {
    let step = [0x41, 0, 0x41, 1, 0x25, 0, 0x26, 0];
    let tables = vec![vec![0x70, 0, 8]];
    let build = Build {
        tables,
        ..Build::default()
    };
    vec![build.code(step.repeat(300_000)).bytes()]
}

/// Calls with a thousand arguments and results.
fn wide_calls() -> Vec<Vec<u8>> {
    let kinds = vec![0x7e; 1_000];
    let kind = [vec![0x60], sized(&kinds), sized(&kinds)].concat();
    let values = [0x42, 0].repeat(1_000);
    let code = [values, [0x10, 1].repeat(2_000), vec![0x1a; 1_000]].concat();
    let body = std::iter::once(vec![0])
        .chain((0..1_000).map(|local| [vec![0x20], number(local)].concat()));
    let functions = vec![(1, body.collect::<Vec<_>>().concat())];
    let build = Build {
        functions,
        ..Build::default()
    };
    vec![build.with_type(kind).code(code).bytes()]
}

fn constant_expression() -> Vec<Vec<u8>> {
    let sum = [[0x41, 1].repeat(1_000_000), vec![0x6a; 999_999]].concat();
    let globals = vec![[vec![0x7f, 0], sum, vec![0x0b]].concat()];
    vec![
        Build {
            globals,
            ..Build::default()
        }
        .bytes(),
    ]
}

fn many_segments() -> Vec<Vec<u8>> {
    let data = repeat_n(vec![0, 0x41, 0, 0x0b, 1, 0x5a], 100_000).collect();
    vec![
        Build {
            data,
            ..Build::default()
        }
        .bytes(),
    ]
}

fn many_elements() -> Vec<Vec<u8>> {
    let functions = [number(9_000_000), vec![0; 9_000_000]].concat();
    let elements = vec![[vec![1, 0], functions].concat()];
    vec![
        Build {
            elements,
            ..Build::default()
        }
        .bytes(),
    ]
}

/// Handlers of exceptions around each other.
fn handlers() -> Vec<Vec<u8>> {
    // try_table with a clause that catches all, to the function's own label.
    let code = nest(&[0x1f, 0x40, 1, 0x02, 0], 50_000, &[0x08, 0], &[0x0b]);
    let build = Build {
        tags: vec![vec![0, 0]],
        ..Build::default()
    };
    vec![build.code(code).bytes()]
}

// Components.

fn component(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

fn component_depth() -> Vec<Vec<u8>> {
    let depth = 90;
    vec![component(&format!(
        "{}{}",
        "(component ".repeat(depth),
        ")".repeat(depth)
    ))]
}

fn component_instances() -> Vec<Vec<u8>> {
    let module = "(core module $m (memory (export \"memory\") 16))";
    let instances = "(core instance (instantiate $m))".repeat(900);
    let run = RUN.replace("BODY", "i32.const 0");
    vec![component(&format!(
        "(component {module} {instances} {run})"
    ))]
}

fn component_types() -> Vec<Vec<u8>> {
    // Each tuple holds the one before twice.
    let mut text = String::from("(component (type $t0 (tuple u8 u8))");
    for step in 1..=60 {
        let before = step - 1;
        text.push_str(&format!("(type $t{step} (tuple $t{before} $t{before}))"));
    }
    text.push_str("(import \"f\" (func (param \"x\" $t60))))");
    vec![component(&text)]
}

fn component_truncated() -> Vec<Vec<u8>> {
    let whole = component(&format!(
        "(component {})",
        RUN.replace("BODY", "i32.const 0")
    ));
    (9..whole.len())
        .map(|length| whole[..length].to_vec())
        .filter(|part| wasmparser::validate(part).is_err())
        .collect()
}

/// The export of a command.
const RUN: &str = r#"
    (core module $main (func (export "run") (result i32) BODY))
    (core instance $main (instantiate $main))
    (func $run (result (result)) (canon lift (core func $main "run")))
    (instance $command (export "run" (func $run)))
    (export "wasi:cli/run@0.2.0" (instance $command))"#;
