package main

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// controller makes, changes and removes disks. Every call may be repeated, as CSI demands.
type controller struct {
	csi.UnimplementedControllerServer
	// One call has its effect at a time.
	lock  sync.Mutex
	store store
}

// defaultCapacity is that of a disk for which none was asked.
const defaultCapacity = 1 << 30

func (c *controller) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	reply := new(csi.ControllerGetCapabilitiesResponse)
	for _, kind := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
		csi.ControllerServiceCapability_RPC_LIST_VOLUMES,
		csi.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES,
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS,
		csi.ControllerServiceCapability_RPC_CLONE_VOLUME,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
		csi.ControllerServiceCapability_RPC_MODIFY_VOLUME,
		csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	} {
		reply.Capabilities = append(reply.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: kind}},
		})
	}
	return reply, nil
}

// CreateVolume makes a disk whose id is the name that the provisioner chose.
func (c *controller) CreateVolume(_ context.Context, request *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	id := request.GetName()
	if len(request.GetVolumeCapabilities()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "no capabilities")
	}
	if err := known(request.GetMutableParameters()); err != nil {
		return nil, err
	}
	made, err := c.store.read("disks", id)
	if err != nil {
		return nil, err
	}
	if wanted := request.GetCapacityRange(); made != nil && !holds(wanted, made.Capacity) {
		return nil, status.Errorf(codes.AlreadyExists, "%s has %d bytes, not %v", id, made.Capacity, wanted)
	}
	if made == nil {
		made = &disk{Capacity: request.GetCapacityRange().GetRequiredBytes(), Content: id, Parameters: request.GetMutableParameters()}
		if made.Capacity == 0 {
			made.Capacity = defaultCapacity
		}
		if err := c.fill(made, request.GetVolumeContentSource()); err != nil {
			return nil, err
		}
		if err := c.store.write("disks", id, made); err != nil {
			return nil, err
		}
	}
	volume := described(id, made)
	volume.ContentSource = request.GetVolumeContentSource()
	return &csi.CreateVolumeResponse{Volume: volume}, nil
}

// holds reports whether a disk of this capacity is what was asked for.
func holds(wanted *csi.CapacityRange, capacity int64) bool {
	limit := wanted.GetLimitBytes()
	return capacity >= wanted.GetRequiredBytes() && (limit == 0 || capacity <= limit)
}

// known rejects parameters of a VolumeAttributesClass that disks do not have.
func known(parameters map[string]string) error {
	for name := range parameters {
		if name != "iops" {
			return status.Errorf(codes.InvalidArgument, "parameter %q is not known; there is iops", name)
		}
	}
	return nil
}

// fill gives a new disk the content of its source, if it has one.
func (c *controller) fill(made *disk, source *csi.VolumeContentSource) error {
	kind, id := "snapshots", source.GetSnapshot().GetSnapshotId()
	if source.GetVolume() != nil {
		kind, id = "disks", source.GetVolume().GetVolumeId()
	}
	if id == "" {
		return nil
	}
	from, err := c.store.must(kind, id)
	if err != nil {
		return err
	}
	made.Content, made.Source = from.Content, id
	made.Capacity = max(made.Capacity, from.Capacity)
	return nil
}

// DeleteVolume removes a disk; one that is attached stays.
func (c *controller) DeleteVolume(_ context.Context, request *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	gone, err := c.store.read("disks", request.GetVolumeId())
	if err != nil {
		return nil, err
	}
	if gone != nil && len(gone.Nodes) > 0 {
		return nil, status.Errorf(codes.FailedPrecondition, "attached to %v", gone.Nodes)
	}
	return new(csi.DeleteVolumeResponse), c.store.remove("disks", request.GetVolumeId())
}

func (c *controller) ValidateVolumeCapabilities(_ context.Context, request *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if _, err := c.store.must("disks", request.GetVolumeId()); err != nil {
		return nil, err
	}
	if len(request.GetVolumeCapabilities()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "no capabilities")
	}
	confirmed := &csi.ValidateVolumeCapabilitiesResponse_Confirmed{VolumeCapabilities: request.GetVolumeCapabilities()}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: confirmed}, nil
}

// ListVolumes lists in pages.
func (c *controller) ListVolumes(_ context.Context, request *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	ids, err := c.store.list("disks")
	if err != nil {
		return nil, err
	}
	page, next, err := paged(ids, request.GetStartingToken(), request.GetMaxEntries())
	if err != nil {
		return nil, err
	}
	reply := &csi.ListVolumesResponse{NextToken: next}
	for _, id := range page {
		listed, err := c.store.must("disks", id)
		if err != nil {
			return nil, err
		}
		reply.Entries = append(reply.Entries, &csi.ListVolumesResponse_Entry{
			Volume: described(id, listed),
			Status: &csi.ListVolumesResponse_VolumeStatus{PublishedNodeIds: listed.Nodes},
		})
	}
	return reply, nil
}

// paged is what of a list begins at a token, at most so many unless that is 0, and the token of what comes after.
func paged[T any](all []T, token string, most int32) ([]T, string, error) {
	first := 0
	if token != "" {
		var err error
		if first, err = strconv.Atoi(token); err != nil || first < 0 || first > len(all) {
			return nil, "", status.Errorf(codes.Aborted, "%q is no token; list again from the beginning", token)
		}
	}
	end := len(all)
	if most > 0 && first+int(most) < end {
		end = first + int(most)
		return all[first:end], strconv.Itoa(end), nil
	}
	return all[first:end], "", nil
}

