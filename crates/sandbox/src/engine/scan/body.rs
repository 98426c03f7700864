//! One function body: validated and measured in the same pass.
//!
//! What an instruction may cost the validator or the compiler is charged before the
//! validator sees it.

use wasmparser::{
    BinaryReader, BlockType, BrTable, Catch, FrameKind, FuncToValidate, FuncValidator,
    FuncValidatorAllocations, FunctionBody, ModuleArity, Operator, OperatorsReader,
    OperatorsReaderAllocations, ValidatorResources, WasmModuleResources,
};

use super::error::{Place, ScanError};
use super::shape::Shape;
use super::support::{SUPPORTED, refused};
use super::walk::Tally;

/// Work of a function, or of a trampoline to one, beyond that of its instructions.
pub(super) const FUNCTION: u64 = 64;

/// Allocations that are kept from one body to the next.
#[derive(Default)]
pub(super) struct Scratch {
    validator: FuncValidatorAllocations,
    reader: OperatorsReaderAllocations,
    catches: Vec<u64>,
}

/// The running measures of one body.
struct Body<'t, 'l> {
    tally: &'t mut Tally<'l>,
    function: u32,
    locals: u64,
    /// Locals that hold references.
    references: u64,
    /// Whether operands may be references.
    loose_references: bool,
    safepoints: u64,
    /// Blocks that the engine adds.
    hidden: u64,
    blocks: u64,
    live: u64,
    loops: u64,
    pads: u64,
    targets: u64,
    operands: u64,
    /// Active catch clauses, one entry per open block.
    catches: Vec<u64>,
}

/// Validates and measures one body.
pub(super) fn body(
    tally: &mut Tally<'_>,
    scratch: &mut Scratch,
    function: FuncToValidate<ValidatorResources>,
    body: &FunctionBody<'_>,
    bytes: &[u8],
) -> Result<(), ScanError> {
    let range = body.range();
    let size = (range.end as u64).saturating_sub(range.start as u64);
    let index = function.index;
    let place = Place {
        function: Some(index),
        offset: range.start,
    };
    if size > tally.used(Shape::FunctionSize) {
        tally.largest = Some(place);
    }
    tally.most(Shape::FunctionSize, size, place)?;
    tally.add(Shape::CodeSize, size, place)?;

    let parameters = function
        .resources
        .sub_type_at(function.ty)
        .map_or(&[][..], |ty| match &ty.composite_type.inner {
            wasmparser::CompositeInnerType::Func(ty) => ty.params(),
            _ => &[],
        });
    let mut locals = parameters.len() as u64;
    let mut references = parameters
        .iter()
        .filter(|ty| ty.is_reference_type())
        .count() as u64;
    let mut declared = body.get_locals_reader().map_err(|e| refused(&e))?;
    for _ in 0..declared.get_count() {
        let (run, ty) = declared.read().map_err(|e| refused(&e))?;
        locals = locals.saturating_add(u64::from(run));
        if ty.is_reference_type() {
            references = references.saturating_add(u64::from(run));
        }
        tally.most(Shape::Locals, locals, place)?;
    }
    tally.most(Shape::Locals, locals, place)?;
    tally.add(Shape::Work, locals.saturating_add(FUNCTION), place)?;

    let mut validator = function.into_validator(std::mem::take(&mut scratch.validator));
    let mut reader: BinaryReader<'_> = body.get_binary_reader();
    reader.set_features(SUPPORTED);
    validator
        .read_locals(&mut reader)
        .map_err(|e| refused(&e))?;
    let mut operators =
        OperatorsReader::new_with_allocs(reader, std::mem::take(&mut scratch.reader));

    let mut catches = std::mem::take(&mut scratch.catches);
    catches.clear();
    catches.push(0);
    let mut body = Body {
        tally,
        function: index,
        locals,
        references,
        loose_references: false,
        safepoints: 0,
        hidden: 0,
        blocks: 0,
        live: 0,
        loops: 0,
        pads: 0,
        targets: 0,
        operands: 0,
        catches,
    };
    while !operators.eof() {
        let (operator, offset) = operators.read_with_offset().map_err(|e| refused(&e))?;
        let opcode = bytes.get(offset).copied().unwrap_or_default();
        body.charge(&operator, opcode, &validator, offset)?;
        validator.op(offset, &operator).map_err(|e| refused(&e))?;
    }
    operators.finish().map_err(|e| refused(&e))?;
    let work = body.shape_work();
    body.tally.add(Shape::Work, work, place)?;
    scratch.catches = body.catches;
    scratch.reader = operators.into_allocations();
    scratch.validator = validator.into_allocations();
    Ok(())
}

