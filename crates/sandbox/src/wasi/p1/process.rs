//! Arguments, environment and signals.

use super::Call;
use super::memory::GuestMemory;
use crate::fs::Errno;

fn sizes(texts: &[String]) -> Result<(u32, u32), Errno> {
    let count = u32::try_from(texts.len()).map_err(|_| Errno::Overflow)?;
    let size = texts.iter().try_fold(0_u32, |sum, text| {
        let length = u32::try_from(text.len()).ok()?.checked_add(1)?;
        sum.checked_add(length)
    });
    Ok((count, size.ok_or(Errno::Overflow)?))
}

fn write_all(
    memory: &mut GuestMemory<'_>,
    texts: &[String],
    mut pointers: u32,
    mut buffer: u32,
) -> Result<(), Errno> {
    for text in texts {
        memory.write_u32(pointers, buffer)?;
        memory.write(buffer, text.as_bytes())?;
        let length = u32::try_from(text.len()).map_err(|_| Errno::Overflow)?;
        let end = buffer.checked_add(length).ok_or(Errno::Fault)?;
        memory.write(end, &[0])?;
        buffer = end.checked_add(1).ok_or(Errno::Fault)?;
        pointers = pointers.checked_add(4).ok_or(Errno::Fault)?;
    }
    Ok(())
}

fn environment(call: &Call<'_>) -> Vec<String> {
    call.host
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

pub(super) fn args_get(call: &mut Call<'_>, argv: u32, buffer: u32) -> Result<(), Errno> {
    write_all(&mut call.memory, &call.host.args, argv, buffer)
}

pub(super) fn args_sizes_get(call: &mut Call<'_>, count: u32, size: u32) -> Result<(), Errno> {
    let (number, bytes) = sizes(&call.host.args)?;
    call.memory.write_u32(count, number)?;
    call.memory.write_u32(size, bytes)
}

pub(super) fn environ_get(call: &mut Call<'_>, environ: u32, buffer: u32) -> Result<(), Errno> {
    let texts = environment(call);
    write_all(&mut call.memory, &texts, environ, buffer)
}

pub(super) fn environ_sizes_get(call: &mut Call<'_>, count: u32, size: u32) -> Result<(), Errno> {
    let (number, bytes) = sizes(&environment(call))?;
    call.memory.write_u32(count, number)?;
    call.memory.write_u32(size, bytes)
}

pub(super) fn proc_raise(_call: &mut Call<'_>, _signal: u32) -> Result<(), Errno> {
    Err(Errno::Nosys)
}

pub(super) fn sched_yield(_call: &mut Call<'_>) -> Result<(), Errno> {
    Ok(())
}
