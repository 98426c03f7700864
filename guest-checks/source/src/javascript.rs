//! Definitions in JavaScript and TypeScript.
//!
//! Classes, interfaces and namespaces open a scope. Interfaces and enums count as
//! classes. A constant or a class field that holds a function or a class expression is a
//! definition too. Private members keep their `#`. An anonymous default export is called
//! `default`. Blocks and functions are not entered.

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    BindingPattern, Class, ClassElement, Declaration, ExportDefaultDeclarationKind, Expression,
    PropertyKey, Statement, TSNamespaceDeclarationBody, TSSignature,
};
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{GetSpan, SourceType, Span};
use probity_guest::Content;

use crate::script_nesting;
use crate::symbol::{Symbol, SymbolKind, SyntaxFault, qualified};

/// Lists the classes and functions of a script or a module.
pub(crate) fn symbols(
    content: &Content,
    source: &str,
    kind: SourceType,
) -> Result<Vec<Symbol>, SyntaxFault> {
    script_nesting::measure(source).judge()?;
    let allocator = Allocator::default();
    let options = ParseOptions {
        parse_regular_expression: true,
        ..ParseOptions::default()
    };
    let parsed = Parser::new(&allocator, source, kind)
        .with_options(options)
        .parse();
    let language = if kind.is_javascript() {
        "JavaScript"
    } else {
        "TypeScript"
    };
    if parsed.panicked || parsed.diagnostics.has_errors() {
        let first = parsed.diagnostics.iter().next();
        let offset = first
            .and_then(|first| first.labels.first())
            .map(|label| label.offset());
        return Err(SyntaxFault {
            line: offset.map(|offset| content.line_at(offset as usize)),
            message: match first {
                Some(first) => format!("does not parse as {language}: {}", first.message),
                None => format!("does not parse as {language}"),
            },
        });
    }
    let mut collector = Collector {
        content,
        symbols: Vec::new(),
    };
    collector.statements(parsed.program.body.as_slice());
    Ok(collector.symbols)
}

struct Collector<'c> {
    content: &'c Content,
    symbols: Vec<Symbol>,
}

impl Collector<'_> {
    fn statements(&mut self, body: &[Statement<'_>]) {
        let mut open = vec![(String::new(), body)];
        while let Some((scope, body)) = open.pop() {
            for statement in body {
                let declaration = match statement {
                    Statement::ExportDeclaration(export) => Some(&export.declaration),
                    Statement::ExportDefaultDeclaration(export) => {
                        self.default_export(&scope, &export.declaration);
                        None
                    }
                    other => other.as_declaration(),
                };
                match declaration {
                    Some(Declaration::TSNamespaceDeclaration(namespace)) => {
                        let mut name = qualified(&scope, namespace.id.name.as_str());
                        let mut body = &namespace.body;
                        // `namespace a.b {}` nests one declaration in the other.
                        while let TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) = body {
                            name = qualified(&name, inner.id.name.as_str());
                            body = &inner.body;
                        }
                        if let TSNamespaceDeclarationBody::TSModuleBlock(block) = body {
                            open.push((name, block.body.as_slice()));
                        }
                    }
                    Some(Declaration::TSGlobalDeclaration(global)) => {
                        open.push((scope.clone(), global.body.body.as_slice()));
                    }
                    Some(Declaration::TSExternalModuleDeclaration(module)) => {
                        if let Some(block) = &module.body {
                            open.push((scope.clone(), block.body.as_slice()));
                        }
                    }
                    Some(declaration) => self.declaration(&scope, declaration),
                    None => {}
                }
            }
        }
    }

    fn declaration(&mut self, scope: &str, declaration: &Declaration<'_>) {
        match declaration {
            Declaration::FunctionDeclaration(function) => {
                if let Some(id) = &function.id {
                    self.add(scope, &id.name, SymbolKind::Function, id.span);
                }
            }
            Declaration::ClassDeclaration(class) => {
                if let Some(id) = &class.id {
                    self.class(scope, &id.name, class, id.span);
                }
            }
            Declaration::VariableDeclaration(variables) => {
                for variable in &variables.declarations {
                    if let (BindingPattern::BindingIdentifier(id), Some(value)) =
                        (&variable.id, &variable.init)
                    {
                        self.value(scope, &id.name, value, id.span);
                    }
                }
            }
            Declaration::TSInterfaceDeclaration(interface) => {
                let name = self.add(
                    scope,
                    &interface.id.name,
                    SymbolKind::Class,
                    interface.id.span,
                );
                for member in &interface.body.body {
                    if let TSSignature::TSMethodSignature(method) = member {
                        self.member(&name, &method.key, SymbolKind::Function);
                    }
                }
            }
            Declaration::TSEnumDeclaration(item) => {
                self.add(scope, &item.id.name, SymbolKind::Class, item.id.span);
            }
            _ => {}
        }
    }

    fn default_export(&mut self, scope: &str, exported: &ExportDefaultDeclarationKind<'_>) {
        let anonymous = |span| ("default", span);
        match exported {
            ExportDefaultDeclarationKind::FunctionDeclaration(function) => {
                let id = function.id.as_ref().map(|id| (id.name.as_str(), id.span));
                let (name, span) = id.unwrap_or_else(|| anonymous(function.span));
                self.add(scope, name, SymbolKind::Function, span);
            }
            ExportDefaultDeclarationKind::ClassDeclaration(class) => {
                let id = class.id.as_ref().map(|id| (id.name.as_str(), id.span));
                let (name, span) = id.unwrap_or_else(|| anonymous(class.span));
                self.class(scope, name, class, span);
            }
            other => {
                if let Some(value) = other.as_expression() {
                    self.value(scope, "default", value, value.span());
                }
            }
        }
    }

    /// A name that is bound to a value: a definition if the value is a function or a class.
    fn value(&mut self, scope: &str, name: &str, value: &Expression<'_>, span: Span) {
        match value.get_inner_expression() {
            Expression::FunctionExpression(_) | Expression::ArrowFunctionExpression(_) => {
                self.add(scope, name, SymbolKind::Function, span);
            }
            Expression::ClassExpression(class) => self.class(scope, name, class, span),
            _ => {}
        }
    }

    /// Recurses into class fields that hold classes; the nesting is bounded beforehand.
    fn class(&mut self, scope: &str, name: &str, class: &Class<'_>, span: Span) {
        let scope = self.add(scope, name, SymbolKind::Class, span);
        for element in &class.body.body {
            match element {
                ClassElement::MethodDefinition(method) => {
                    self.member(&scope, &method.key, SymbolKind::Function);
                }
                ClassElement::PropertyDefinition(field) => {
                    if let (Some(name), Some(value)) = (member_name(&field.key), &field.value) {
                        self.value(&scope, &name, value, field.key.span());
                    }
                }
                ClassElement::StaticBlock(_)
                | ClassElement::AccessorProperty(_)
                | ClassElement::TSIndexSignature(_) => {}
            }
        }
    }

    fn member(&mut self, scope: &str, key: &PropertyKey<'_>, kind: SymbolKind) {
        if let Some(name) = member_name(key) {
            self.add(scope, &name, kind, key.span());
        }
    }

    fn add(&mut self, scope: &str, name: &str, kind: SymbolKind, span: Span) -> String {
        let name = qualified(scope, name);
        let line = self.content.line_at(span.start as usize);
        self.symbols.push(Symbol {
            name: name.clone(),
            kind,
            line,
        });
        name
    }
}