impl Body<'_, '_> {
    /// Charges one instruction.
    fn charge(
        &mut self,
        operator: &Operator<'_>,
        opcode: u8,
        validator: &FuncValidator<ValidatorResources>,
        offset: usize,
    ) -> Result<(), ScanError> {
        let place = Place {
            function: Some(self.function),
            offset,
        };
        let mut work = weight(operator, opcode, validator);
        let mut moved = 0;
        self.hide(operator, validator, place)?;
        match operator {
            Operator::Block { blockty } | Operator::If { blockty } => {
                moved = arity(validator, *blockty);
                self.open(0, validator, place)?;
            }
            Operator::Loop { blockty } => {
                moved = arity(validator, *blockty);
                work = work.saturating_add(moved);
                // Every local may need a value of its own at the head of a loop.
                self.loops = self.loops.saturating_add(self.locals);
                self.tally.most(Shape::LoopValues, self.loops, place)?;
                self.open(0, validator, place)?;
            }
            Operator::TryTable { try_table } => {
                moved = arity(validator, try_table.ty);
                for catch in &try_table.catches {
                    let (Catch::One { label, .. }
                    | Catch::OneRef { label, .. }
                    | Catch::All { label }
                    | Catch::AllRef { label }) = *catch;
                    moved = moved.saturating_add(target(validator, label));
                }
                let clauses = try_table.catches.len() as u64;
                work = work.saturating_add(clauses);
                self.open(clauses, validator, place)?;
            }
            Operator::Else => {
                moved = validator
                    .get_control_frame(0)
                    .map_or(0, |frame| arity(validator, frame.block_type));
                self.block(validator, place)?;
            }
            Operator::End => {
                self.catches.pop();
                moved = validator
                    .get_control_frame(0)
                    .map_or(0, |frame| arity(validator, frame.block_type));
            }
            Operator::Br { relative_depth } => moved = target(validator, *relative_depth),
            Operator::BrIf { relative_depth }
            | Operator::BrOnNull { relative_depth }
            | Operator::BrOnNonNull { relative_depth } => {
                moved = target(validator, *relative_depth);
                self.block(validator, place)?;
            }
            Operator::BrTable { targets } => {
                moved = self.jump_table(targets, validator, place)?;
                work = work.saturating_add(u64::from(targets.len()).saturating_mul(2));
                self.block(validator, place)?;
            }
            Operator::Return => {
                let outermost = validator.control_stack_height().saturating_sub(1);
                moved = target(validator, outermost);
            }
            Operator::Call { function_index } => {
                moved = validator
                    .type_index_of_function(*function_index)
                    .map_or(0, |ty| arity(validator, BlockType::FuncType(ty)));
                self.land(place)?;
            }
            Operator::CallIndirect { type_index, .. } | Operator::CallRef { type_index } => {
                moved = arity(validator, BlockType::FuncType(*type_index));
                self.land(place)?;
            }
            Operator::Throw { tag_index } => {
                moved = validator
                    .tag_type_arity(*tag_index)
                    .map_or(0, |(values, _)| u64::from(values));
                self.land(place)?;
            }
            _ => {}
        }
        self.operands = self.operands.saturating_add(moved);
        self.tally.most(Shape::Operands, self.operands, place)?;
        let work = work.saturating_add(moved.saturating_mul(3));
        self.tally.add(Shape::Work, work, place)
    }

    /// Counts what the engine adds to an instruction that deals with references.
    fn hide(
        &mut self,
        operator: &Operator<'_>,
        validator: &FuncValidator<ValidatorResources>,
        place: Place,
    ) -> Result<(), ScanError> {
        let hidden = match operator {
            Operator::CallIndirect { .. } => 2,
            Operator::TableGet { .. } | Operator::TableSet { .. } => 3,
            Operator::GlobalGet { global_index } | Operator::GlobalSet { global_index } => {
                let global = validator.resources().global_at(*global_index);
                let reference =
                    global.is_some_and(|global| global.content_type.is_reference_type());
                if reference { 3 } else { 0 }
            }
            _ => 0,
        };
        self.loose_references |= hidden > 2
            || matches!(
                operator,
                Operator::RefNull { .. } | Operator::RefFunc { .. } | Operator::TypedSelect { .. }
            );
        self.hidden = self.hidden.saturating_add(hidden);
        self.tally.most(Shape::HiddenBlocks, self.hidden, place)?;
        if matches!(
            operator,
            Operator::Call { .. }
                | Operator::CallIndirect { .. }
                | Operator::CallRef { .. }
                | Operator::Throw { .. }
                | Operator::ThrowRef
                | Operator::MemoryGrow { .. }
                | Operator::TableGrow { .. }
        ) {
            // Which operands are references is not looked up: all are, once any may be.
            let operands = if self.loose_references {
                u64::from(validator.operand_stack_height())
            } else {
                0
            };
            self.safepoints = self
                .safepoints
                .saturating_add(self.references)
                .saturating_add(operands);
            self.tally.most(Shape::Safepoints, self.safepoints, place)?;
        }
        Ok(())
    }

    /// A block opens, with this many catch clauses of its own.
    fn open(
        &mut self,
        clauses: u64,
        validator: &FuncValidator<ValidatorResources>,
        place: Place,
    ) -> Result<(), ScanError> {
        let clauses = self.active().saturating_add(clauses);
        self.tally.most(Shape::Catches, clauses, place)?;
        self.catches.push(clauses);
        let depth = u64::from(validator.control_stack_height());
        self.tally.most(Shape::Nesting, depth, place)?;
        self.block(validator, place)
    }