// change rewrites a disk that exists.
func (c *controller) change(id string, how func(*disk) error) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	changed, err := c.store.must("disks", id)
	if err != nil {
		return err
	}
	if err := how(changed); err != nil {
		return err
	}
	return c.store.write("disks", id, changed)
}

// ControllerPublishVolume attaches a disk to one node.
func (c *controller) ControllerPublishVolume(_ context.Context, request *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	node := request.GetNodeId()
	if node == "" || request.GetVolumeCapability() == nil {
		return nil, status.Error(codes.InvalidArgument, "no node or no capability")
	}
	return new(csi.ControllerPublishVolumeResponse), c.change(request.GetVolumeId(), func(disk *disk) error {
		if len(disk.Nodes) > 0 && !slices.Contains(disk.Nodes, node) {
			return status.Errorf(codes.FailedPrecondition, "attached to %v", disk.Nodes)
		}
		disk.Nodes = []string{node}
		return nil
	})
}

// ControllerUnpublishVolume detaches it; a disk that is gone is attached nowhere.
func (c *controller) ControllerUnpublishVolume(_ context.Context, request *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	err := c.change(request.GetVolumeId(), func(disk *disk) error {
		disk.Nodes = slices.DeleteFunc(disk.Nodes, func(node string) bool { return node == request.GetNodeId() })
		return nil
	})
	if status.Code(err) == codes.NotFound {
		err = nil
	}
	return new(csi.ControllerUnpublishVolumeResponse), err
}

// largest is how large a disk can be: expansion beyond it is infeasible.
const largest = 8 << 30

// ControllerExpandVolume grows a disk; none shrinks.
func (c *controller) ControllerExpandVolume(_ context.Context, request *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	reply := new(csi.ControllerExpandVolumeResponse)
	if wanted := request.GetCapacityRange().GetRequiredBytes(); wanted > largest {
		return nil, status.Errorf(codes.OutOfRange, "%d bytes are more than the %d that a disk can have", wanted, int64(largest))
	}
	return reply, c.change(request.GetVolumeId(), func(disk *disk) error {
		disk.Capacity = max(disk.Capacity, request.GetCapacityRange().GetRequiredBytes())
		reply.CapacityBytes = disk.Capacity
		return nil
	})
}

// ControllerModifyVolume gives a disk the parameters of a VolumeAttributesClass.
func (c *controller) ControllerModifyVolume(_ context.Context, request *csi.ControllerModifyVolumeRequest) (*csi.ControllerModifyVolumeResponse, error) {
	if err := known(request.GetMutableParameters()); err != nil {
		return nil, err
	}
	return new(csi.ControllerModifyVolumeResponse), c.change(request.GetVolumeId(), func(disk *disk) error {
		if disk.Parameters == nil {
			disk.Parameters = map[string]string{}
		}
		maps.Copy(disk.Parameters, request.GetMutableParameters())
		return nil
	})
}

// CreateSnapshot copies a disk. Its id is the name that the snapshotter chose.
func (c *controller) CreateSnapshot(_ context.Context, request *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	id := request.GetName()
	taken, err := c.store.read("snapshots", id)
	if err != nil {
		return nil, err
	}
	if taken != nil && taken.Source != request.GetSourceVolumeId() {
		return nil, status.Errorf(codes.AlreadyExists, "%s is of %s", id, taken.Source)
	}
	if taken == nil {
		from, err := c.store.must("disks", request.GetSourceVolumeId())
		if err != nil {
			return nil, err
		}
		taken = &disk{Capacity: from.Capacity, Content: from.Content, Source: request.GetSourceVolumeId()}
		if err := c.store.write("snapshots", id, taken); err != nil {
			return nil, err
		}
	}
	return &csi.CreateSnapshotResponse{Snapshot: snapshot(id, taken)}, nil
}

func (c *controller) DeleteSnapshot(_ context.Context, request *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if _, err := c.store.read("snapshots", request.GetSnapshotId()); err != nil {
		return nil, err
	}
	return new(csi.DeleteSnapshotResponse), c.store.remove("snapshots", request.GetSnapshotId())
}

// ListSnapshots lists all, or those that are asked for, in pages.
func (c *controller) ListSnapshots(_ context.Context, request *csi.ListSnapshotsRequest) (*csi.ListSnapshotsResponse, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	ids, err := c.store.list("snapshots")
	if err != nil {
		return nil, err
	}
	var entries []*csi.ListSnapshotsResponse_Entry
	for _, id := range ids {
		listed, err := c.store.must("snapshots", id)
		if err != nil {
			return nil, err
		}
		asked := func(wish, value string) bool { return wish == "" || wish == value }
		if asked(request.GetSnapshotId(), id) && asked(request.GetSourceVolumeId(), listed.Source) {
			entries = append(entries, &csi.ListSnapshotsResponse_Entry{Snapshot: snapshot(id, listed)})
		}
	}
	page, next, err := paged(entries, request.GetStartingToken(), request.GetMaxEntries())
	if err != nil {
		return nil, err
	}
	return &csi.ListSnapshotsResponse{Entries: page, NextToken: next}, nil
}

func described(id string, disk *disk) *csi.Volume {
	return &csi.Volume{VolumeId: id, CapacityBytes: disk.Capacity}
}

func snapshot(id string, taken *disk) *csi.Snapshot {
	return &csi.Snapshot{
		SnapshotId: id, SourceVolumeId: taken.Source, SizeBytes: taken.Capacity,
		CreationTime: timestamppb.Now(), ReadyToUse: true,
	}
}
