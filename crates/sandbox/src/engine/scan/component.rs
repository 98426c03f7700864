//! Components: what instantiating them amounts to, and types that cannot nest too deep.
//!
//! A component may instantiate another one many times, which may do the same; the engine
//! lays all of it out flat. The cost of each component is therefore carried along with its
//! index and added at each instantiation. That is exact because components themselves are
//! never passed around: importing one, or taking one from an instance, is refused.
//!
//! Nested components may pass functions through but not convert any. Calls between two
//! components need code that reaches two memories, and the engine, which offers a module
//! one memory only, cannot make it: it panics.

use std::collections::HashMap;

use wasmparser::component_types::{ComponentDefinedType, ComponentDefinedTypeId, ComponentValType};
use wasmparser::types::TypesRef;
use wasmparser::{
    BinaryReader, CanonicalFunction, ComponentAlias, ComponentExternName, ComponentExternalKind,
    ComponentImport, ComponentInstance, ComponentOuterAliasKind, ComponentType, ComponentTypeRef,
    CoreType, Instance, ModuleTypeDeclaration, Payload, WasmFeatures,
};

use super::error::{Place, ScanError};
use super::shape::Shape;
use super::support::{SUPPORTED, refused, unsupported};
use super::walk::{Tally, no_recursion_group};

/// What one instantiation of a component amounts to.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    instances: u64,
    wiring: u64,
    conversions: u64,
}

/// One open component.
#[derive(Default)]
struct Open {
    cost: Cost,
    /// Whether a core function was lifted here.
    lifted: bool,
    /// The component index space.
    components: Vec<Cost>,
}

/// The open components, the outermost first.
#[derive(Default)]
pub(super) struct Components {
    open: Vec<Open>,
    /// Widths of the types met so far.
    widths: HashMap<ComponentDefinedTypeId, u64>,
}

impl Components {
    /// A component starts at this place.
    pub(super) fn enter(&mut self, tally: &mut Tally<'_>, place: Place) -> Result<(), ScanError> {
        if !self.open.is_empty() {
            tally.add(Shape::Components, 1, place)?;
        }
        tally.most(Shape::ComponentNesting, self.open.len() as u64, place)?;
        self.open.push(Open::default());
        Ok(())
    }

    /// The innermost component ends.
    pub(super) fn leave(&mut self) {
        if let Some(done) = self.open.pop()
            && let Some(outer) = self.open.last_mut()
        {
            outer.components.push(done.cost);
        }
    }

