// Command driver is a CSI driver whose disks are files in a folder: the backend that the real sidecars talk to
// in the end-to-end tests. It mounts nothing, as no pod runs there.
//
//	driver --folder DIR --name DRIVER
//
// DIR/csi.sock is where it listens, DIR/disks and DIR/snapshots hold a file for each that exists, DIR/calls.jsonl
// gets a line when a call begins and another when it ends, and a file in DIR/commands makes calls fail or wait
// (commands.go). All of it outlives the process, so that a test may kill it at any moment.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func main() {
	folder := flag.String("folder", "", "where everything is kept")
	name := flag.String("name", "", "the driver's name, the provisioner of its StorageClasses")
	flag.Parse()
	if *folder == "" || *name == "" {
		log.Fatal("--folder and --name are needed")
	}
	if err := serve(*folder, *name); err != nil {
		log.Fatal(err)
	}
}

// serve answers until the process ends. It returns an error if it cannot begin to.
func serve(folder, name string) error {
	for _, inside := range []string{"disks", "snapshots", "commands"} {
		if err := os.MkdirAll(filepath.Join(folder, inside), 0o755); err != nil {
			return err
		}
	}
	calls, err := os.OpenFile(filepath.Join(folder, "calls.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	socket := filepath.Join(folder, "csi.sock")
	// A killed driver leaves it behind.
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	watched := &interceptor{commands: filepath.Join(folder, "commands"), calls: calls}
	server := grpc.NewServer(grpc.UnaryInterceptor(watched.intercept))
	csi.RegisterIdentityServer(server, &identity{name: name})
	csi.RegisterNodeServer(server, new(node))
	csi.RegisterControllerServer(server, &controller{store: store{folder: folder}})
	return server.Serve(listener)
}

// identity says who the driver is.
type identity struct {
	csi.UnimplementedIdentityServer
	name string
}

func (i *identity) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: i.name, VendorVersion: "1"}, nil
}

func (i *identity) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	service := &csi.PluginCapability{Type: &csi.PluginCapability_Service_{
		Service: &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE},
	}}
	expansion := &csi.PluginCapability{Type: &csi.PluginCapability_VolumeExpansion_{
		VolumeExpansion: &csi.PluginCapability_VolumeExpansion{Type: csi.PluginCapability_VolumeExpansion_ONLINE},
	}}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{service, expansion}}, nil
}

func (i *identity) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}
