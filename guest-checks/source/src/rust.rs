//! Definitions in Rust.
//!
//! Modules, types and traits open a scope. Structs, enums, unions and traits count as
//! classes; the functions of an `impl` block belong to the type that it is for, of
//! whatever trait. What a macro would expand to is not seen; what a `cfg` would leave
//! out is.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use syn::{Ident, ImplItem, Item, TraitItem, Type};

use crate::nesting::Depth;
use crate::symbol::{Symbol, SymbolKind, SyntaxFault, qualified};

/// Lists the types, traits and functions of a file.
pub(crate) fn symbols(source: &str) -> Result<Vec<Symbol>, SyntaxFault> {
    let result = parse(source);
    // Spans are kept per thread otherwise, with the text of every file parsed so far.
    proc_macro2::extra::invalidate_current_thread_spans();
    result
}

fn parse(source: &str) -> Result<Vec<Symbol>, SyntaxFault> {
    let tokens: TokenStream = without_shebang(source)
        .parse()
        .map_err(|error: proc_macro2::LexError| fault(line_of(error.span()), &error.to_string()))?;
    let depth = measure(&tokens);
    depth.judge()?;
    let file: syn::File =
        syn::parse2(tokens).map_err(|error| fault(line_of(error.span()), &error.to_string()))?;
    let symbols = collect(&file.items);
    if depth.has_long_statements() {
        std::mem::forget(file);
    }
    Ok(symbols)
}

/// Takes off a byte order mark and a first line `#!…` that is no attribute; its line
/// break stays, so that lines keep their numbers.
fn without_shebang(source: &str) -> &str {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    match source.strip_prefix("#!") {
        Some(rest) if !rest.trim_start().starts_with('[') => {
            let end = source.find('\n').unwrap_or(source.len());
            source.get(end..).unwrap_or_default()
        }
        Some(_) | None => source,
    }
}

fn measure(tokens: &TokenStream) -> Depth {
    let mut depth = Depth::default();
    let mut open = vec![tokens.clone().into_iter()];
    while let Some(stream) = open.last_mut() {
        match stream.next() {
            None => {
                open.pop();
                depth.close();
            }
            Some(TokenTree::Group(group)) => {
                if group.delimiter() == Delimiter::Brace {
                    depth.end_statement();
                }
                depth.open(line_of(group.span()));
                open.push(group.stream().into_iter());
            }
            Some(TokenTree::Punct(punct)) => match punct.as_char() {
                ';' => depth.end_statement(),
                '&' | '*' | '!' | '-' | '<' | '|' => depth.prefix(line_of(punct.span())),
                // The quote of a lifetime may stand between prefix operators (`&'a &'a T`).
                '\'' if punct.spacing() == Spacing::Joint => {}
                _ => depth.operand(),
            },
            Some(TokenTree::Ident(_) | TokenTree::Literal(_)) => depth.operand(),
        }
    }
    depth
}

fn collect(items: &[Item]) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    let mut open: Vec<(String, &[Item])> = vec![(String::new(), items)];
    while let Some((scope, items)) = open.pop() {
        let mut class = |ident: &Ident| symbols.push(symbol(&scope, ident, SymbolKind::Class));
        for item in items {
            match item {
                Item::Struct(item) => class(&item.ident),
                Item::Enum(item) => class(&item.ident),
                Item::Union(item) => class(&item.ident),
                Item::Trait(item) => class(&item.ident),
                _ => {}
            }
        }
        for item in items {
            match item {
                Item::Fn(item) => {
                    symbols.push(symbol(&scope, &item.sig.ident, SymbolKind::Function))
                }
                Item::Trait(item) => {
                    let scope = qualified(&scope, &item.ident.to_string());
                    let methods = item.items.iter().filter_map(|item| match item {
                        TraitItem::Fn(method) => Some(&method.sig.ident),
                        _ => None,
                    });
                    symbols
                        .extend(methods.map(|ident| symbol(&scope, ident, SymbolKind::Function)));
                }
                Item::Impl(item) => {
                    let Some(name) = type_name(&item.self_ty) else {
                        continue;
                    };
                    let scope = qualified(&scope, &name);
                    let methods = item.items.iter().filter_map(|item| match item {
                        ImplItem::Fn(method) => Some(&method.sig.ident),
                        _ => None,
                    });
                    symbols
                        .extend(methods.map(|ident| symbol(&scope, ident, SymbolKind::Function)));
                }
                Item::Mod(item) => {
                    if let Some((_, items)) = &item.content {
                        open.push((qualified(&scope, &item.ident.to_string()), items));
                    }
                }
                _ => {}
            }
        }
    }
    symbols
}

