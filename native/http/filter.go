package http

import (
	"errors"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// errDenied is the error of a connection that may not be made. It names no
// address, which scripts are not to learn.
var errDenied = errors.New("the address is not allowed")

// filter checks each connection right before it is made.
type filter struct {
	rules   *rules
	blocked *blocklist
}

// public accepts the addresses of the public internet: all but those that are
// private, local, reserved, or stand for another address.
var public = ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(
	netip.MustParsePrefix("168.63.129.16/32"), // the host of a virtual machine in Azure
))

// control is the Control of a [net.Dialer]: it is called for each address of a
// name.
func (f *filter) control(network, address string, conn syscall.RawConn) error {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return errDenied
	}
	addr = netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
	opened := f.rules.opened[addr]
	if f.blocked.hasAddr(addr, opened) {
		return errDenied
	}
	if !opened && public.Safe(network, address, conn) != nil {
		return errDenied
	}
	return nil
}
