package main

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

// node is one to which disks may be attached. Nothing is mounted there.
type node struct {
	csi.UnimplementedNodeServer
}

func (n *node) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return new(csi.NodeGetCapabilitiesResponse), nil
}

func (n *node) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: "node-1"}, nil
}

// NodeUnpublishVolume has nothing to unmount.
func (n *node) NodeUnpublishVolume(context.Context, *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	return new(csi.NodeUnpublishVolumeResponse), nil
}
