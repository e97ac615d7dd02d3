package main

import (
	"context"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// interceptor writes a line about each call, and obeys the files in its folder of commands.
//
// A command is a file named CALL.before or CALL.after, as in CreateVolume.after: before the call has its effect,
// or when it has had it and only the answer is missing. It holds the word hold, and calls wait until the file
// is gone, or the name of a gRPC code such as RESOURCE_EXHAUSTED, and calls fail with it while the file is there.
type interceptor struct {
	commands string
	lock     sync.Mutex
	calls    *os.File
}

// line is what is noted when a call begins (Code is empty) and when it ends (OK, or as in DeadlineExceeded).
type line struct {
	Call string `json:"call"`
	// Subject is the disk's or snapshot's id, or the name under which one is wanted.
	Subject string `json:"subject"`
	Code    string `json:"code"`
}

// pause is the time between two looks at a command that makes calls wait.
const pause = 10 * time.Millisecond

func (i *interceptor) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	call := path.Base(info.FullMethod)
	i.note(line{Call: call, Subject: subject(request)})
	reply, err := i.obeying(ctx, call, func() (any, error) { return handle(ctx, request) })
	i.note(line{Call: call, Subject: subject(request), Code: status.Code(err).String()})
	return reply, err
}

func (i *interceptor) obeying(ctx context.Context, call string, handle func() (any, error)) (any, error) {
	if err := i.command(ctx, call+".before"); err != nil {
		return nil, err
	}
	reply, err := handle()
	if err != nil {
		return nil, err
	}
	if err := i.command(ctx, call+".after"); err != nil {
		return nil, err
	}
	return reply, nil
}

// command obeys the file of this name, if there is one. A caller that gives up while it waits gets an error; what
// the call has done stays done.
func (i *interceptor) command(ctx context.Context, name string) error {
	for {
		text, err := os.ReadFile(filepath.Join(i.commands, name))
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return status.Error(codes.Internal, err.Error())
		}
		if word := strings.TrimSpace(string(text)); word != "hold" {
			var code codes.Code
			if err := code.UnmarshalJSON([]byte(`"` + word + `"`)); err != nil {
				return status.Errorf(codes.Internal, "command %s: %v", name, err)
			}
			return status.Errorf(code, "commanded by %s", name)
		}
		select {
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-time.After(pause):
		}
	}
}

// note appends a line in one write, so that readers and other calls meet whole lines only.
func (i *interceptor) note(line line) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	i.lock.Lock()
	defer i.lock.Unlock()
	if _, err := i.calls.Write(append(text, '\n')); err != nil {
		panic(err)
	}
}

// subject is what a request is about; empty where it is about nothing in particular.
func subject(request any) string {
	switch request := request.(type) {
	case interface{ GetVolumeId() string }:
		return request.GetVolumeId()
	case interface{ GetSnapshotId() string }:
		return request.GetSnapshotId()
	case interface{ GetName() string }:
		return request.GetName()
	default:
		return ""
	}
}