    /// Measures a section of the innermost component. `bytes` is the whole input, `types`
    /// what the validator knows before this section.
    pub(super) fn section(
        &mut self,
        tally: &mut Tally<'_>,
        payload: &Payload<'_>,
        bytes: &[u8],
    ) -> Result<(), ScanError> {
        match payload {
            Payload::ComponentTypeSection(section) => {
                types(tally, bytes, section.range(), Depth::Component)
            }
            Payload::CoreTypeSection(section) => types(tally, bytes, section.range(), Depth::Core),
            Payload::ComponentImportSection(section) => {
                let place = Place::at(section.range().start);
                tally.add(Shape::Imports, u64::from(section.count()), place)?;
                for item in section.clone().into_iter_with_offsets() {
                    let (offset, import) = item.map_err(|e| refused(&e))?;
                    name(tally, &import.name, offset)?;
                    if matches!(import.ty, ComponentTypeRef::Component(_)) {
                        return Err(passed(offset));
                    }
                }
                Ok(())
            }
            Payload::ComponentExportSection(section) => {
                let place = Place::at(section.range().start);
                tally.add(Shape::Exports, u64::from(section.count()), place)?;
                for item in section.clone().into_iter_with_offsets() {
                    let (offset, export) = item.map_err(|e| refused(&e))?;
                    name(tally, &export.name, offset)?;
                    if export.kind == ComponentExternalKind::Component {
                        self.alias(0, export.index);
                    }
                    self.add(tally, offset, |cost| &mut cost.wiring, 1)?;
                }
                Ok(())
            }
            Payload::InstanceSection(section) => {
                for item in section.clone().into_iter_with_offsets() {
                    let (offset, instance) = item.map_err(|e| refused(&e))?;
                    let items = match &instance {
                        Instance::Instantiate { args, .. } => args.len(),
                        Instance::FromExports(exports) => {
                            tally.add(Shape::Exports, exports.len() as u64, Place::at(offset))?;
                            exports.len()
                        }
                    };
                    self.add(tally, offset, |cost| &mut cost.instances, 1)?;
                    self.add(tally, offset, |cost| &mut cost.wiring, items as u64)?;
                }
                Ok(())
            }
            Payload::ComponentInstanceSection(section) => {
                for item in section.clone().into_iter_with_offsets() {
                    let (offset, instance) = item.map_err(|e| refused(&e))?;
                    self.instance(tally, &instance, offset)?;
                }
                Ok(())
            }
            Payload::ComponentAliasSection(section) => {
                for item in section.clone().into_iter_with_offsets() {
                    let (offset, alias) = item.map_err(|e| refused(&e))?;
                    self.add(tally, offset, |cost| &mut cost.wiring, 1)?;
                    match alias {
                        ComponentAlias::InstanceExport {
                            kind: ComponentExternalKind::Component,
                            ..
                        } => return Err(passed(offset)),
                        ComponentAlias::Outer {
                            kind: ComponentOuterAliasKind::Component,
                            count,
                            index,
                        } => self.alias(count, index),
                        _ => {}
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Measures the canonical functions of a section. Their types must be known by now, so
    /// this runs after the validator.
    pub(super) fn canonical(
        &mut self,
        tally: &mut Tally<'_>,
        payload: &Payload<'_>,
        types: Option<TypesRef<'_>>,
    ) -> Result<(), ScanError> {
        let (Payload::ComponentCanonicalSection(section), Some(types)) = (payload, types) else {
            return Ok(());
        };
        // Lifted functions take the next indices, which end with the last one known.
        let lifted = section
            .clone()
            .into_iter()
            .filter(|item| matches!(item, Ok(CanonicalFunction::Lift { .. })))
            .count();
        let mut next = types
            .component_function_count()
            .saturating_sub(u32::try_from(lifted).unwrap_or(u32::MAX));
        for item in section.clone().into_iter_with_offsets() {
            let (offset, function) = item.map_err(|e| refused(&e))?;
            let converts = matches!(
                function,
                CanonicalFunction::Lift { .. } | CanonicalFunction::Lower { .. }
            );
            // Between two components the engine converts strings for next to no fuel, and its
            // adapters need more than one memory in a module.
            if converts && self.open.len() > 1 {
                return Err(ScanError::Unsupported {
                    what: "a component composed of components with code of their own",
                    hint: "ship one component, or link its parts as core modules",
                    offset,
                });
            }
            // What was lifted and is lowered again is a call from a component to itself, for
            // which the engine makes an adapter, too. Whoever lifts comes after what it lowers.
            if let Some(open) = self.open.last_mut() {
                match function {
                    CanonicalFunction::Lift { .. } => open.lifted = true,
                    CanonicalFunction::Lower { .. } if open.lifted => {
                        return Err(ScanError::Unsupported {
                            what: "a component that calls its own exports",
                            hint: "call them within the core module",
                            offset,
                        });
                    }
                    _ => {}
                }
            }
            let index = match function {
                CanonicalFunction::Lift { .. } => {
                    next = next.saturating_add(1);
                    Some(next.saturating_sub(1))
                }
                CanonicalFunction::Lower { func_index, .. } => Some(func_index),
                _ => None,
            };
            let mut fields = 1_u64;
            if let Some(index) = index
                && index < types.component_function_count()
            {
                let ty = types.get(types.component_function_at(index));
                let values = ty.into_iter().flat_map(|ty| {
                    let parameters = ty.params.iter().map(|(_, ty)| *ty);
                    parameters.chain(ty.result)
                });
                for value in values {
                    fields = fields.saturating_add(width(value, types, &mut self.widths));
                }
            }
            self.add(tally, offset, |cost| &mut cost.wiring, 1)?;
            self.add(tally, offset, |cost| &mut cost.conversions, fields)?;
        }
        Ok(())
    }

    fn instance(
        &mut self,
        tally: &mut Tally<'_>,
        instance: &ComponentInstance<'_>,
        offset: usize,
    ) -> Result<(), ScanError> {
        let (inner, items) = match instance {
            ComponentInstance::Instantiate {
                component_index,
                args,
            } => {
                if args
                    .iter()
                    .any(|arg| arg.kind == ComponentExternalKind::Component)
                {
                    return Err(passed(offset));
                }
                let inner = self
                    .open
                    .last()
                    .and_then(|open| open.components.get(*component_index as usize));
                (inner.copied().unwrap_or_default(), args.len())
            }
            ComponentInstance::FromExports(exports) => {
                tally.add(Shape::Exports, exports.len() as u64, Place::at(offset))?;
                (Cost::default(), exports.len())
            }
        };
        let instances = inner.instances.saturating_add(1);
        let wiring = inner.wiring.saturating_add(items as u64);
        self.add(tally, offset, |cost| &mut cost.instances, instances)?;
        self.add(tally, offset, |cost| &mut cost.wiring, wiring)?;
        self.add(
            tally,
            offset,
            |cost| &mut cost.conversions,
            inner.conversions,
        )
    }

    /// Adds to the cost of the innermost component. Sizes are judged for each component by
    /// itself: what is never instantiated costs no more than its own text.
    fn add(
        &mut self,
        tally: &mut Tally<'_>,
        offset: usize,
        field: fn(&mut Cost) -> &mut u64,
        more: u64,
    ) -> Result<(), ScanError> {
        let Some(open) = self.open.last_mut() else {
            return Ok(());
        };
        let slot = field(&mut open.cost);
        *slot = slot.saturating_add(more);
        let cost = open.cost;
        let place = Place::at(offset);
        tally.most(Shape::Instances, cost.instances, place)?;
        tally.most(Shape::Wiring, cost.wiring, place)?;
        tally.most(Shape::Conversions, cost.conversions, place)
    }

    /// A component of an outer level, or of this one at level 0, gets a new index here.
    fn alias(&mut self, level: u32, index: u32) {
        let cost = self
            .open
            .iter()
            .rev()
            .nth(level as usize)
            .and_then(|open| open.components.get(index as usize))
            .copied()
            .unwrap_or_default();
        if let Some(open) = self.open.last_mut() {
            open.components.push(cost);
        }
    }
}

/// Refuses a component that is handed around.
fn passed(offset: usize) -> ScanError {
    ScanError::Unsupported {
        what: "a component that is passed as a value",
        hint: "nest the component where it is instantiated",
        offset,
    }
}

fn name(
    tally: &mut Tally<'_>,
    name: &ComponentExternName<'_>,
    offset: usize,
) -> Result<(), ScanError> {
    tally.most(Shape::NameSize, name.name.len() as u64, Place::at(offset))
}

/// Fields and cases of a value once it is laid out. Types form no cycles and are at most
/// 100 levels deep, which the validator has seen to.
fn width(
    value: ComponentValType,
    types: TypesRef<'_>,
    known: &mut HashMap<ComponentDefinedTypeId, u64>,
) -> u64 {
    let ComponentValType::Type(id) = value else {
        return 1;
    };
    if let Some(width) = known.get(&id) {
        return *width;
    }
    let mut parts: Vec<ComponentValType> = Vec::new();
    let mut width_ = 1_u64;
    match types.get(id) {
        Some(ComponentDefinedType::Record(record)) => {
            parts.extend(record.fields.values().copied());
        }
        Some(ComponentDefinedType::Variant(variant)) => {
            width_ = width_.saturating_add(variant.cases.len() as u64);
            parts.extend(variant.cases.values().filter_map(|case| case.ty));
        }
        Some(ComponentDefinedType::Tuple(tuple)) => parts.extend(tuple.types.iter().copied()),
        Some(ComponentDefinedType::List { element, .. }) => parts.push(*element),
        Some(ComponentDefinedType::Option { ty, .. }) => parts.push(*ty),
        Some(ComponentDefinedType::Result { ok, err, .. }) => {
            parts.extend(ok.iter().chain(err).copied());
        }
        Some(ComponentDefinedType::Flags(names)) => {
            width_ = width_.saturating_add(names.len() as u64 / 32);
        }
        _ => {}
    }
    for part in parts {
        width_ = width_.saturating_add(width(part, types, known));
    }
    known.insert(id, width_);
    width_
}

/// Which grammar a level of declarations follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// A core type section of a component.
    Core,
    /// A component type section, a component type or an instance type.
    Component,
}

/// Walks a type section of a component without recursion, since the general reader
/// recurses as deep as the input nests.
fn types(
    tally: &mut Tally<'_>,
    bytes: &[u8],
    range: std::ops::Range<usize>,
    kind: Depth,
) -> Result<(), ScanError> {
    let start = range.start;
    let section = bytes.get(range).unwrap_or_default();
    tally.add(Shape::TypeBytes, section.len() as u64, Place::at(start))?;
    let mut reader = BinaryReader::new_features(section, start, SUPPORTED);
    // Each level holds the declarations that it still awaits and whether they are those
    // of a section, where types stand without a leading byte.
    let count = reader.read_var_u32().map_err(|e| refused(&e))?;
    let mut levels = vec![count];
    while let Some(awaited) = levels.last_mut() {
        if *awaited == 0 {
            levels.pop();
            continue;
        }
        *awaited = awaited.saturating_sub(1);
        let place = Place::at(reader.original_position());
        tally.add(Shape::Types, 1, place)?;
        let declaration = if levels.len() > 1 {
            reader.read_u8().map_err(|e| refused(&e))?
        } else if kind == Depth::Core {
            0x00
        } else {
            0x01
        };
        if let Some(inner) = declared(tally, &mut reader, declaration, place)? {
            levels.push(inner);
            tally.most(
                Shape::TypeNesting,
                (levels.len() as u64).saturating_sub(1),
                place,
            )?;
        }
    }
    Ok(())
}

/// Reads one declaration. A type that holds declarations is only entered: their number is
/// returned.
fn declared(
    tally: &mut Tally<'_>,
    reader: &mut BinaryReader<'_>,
    declaration: u8,
    place: Place,
) -> Result<Option<u32>, ScanError> {
    let invalid = |e: wasmparser::Error| refused(&e);
    match declaration {
        0x00 => {
            let first = reader.clone().read_u8().map_err(invalid)?;
            no_recursion_group(Some(&first), place.offset)?;
            if let CoreType::Module(parts) = reader.read::<CoreType<'_>>().map_err(invalid)? {
                tally.add(Shape::Types, parts.len() as u64, place)?;
                for part in &parts {
                    if let ModuleTypeDeclaration::Type(group) = part
                        && group.is_explicit_rec_group()
                    {
                        return Err(unsupported(WasmFeatures::GC, place.offset));
                    }
                }
            }
        }
        0x01 => {
            let mut ahead = reader.clone();
            if let 0x41 | 0x42 = ahead.read_u8().map_err(invalid)? {
                *reader = ahead;
                return reader.read_var_u32().map(Some).map_err(invalid);
            }
            reader.read::<ComponentType<'_>>().map_err(invalid)?;
        }
        0x02 => {
            reader.read::<ComponentAlias<'_>>().map_err(invalid)?;
        }
        0x03 => {
            let import = reader.read::<ComponentImport<'_>>().map_err(invalid)?;
            name(tally, &import.name, place.offset)?;
        }
        0x04 => {
            let exported = reader.read::<ComponentExternName<'_>>().map_err(invalid)?;
            name(tally, &exported, place.offset)?;
            reader.read::<ComponentTypeRef>().map_err(invalid)?;
        }
        _ => {
            return Err(ScanError::Invalid {
                message: "unknown kind of declaration in a component type".to_owned(),
                offset: place.offset,
            });
        }
    }
    Ok(None)
}
