// Command peer is the smallest validating webhook that controller-runtime makes, as a peer in the
// benchmark: it reads the old and the new volume into their API types, denies another capacity of a
// bound volume, and allows the rest.
//
// It exists to be fair to the peer: no manager, no cache, no log line per request; one rule where
// Bindery judges them all. Not here: anything that a user would install.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// boundCapacity is the one rule.
type boundCapacity struct{}

var _ admission.Validator[*corev1.PersistentVolume] = boundCapacity{}

func (boundCapacity) ValidateCreate(context.Context, *corev1.PersistentVolume) (admission.Warnings, error) {
	return nil, nil
}

func (boundCapacity) ValidateUpdate(_ context.Context, old, new *corev1.PersistentVolume) (admission.Warnings, error) {
	before, after := old.Spec.Capacity.Storage(), new.Spec.Capacity.Storage()
	if old.Status.Phase == corev1.VolumeBound && before.Cmp(*after) != 0 {
		return nil, fmt.Errorf("capacity of bound volume %q would change from %s to %s", old.Name, before, after)
	}
	return nil, nil
}

func (boundCapacity) ValidateDelete(context.Context, *corev1.PersistentVolume) (admission.Warnings, error) {
	return nil, nil
}

func main() {
	port := flag.Int("port", 0, "loopback port to serve on")
	certificate := flag.String("tls-cert-file", "", "certificate, PEM")
	key := flag.String("tls-private-key-file", "", "private key, PEM, in the same folder")
	flag.Parse()
	if err := serve(*port, *certificate, *key); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(port int, certificate, key string) error {
	if filepath.Dir(certificate) != filepath.Dir(key) {
		return fmt.Errorf("%s and %s are not in one folder", certificate, key)
	}
	// Without a logger the library warns and buffers; a discarding one costs the least.
	log.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	server := webhook.NewServer(webhook.Options{
		Host: "127.0.0.1", Port: port,
		CertDir: filepath.Dir(certificate), CertName: filepath.Base(certificate), KeyName: filepath.Base(key),
	})
	server.Register("/validate/guard", admission.WithValidator[*corev1.PersistentVolume](scheme, boundCapacity{}))
	return server.Start(ctrl.SetupSignalHandler())
}
