package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// disk is what a file in disks/ or snapshots/ says. Its id is the file's name.
type disk struct {
	Capacity int64 `json:"capacity"`
	// Content is where the data came from: the id of the first disk in a chain of clones and snapshots.
	Content string `json:"content"`
	// Source is the disk or snapshot that it was made of.
	Source string `json:"source,omitempty"`
	// Nodes are those to which it is attached.
	Nodes []string `json:"nodes,omitempty"`
	// Parameters are those that a VolumeAttributesClass has given it.
	Parameters map[string]string `json:"parameters,omitempty"`
}

// store keeps disks and snapshots as files. Each is written aside and renamed, so that a killed driver leaves none
// half written.
type store struct {
	folder string
}

// read returns what the file says, or nil if it does not exist.
func (s store) read(kind, id string) (*disk, error) {
	if id == "" || filepath.Base(id) != id {
		return nil, status.Errorf(codes.InvalidArgument, "%q is no id", id)
	}
	text, err := os.ReadFile(filepath.Join(s.folder, kind, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, internal(err)
	}
	found := new(disk)
	if err := json.Unmarshal(text, found); err != nil {
		return nil, internal(err)
	}
	return found, nil
}

// must is read of a disk or snapshot that has to exist.
func (s store) must(kind, id string) (*disk, error) {
	found, err := s.read(kind, id)
	if err == nil && found == nil {
		err = status.Errorf(codes.NotFound, "%s/%s does not exist", kind, id)
	}
	return found, err
}

func (s store) write(kind, id string, what *disk) error {
	text, err := json.Marshal(what)
	if err != nil {
		return internal(err)
	}
	// Beside the folders that are listed.
	aside := filepath.Join(s.folder, kind+"."+id+".new")
	if err := os.WriteFile(aside, text, 0o644); err != nil {
		return internal(err)
	}
	return internal(os.Rename(aside, filepath.Join(s.folder, kind, id)))
}

// remove deletes the file; one that is gone already is no error.
func (s store) remove(kind, id string) error {
	err := os.Remove(filepath.Join(s.folder, kind, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return internal(err)
}

// list returns the ids in order.
func (s store) list(kind string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.folder, kind))
	if err != nil {
		return nil, internal(err)
	}
	var ids []string
	for _, entry := range entries {
		ids = append(ids, entry.Name())
	}
	slices.Sort(ids)
	return ids, nil
}

func internal(err error) error {
	if err == nil {
		return nil
	}
	return status.Error(codes.Internal, err.Error())
}