/// The name of the type that an `impl` block is for; none for slices, tuples and the like.
fn type_name(of: &Type) -> Option<String> {
    let mut of = of;
    loop {
        match of {
            Type::Path(path) => {
                return path.path.segments.last().map(|last| last.ident.to_string());
            }
            Type::Reference(inner) => of = &inner.elem,
            Type::Paren(inner) => of = &inner.elem,
            Type::Group(inner) => of = &inner.elem,
            _ => return None,
        }
    }
}

fn symbol(scope: &str, ident: &Ident, kind: SymbolKind) -> Symbol {
    let line = line_of(ident.span()).unwrap_or(1);
    Symbol {
        name: qualified(scope, &ident.to_string()),
        kind,
        line,
    }
}

fn line_of(span: proc_macro2::Span) -> Option<u64> {
    u64::try_from(span.start().line).ok()
}

fn fault(line: Option<u64>, message: &str) -> SyntaxFault {
    SyntaxFault {
        line,
        message: format!("does not parse as Rust: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(source: &str) -> Vec<String> {
        let mut found = symbols(source).expect("it parses");
        found.sort_by_key(|symbol| symbol.line);
        found
            .iter()
            .map(|symbol| format!("{} {} {:?}", symbol.line, symbol.name, symbol.kind))
            .collect()
    }

    fn fault(source: &str) -> (Option<u64>, String) {
        let fault = symbols(source).expect_err("it does not parse");
        (fault.line, fault.message)
    }

    #[test]
    fn methods_belong_to_the_type_of_their_impl() {
        let source = "\
#![allow(dead_code)]
pub struct Shape<T> { side: T }
impl<T> Shape<T> {
    pub const fn new(side: T) -> Self { fn hidden() {} Self { side } }
}
impl<T> fmt::Display for &Shape<T> {
    fn fmt(&self) {}
}
mod inner {
    pub trait Area { fn area(&self) -> f64; }
    pub(super) enum Kind { A }
    impl super::Shape<u8> { async fn load() {} }
}
union Bits { a: u8 }
fn main() {}
impl Area for [u8] { fn area(&self) -> f64 { 0.0 } }
";
        assert_eq!(
            listed(source),
            [
                "2 Shape Class",
                "4 Shape.new Function",
                "7 Shape.fmt Function",
                "10 inner.Area Class",
                "10 inner.Area.area Function",
                "11 inner.Kind Class",
                "12 inner.Shape.load Function",
                "14 Bits Class",
                "15 main Function",
            ]
        );
    }

    #[test]
    fn a_shebang_and_a_byte_order_mark_are_skipped() {
        assert_eq!(
            listed("#!/usr/bin/env cargo\nfn main() {}\n"),
            ["2 main Function"]
        );
        assert_eq!(listed("\u{feff}fn main() {}\n"), ["1 main Function"]);
        assert_eq!(listed("#![allow(x)]\nfn main() {}\n"), ["2 main Function"]);
    }

    #[test]
    fn faults_have_a_line() {
        assert_eq!(fault("fn a() {}\nfn b( {}\n").0, Some(2));
        assert_eq!(fault("fn a() {}\n\nlet x = 1;\n").0, Some(3));
        assert_eq!(fault("fn a() {\n").0, Some(1));
        assert_eq!(fault("fn a() {}\nconst B: &str = \"x;\n").0, Some(2));
    }

    #[test]
    fn deep_nesting_is_refused_before_parsing() {
        let brackets = format!(
            "fn a() {{\nlet x = {}1{};\n}}",
            "(".repeat(50_000),
            ")".repeat(50_000)
        );
        assert_eq!(fault(&brackets).0, Some(2));
        let prefixes = format!("fn a() {{ let x = {}true; }}", "!".repeat(50_000));
        assert!(fault(&prefixes).1.contains("nested deeper"));
    }

    #[test]
    fn long_chains_are_fine() {
        let sum = format!("fn a() -> i32 {{ {}1 }}", "1 + ".repeat(5_000));
        assert_eq!(listed(&sum), ["1 a Function"]);
        let calls = format!("fn a() {{ x{}; }}", ".f()".repeat(5_000));
        assert_eq!(listed(&calls), ["1 a Function"]);
    }
}
