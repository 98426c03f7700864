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

/// Work of a function beyond that of its instructions.
const FUNCTION: u64 = 64;

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
    blocks: u64,
    live: u64,
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
        .and_then(|ty| match &ty.composite_type.inner {
            wasmparser::CompositeInnerType::Func(ty) => Some(ty.params().len()),
            _ => None,
        })
        .unwrap_or(0);
    let mut locals = parameters as u64;
    let mut declared = body.get_locals_reader().map_err(|e| refused(&e))?;
    for _ in 0..declared.get_count() {
        let (run, _) = declared.read().map_err(|e| refused(&e))?;
        locals = locals.saturating_add(u64::from(run));
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
        blocks: 0,
        live: 0,
        targets: 0,
        operands: 0,
        catches,
    };
    while !operators.eof() {
        let (operator, offset) = operators.read_with_offset().map_err(|e| refused(&e))?;
        body.charge(&operator, &validator, offset)?;
        validator.op(offset, &operator).map_err(|e| refused(&e))?;
    }
    operators.finish().map_err(|e| refused(&e))?;
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
        validator: &FuncValidator<ValidatorResources>,
        offset: usize,
    ) -> Result<(), ScanError> {
        let place = Place {
            function: Some(self.function),
            offset,
        };
        let mut work = weight(operator);
        let mut moved = 0;
        match operator {
            Operator::Block { blockty } | Operator::If { blockty } => {
                moved = arity(validator, *blockty);
                self.open(0, validator, place)?;
            }
            Operator::Loop { blockty } => {
                moved = arity(validator, *blockty);
                work = work.saturating_add(moved);
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
                work = work.saturating_add(self.landing_pads());
            }
            Operator::CallIndirect { type_index, .. } | Operator::CallRef { type_index } => {
                moved = arity(validator, BlockType::FuncType(*type_index));
                work = work.saturating_add(self.landing_pads());
            }
            Operator::Throw { tag_index } => {
                moved = validator
                    .tag_type_arity(*tag_index)
                    .map_or(0, |(values, _)| u64::from(values));
                work = work.saturating_add(self.landing_pads());
            }
            _ => {}
        }
        self.operands = self.operands.saturating_add(moved);
        self.tally.most(Shape::Operands, self.operands, place)?;
        let work = work.saturating_add(moved);
        self.tally.add(Shape::Work, work, place)
    }

    /// A block opens, with this many catch clauses of its own.
    fn open(
        &mut self,
        clauses: u64,
        validator: &FuncValidator<ValidatorResources>,
        place: Place,
    ) -> Result<(), ScanError> {
        let clauses = self.landing_pads().saturating_add(clauses);
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

    /// Catch clauses that are active here.
    fn landing_pads(&self) -> u64 {
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

/// The compile work of an instruction by itself.
fn weight(operator: &Operator<'_>) -> u64 {
    match operator {
        _ => 1,
    }
}