    /// A block starts: every local and operand may live into it.
    fn block(
        &mut self,
        validator: &FuncValidator<ValidatorResources>,
        place: Place,
    ) -> Result<(), ScanError> {
        self.blocks = self.blocks.saturating_add(1);
        self.tally.most(Shape::Blocks, self.blocks, place)?;
        self.live = self
            .live
            .saturating_add(self.locals)
            .saturating_add(u64::from(validator.operand_stack_height()));
        self.tally.most(Shape::LiveValues, self.live, place)
    }

    /// Charges the targets of a jump table and returns the values that they take.
    fn jump_table(
        &mut self,
        targets: &BrTable<'_>,
        validator: &FuncValidator<ValidatorResources>,
        place: Place,
    ) -> Result<u64, ScanError> {
        self.targets = self.targets.saturating_add(u64::from(targets.len()));
        self.tally.most(Shape::BranchTargets, self.targets, place)?;
        let mut moved = target(validator, targets.default());
        for label in targets.targets() {
            moved = moved.saturating_add(target(validator, label.map_err(|e| refused(&e))?));
        }
        Ok(moved)
    }

    /// The work that comes from the shape of the whole body: where the compiler is not linear.
    fn shape_work(&self) -> u64 {
        let blocks = self.blocks.saturating_add(self.hidden);
        let blocks = blocks.saturating_mul(blocks) / 128;
        let live = self.live / 16;
        let loops = self.loops.saturating_mul(16 + self.locals / 256);
        let pads = self.pads.saturating_mul(self.pads) / 1024;
        [blocks, live, loops, self.pads, pads]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// A call or throw: every active clause gets an edge from here.
    fn land(&mut self, place: Place) -> Result<(), ScanError> {
        self.pads = self.pads.saturating_add(self.active());
        self.tally.most(Shape::LandingPads, self.pads, place)
    }

    /// Catch clauses that are active here.
    fn active(&self) -> u64 {
        self.catches.last().copied().unwrap_or(0)
    }
}

/// Values that a block type takes and leaves.
fn arity(validator: &FuncValidator<ValidatorResources>, ty: BlockType) -> u64 {
    validator.block_type_arity(ty).map_or(0, |(takes, leaves)| {
        u64::from(takes).saturating_add(u64::from(leaves))
    })
}

/// Values that a branch to a label takes.
fn target(validator: &FuncValidator<ValidatorResources>, label: u32) -> u64 {
    let Some((ty, kind)) = validator.label_block(label) else {
        return 0;
    };
    let (takes, leaves) = validator.block_type_arity(ty).unwrap_or((0, 0));
    u64::from(if kind == FrameKind::Loop {
        takes
    } else {
        leaves
    })
}

/// The compile work of an instruction by itself, from its opcode: measured with every
/// check that the engine adds (fuel, interruption, canonical NaNs, bounds, barriers).
fn weight(
    operator: &Operator<'_>,
    opcode: u8,
    validator: &FuncValidator<ValidatorResources>,
) -> u64 {
    match operator {
        Operator::TableInit { .. } => 170,
        Operator::TableCopy { .. } | Operator::TableGrow { .. } | Operator::TableFill { .. } => 250,
        Operator::MemoryCopy { .. } | Operator::MemoryFill { .. } | Operator::MemoryInit { .. } => {
            60
        }
        Operator::DataDrop { .. } | Operator::ElemDrop { .. } => 30,
        Operator::GlobalGet { global_index } | Operator::GlobalSet { global_index } => {
            let global = validator.resources().global_at(*global_index);
            if global
                .is_some_and(|global| matches!(global.content_type, wasmparser::ValType::Ref(_)))
            {
                250
            } else {
                1
            }
        }
        _ => match opcode {
            // loop, if, throw and throw_ref
            0x03 => 40,
            0x04 => 15,
            0x08 | 0x0a => 90,
            // br_if, br_table, try_table
            0x0d | 0x0e | 0x1f => 10,
            // call, call_indirect
            0x10 => 8,
            0x11 => 45,
            // table.get, table.set, memory.grow
            0x25 | 0x26 => 100,
            0x40 => 60,
            // loads and stores
            0x28..=0x3e => 3,
            // division and remainder; rotation
            0x6d..=0x70 | 0x7f..=0x82 => 3,
            0x77 | 0x78 | 0x89 | 0x8a => 25,
            // floats: rounding, then the rest, whose NaNs are made canonical
            0x8d..=0x90 | 0x9b..=0x9e => 12,
            0x8b..=0xa6 => 6,
            // conversions; ref.func; the prefixes of saturating ones and of vectors
            0xa7..=0xbf | 0xd2 | 0xfc => 6,
            0xfd => 8,
            _ => 1,
        },
    }
}
