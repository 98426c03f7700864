//! `wasi:sockets`: linked, and refused.
//!
//! C libraries for WASI 0.2 let every program that closes a file import the interfaces of
//! sockets, since a descriptor might be one; without them no such program could start.
//! So the names are there, and the functions that would make a socket or look up a name
//! answer `access-denied`. The type of a socket has no values here: nothing can return
//! one, so that the functions on sockets can never be reached.

#![allow(
    unsafe_code,
    reason = "the engine's own derive macros write the conversions, which are unsafe traits"
)]
#![allow(
    dead_code,
    reason = "a type has every case that its interface defines, whether or not it is used here"
)]

use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, Lift, Linker, Lower, Resource, ResourceType};

use super::super::host::{Host, Stop};
use super::link::{enter, interface};

/// The network, which every component may name. It reaches nothing.
#[derive(Debug, Clone, Copy)]
struct Network;

/// A socket, or a stream of one: there is none.
#[derive(Debug)]
enum Socket {}

/// `wasi:sockets/network.ip-address-family`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
enum AddressFamily {
    #[component(name = "ipv4")]
    Ipv4,
    #[component(name = "ipv6")]
    Ipv6,
}

/// `wasi:sockets/network.error-code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
enum ErrorCode {
    #[component(name = "unknown")]
    Unknown,
    #[component(name = "access-denied")]
    AccessDenied,
    #[component(name = "not-supported")]
    NotSupported,
    #[component(name = "invalid-argument")]
    InvalidArgument,
    #[component(name = "out-of-memory")]
    OutOfMemory,
    #[component(name = "timeout")]
    Timeout,
    #[component(name = "concurrency-conflict")]
    ConcurrencyConflict,
    #[component(name = "not-in-progress")]
    NotInProgress,
    #[component(name = "would-block")]
    WouldBlock,
    #[component(name = "invalid-state")]
    InvalidState,
    #[component(name = "new-socket-limit")]
    NewSocketLimit,
    #[component(name = "address-not-bindable")]
    AddressNotBindable,
    #[component(name = "address-in-use")]
    AddressInUse,
    #[component(name = "remote-unreachable")]
    RemoteUnreachable,
    #[component(name = "connection-refused")]
    ConnectionRefused,
    #[component(name = "connection-reset")]
    ConnectionReset,
    #[component(name = "connection-aborted")]
    ConnectionAborted,
    #[component(name = "datagram-too-large")]
    DatagramTooLarge,
    #[component(name = "name-unresolvable")]
    NameUnresolvable,
    #[component(name = "temporary-resolver-failure")]
    TemporaryResolverFailure,
    #[component(name = "permanent-resolver-failure")]
    PermanentResolverFailure,
}

type Refused = Result<Resource<Socket>, ErrorCode>;

fn refuse(_: &mut Host) -> Result<(Refused,), Stop> {
    Ok((Err(ErrorCode::AccessDenied),))
}

/// Interfaces, the resource types that they define, and the functions on those.
const UNREACHABLE: &[(&str, &[&str], &[&str])] = &[
    (
        "tcp",
        &["tcp-socket"],
        &[
            "[method]tcp-socket.start-bind",
            "[method]tcp-socket.finish-bind",
            "[method]tcp-socket.start-connect",
            "[method]tcp-socket.finish-connect",
            "[method]tcp-socket.start-listen",
            "[method]tcp-socket.finish-listen",
            "[method]tcp-socket.accept",
            "[method]tcp-socket.local-address",
            "[method]tcp-socket.remote-address",
            "[method]tcp-socket.is-listening",
            "[method]tcp-socket.address-family",
            "[method]tcp-socket.set-listen-backlog-size",
            "[method]tcp-socket.keep-alive-enabled",
            "[method]tcp-socket.set-keep-alive-enabled",
            "[method]tcp-socket.keep-alive-idle-time",
            "[method]tcp-socket.set-keep-alive-idle-time",
            "[method]tcp-socket.keep-alive-interval",
            "[method]tcp-socket.set-keep-alive-interval",
            "[method]tcp-socket.keep-alive-count",
            "[method]tcp-socket.set-keep-alive-count",
            "[method]tcp-socket.hop-limit",
            "[method]tcp-socket.set-hop-limit",
            "[method]tcp-socket.receive-buffer-size",
            "[method]tcp-socket.set-receive-buffer-size",
            "[method]tcp-socket.send-buffer-size",
            "[method]tcp-socket.set-send-buffer-size",
            "[method]tcp-socket.subscribe",
            "[method]tcp-socket.shutdown",
        ],
    ),
    (
        "udp",
        &[
            "udp-socket",
            "incoming-datagram-stream",
            "outgoing-datagram-stream",
        ],
        &[
            "[method]udp-socket.start-bind",
            "[method]udp-socket.finish-bind",
            "[method]udp-socket.stream",
            "[method]udp-socket.local-address",
            "[method]udp-socket.remote-address",
            "[method]udp-socket.address-family",
            "[method]udp-socket.unicast-hop-limit",
            "[method]udp-socket.set-unicast-hop-limit",
            "[method]udp-socket.receive-buffer-size",
            "[method]udp-socket.set-receive-buffer-size",
            "[method]udp-socket.send-buffer-size",
            "[method]udp-socket.set-send-buffer-size",
            "[method]udp-socket.subscribe",
            "[method]incoming-datagram-stream.receive",
            "[method]incoming-datagram-stream.subscribe",
            "[method]outgoing-datagram-stream.check-send",
            "[method]outgoing-datagram-stream.send",
            "[method]outgoing-datagram-stream.subscribe",
        ],
    ),
    (
        "ip-name-lookup",
        &["resolve-address-stream"],
        &[
            "[method]resolve-address-stream.resolve-next-address",
            "[method]resolve-address-stream.subscribe",
        ],
    ),
];

/// Links the interfaces.
pub(super) fn link(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    let mut network = linker.instance(&interface("sockets", "network"))?;
    network.resource(
        "network",
        ResourceType::host::<Network>(),
        |mut store, rep| {
            enter(&mut store, |host| {
                let network: Resource<Network> = Resource::new_own(rep);
                host.handles.delete(network).map(|_| ())
            })
        },
    )?;
    linker
        .instance(&interface("sockets", "instance-network"))?
        .func_wrap(
            "instance-network",
            |mut store: StoreContextMut<'_, Host>, (): ()| {
                enter(&mut store, |host| {
                    host.handles.push(Network).map(|it| (it,))
                })
            },
        )?;
    for (name, function) in [
        ("tcp-create-socket", "create-tcp-socket"),
        ("udp-create-socket", "create-udp-socket"),
    ] {
        linker.instance(&interface("sockets", name))?.func_wrap(
            function,
            |mut store: StoreContextMut<'_, Host>, (_family,): (AddressFamily,)| {
                enter(&mut store, refuse)
            },
        )?;
    }
    for (name, resources, functions) in UNREACHABLE {
        let mut instance = linker.instance(&interface("sockets", name))?;
        for resource in *resources {
            instance.resource(resource, ResourceType::host::<Socket>(), |_, _| Ok(()))?;
        }
        for function in *functions {
            instance.func_new(function, |_, _, _, _| {
                Err(Stop::Misuse("there are no sockets").into())
            })?;
        }
    }
    linker
        .instance(&interface("sockets", "ip-name-lookup"))?
        .func_wrap(
            "resolve-addresses",
            |mut store: StoreContextMut<'_, Host>,
             (_network, name): (Resource<Network>, String)| {
                enter(&mut store, |host| {
                    host.charge(name.len());
                    refuse(host)
                })
            },
        )
}
