//! Listening on a port, on every address of the machine.
//!
//! Not here: accepting connections (`webhook::transport`, `controller::health`).

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

/// Listens on `address`. The kernel queues at most `backlog` connections that are not accepted yet; it drops more, and
/// their clients retry after a second.
///
/// `[::]` is every address of both families, as in Go's servers, whatever the machine's default is
/// (`net.ipv6.bindv6only`); on a kernel without IPv6 it is every IPv4 address. So one flag serves single-stack and
/// dual-stack clusters.
///
/// # Errors
///
/// Those of the operating system: the port is in use, or the address is not of this machine.
pub fn listen(address: SocketAddr, backlog: u16) -> io::Result<TcpListener> {
    match bind(address, backlog) {
        Err(error) => match ipv4_fallback(address, &error) {
            Some(address) => bind(address, backlog),
            None => Err(error),
        },
        listening => listening,
    }
}

fn bind(address: SocketAddr, backlog: u16) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    // So that a port with connections in TIME_WAIT can be used.
    socket.set_reuse_address(true)?;
    // The runtime requires it.
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::from(backlog))?;
    Ok(socket.into())
}

/// Every IPv4 address, if `address` is every address and the kernel has no IPv6.
fn ipv4_fallback(address: SocketAddr, error: &io::Error) -> Option<SocketAddr> {
    let is_unknown = Errno::from_io_error(error) == Some(Errno::AFNOSUPPORT);
    let is_every = address.is_ipv6() && address.ip().is_unspecified();
    (is_unknown && is_every).then(|| (Ipv4Addr::UNSPECIFIED, address.port()).into())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv6Addr, TcpStream};

    use super::*;

    const EVERY: SocketAddr = SocketAddr::new(std::net::IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0);

    #[test]
    fn every_address_is_one_of_either_family() {
        let listener = listen(EVERY, 8).unwrap();
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        if listener.local_addr().unwrap().is_ipv6() {
            TcpStream::connect((Ipv6Addr::LOCALHOST, port)).unwrap();
        }
    }

    #[test]
    fn without_ipv6_every_address_is_one_of_ipv4() {
        let unknown = io::Error::from(Errno::AFNOSUPPORT);
        assert_eq!(ipv4_fallback(EVERY, &unknown), Some("0.0.0.0:0".parse().unwrap()));
        assert_eq!(ipv4_fallback(EVERY, &io::Error::from(Errno::ADDRINUSE)), None);
        for chosen in ["[::1]:8443", "127.0.0.1:8443", "0.0.0.0:8443"] {
            assert_eq!(ipv4_fallback(chosen.parse().unwrap(), &unknown), None, "{chosen}");
        }
    }

    #[test]
    fn a_port_is_used_once() {
        let first = listen((Ipv4Addr::LOCALHOST, 0).into(), 8).unwrap();
        let again = listen(first.local_addr().unwrap(), 8).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AddrInUse);
    }
}
