//! Instantiating a component and calling its entry.

use wasmtime::Store;
use wasmtime::component::{Component, Linker};

use super::super::host::Host;
use super::super::nodes::MAX_TRANSFER;
use super::link::interface;
use crate::guest::Ending;
use crate::text::clean;

/// Bytes of strings and lists that the engine copies for one call: the largest transfer
/// and room for paths. A call with more than that ends the guest.
const HOSTCALL_BYTES: usize = MAX_TRANSFER as usize + (1 << 20);

/// Instantiates `component` and calls `run` of `wasi:cli/run`. Every bound is armed before,
/// since start functions of its modules run during instantiation.
///
/// # Errors
/// Whatever ends the guest other than a return, as the engine's error.
pub(crate) fn enter_component(
    linker: &Linker<Host>,
    component: &Component,
    store: &mut Store<Host>,
) -> wasmtime::Result<Ending> {
    store.set_hostcall_fuel(HOSTCALL_BYTES);
    // Each handle of ours is one of the engine's; the rest are the component's own. Ours
    // end first, with a name.
    let handles = store.data().handles.cap().saturating_mul(2);
    store.set_max_component_handles(handles);
    let ready = match linker.instantiate_pre(component) {
        Ok(ready) => ready,
        Err(error) => return Ok(Ending::Refused(clean(&format!("{error:#}")))),
    };
    let entry = component
        .get_export_index(None, interface("cli", "run"))
        .and_then(|run| component.get_export_index(Some(&run), "run"));
    let Some(entry) = entry else {
        return Ok(refused_entry());
    };
    let instance = ready.instantiate(&mut *store)?;
    let Ok(run) = instance.get_typed_func::<(), (Result<(), ()>,)>(&mut *store, entry) else {
        return Ok(refused_entry());
    };
    let (result,) = run.call(&mut *store, ())?;
    Ok(Ending::Exited(u32::from(result.is_err())))
}

fn refused_entry() -> Ending {
    Ending::Refused(
        "the component exports no `wasi:cli/run` of version 0.2 with its function `run`".to_owned(),
    )
}
