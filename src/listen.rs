//! Taking a port, on every address that the machine has.
//!
//! Not here: what is done with those who knock (`webhook::transport`, `controller::health`).

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

/// Takes the port of `address`. `waiting` knock at most while nobody looks; whoever comes beyond is
/// dropped by the kernel, and tries again after a second.
///
/// `[::]` is every address of both kinds, as Go's servers have it, whatever the machine's default is
/// (`net.ipv6.bindv6only`); on a kernel without IPv6 it is every IPv4 address. So one flag serves
/// clusters of either kind and of both.
///
/// # Errors
///
/// What the operating system says: the port is taken, or the address is not this machine's.
pub fn listen(address: SocketAddr, waiting: u16) -> io::Result<TcpListener> {
    match take(address, waiting) {
        Err(error) => match instead(address, &error) {
            Some(address) => take(address, waiting),
            None => Err(error),
        },
        taken => taken,
    }
}

fn take(address: SocketAddr, waiting: u16) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    // A port whose last connections are still ending can be used.
    socket.set_reuse_address(true)?;
    // The runtime takes no other.
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::from(waiting))?;
    Ok(socket.into())
}

/// What every address is where the kernel knows no IPv6.
fn instead(address: SocketAddr, error: &io::Error) -> Option<SocketAddr> {
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
    fn every_address_is_one_of_either_kind() {
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
        assert_eq!(instead(EVERY, &unknown), Some("0.0.0.0:0".parse().unwrap()));
        assert_eq!(instead(EVERY, &io::Error::from(Errno::ADDRINUSE)), None);
        for chosen in ["[::1]:8443", "127.0.0.1:8443", "0.0.0.0:8443"] {
            assert_eq!(instead(chosen.parse().unwrap(), &unknown), None, "{chosen}");
        }
    }

    #[test]
    fn a_port_is_taken_once() {
        let first = listen((Ipv4Addr::LOCALHOST, 0).into(), 8).unwrap();
        let again = listen(first.local_addr().unwrap(), 8).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AddrInUse);
    }
}