fn member_name(key: &PropertyKey<'_>) -> Option<String> {
    match key {
        PropertyKey::PrivateIdentifier(name) => Some(format!("#{}", name.name)),
        other => other.static_name().map(|name| name.into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(source: &str, path: &str) -> Result<Vec<Symbol>, SyntaxFault> {
        let kind = SourceType::from_path(path).expect("a script");
        symbols(
            &Content::new(source),
            source,
            kind.with_jsx(kind.is_jsx() || kind.is_javascript()),
        )
    }

    fn listed(source: &str, path: &str) -> Vec<String> {
        let mut found = parsed(source, path).expect("it parses");
        found.sort_by_key(|symbol| symbol.line);
        found
            .iter()
            .map(|symbol| format!("{} {} {:?}", symbol.line, symbol.name, symbol.kind))
            .collect()
    }

    fn fault(source: &str, path: &str) -> (Option<u64>, String) {
        let fault = parsed(source, path).expect_err("it does not parse");
        (fault.line, fault.message)
    }

    #[test]
    fn declarations_and_bound_values_are_definitions() {
        let source = "\
#!/usr/bin/env node
import x from 'y';
export async function load() { function hidden() {} }
const add = (a, b) => a + b, three = 3;
let Shape = class { area() {} };
export class Circle extends Shape {
  #radius = 1;
  static of = (r) => new Circle(r);
  constructor() { super(); }
  get radius() { return this.#radius; }
  #grow() {}
  ['computed' + 1]() {}
}
export default function () {}
if (x) { function inBlock() {} }
";
        assert_eq!(
            listed(source, "a.js"),
            [
                "3 load Function",
                "4 add Function",
                "5 Shape Class",
                "5 Shape.area Function",
                "6 Circle Class",
                "8 Circle.of Function",
                "9 Circle.constructor Function",
                "10 Circle.radius Function",
                "11 Circle.#grow Function",
                "14 default Function",
            ]
        );
    }

    #[test]
    fn interfaces_enums_and_namespaces_of_typescript() {
        let source = "\
interface Area { area(): number; name: string }
export enum Kind { A }
namespace geo.flat { export const side = (<T>(x: T) => x) as Fn; }
declare module 'm' { function f(): void; }
type Alias = string;
abstract class Base<T> { abstract run(): T }
";
        assert_eq!(
            listed(source, "a.ts"),
            [
                "1 Area Class",
                "1 Area.area Function",
                "2 Kind Class",
                "3 geo.flat.side Function",
                "4 f Function",
                "6 Base Class",
                "6 Base.run Function",
            ]
        );
    }

    #[test]
    fn jsx_needs_javascript_or_tsx() {
        let source = "export const App = () => <p className=\"a\">it's ({1 + 1}</p>;\n";
        assert_eq!(listed(source, "a.js"), ["1 App Function"]);
        assert_eq!(listed(source, "a.tsx"), ["1 App Function"]);
        assert!(parsed(source, "a.ts").is_err());
    }

    #[test]
    fn faults_have_a_line() {
        assert_eq!(fault("let a = 1;\nlet b = ;\n", "a.js").0, Some(2));
        assert_eq!(fault("\n\nlet a: number = 1;\n", "a.js").0, Some(3));
        assert!(
            fault("function (", "a.ts")
                .1
                .starts_with("does not parse as TypeScript: ")
        );
        assert_eq!(fault("\nconst r = /(/;\n", "a.mjs").0, Some(2));
    }

    #[test]
    fn deep_nesting_is_refused_before_parsing() {
        let brackets = format!(
            "let a;\nlet x = {}1{};",
            "[".repeat(50_000),
            "]".repeat(50_000)
        );
        let refused = (
            Some(2),
            "is nested deeper than 100 levels, so it is not parsed".to_owned(),
        );
        assert_eq!(fault(&brackets, "a.js"), refused);
        assert_eq!(
            fault(&format!("\nx = {}1;", "!".repeat(50_000)), "a.js"),
            refused
        );
    }
}
