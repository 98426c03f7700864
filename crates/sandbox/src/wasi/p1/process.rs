//! Arguments, environment and signals.

use super::Call;
use crate::fs::Errno;

/// Tells how many texts there are and how many bytes they take, each with a NUL.
fn write_sizes(call: &mut Call<'_>, lengths: &[usize], count: u32, size: u32) -> Result<(), Errno> {
    call.host.charge(lengths.len());
    let number = u32::try_from(lengths.len()).map_err(|_| Errno::Overflow)?;
    let bytes = lengths.iter().try_fold(0_u32, |sum, length| {
        sum.checked_add(u32::try_from(*length).ok()?.checked_add(1)?)
    });
    call.memory.write_u32(count, number)?;
    call.memory.write_u32(size, bytes.ok_or(Errno::Overflow)?)
}

/// Writes texts, each with a NUL, and where each begins.
fn write_all(
    call: &mut Call<'_>,
    texts: &[String],
    mut pointers: u32,
    mut buffer: u32,
) -> Result<(), Errno> {
    call.host.charge(texts.iter().map(String::len).sum());
    for text in texts {
        call.memory.write_u32(pointers, buffer)?;
        call.memory.write(buffer, text.as_bytes())?;
        let length = u32::try_from(text.len()).map_err(|_| Errno::Overflow)?;
        let end = buffer.checked_add(length).ok_or(Errno::Fault)?;
        call.memory.write(end, &[0])?;
        buffer = end.checked_add(1).ok_or(Errno::Fault)?;
        pointers = pointers.checked_add(4).ok_or(Errno::Fault)?;
    }
    Ok(())
}

pub(super) fn args_get(call: &mut Call<'_>, argv: u32, buffer: u32) -> Result<(), Errno> {
    let texts = call.host.args.clone();
    write_all(call, &texts, argv, buffer)
}

pub(super) fn args_sizes_get(call: &mut Call<'_>, count: u32, size: u32) -> Result<(), Errno> {
    let lengths: Vec<usize> = call.host.args.iter().map(String::len).collect();
    write_sizes(call, &lengths, count, size)
}

pub(super) fn environ_get(call: &mut Call<'_>, environ: u32, buffer: u32) -> Result<(), Errno> {
    let env = call.host.env.iter();
    let texts: Vec<String> = env.map(|(name, value)| format!("{name}={value}")).collect();
    write_all(call, &texts, environ, buffer)
}

pub(super) fn environ_sizes_get(call: &mut Call<'_>, count: u32, size: u32) -> Result<(), Errno> {
    let env = call.host.env.iter();
    let lengths: Vec<usize> = env
        .map(|(name, value)| name.len().saturating_add(value.len()).saturating_add(1))
        .collect();
    write_sizes(call, &lengths, count, size)
}

pub(super) fn proc_raise(_call: &mut Call<'_>, _signal: u32) -> Result<(), Errno> {
    Err(Errno::Nosys)
}

pub(super) fn sched_yield(_call: &mut Call<'_>) -> Result<(), Errno> {
    Ok(())
}
