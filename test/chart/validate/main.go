// Reads manifests from stdin by the types of Kubernetes, strictly: an unknown field or a wrong type is an error.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

func main() {
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	reader := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	failed := false
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		_, kind, err := decoder.Decode(text, nil, nil)
		if runtime.IsNotRegisteredError(err) && bytes.Contains(text, []byte("apiVersion: monitoring.coreos.com/")) {
			continue // of an operator, whose types are not Kubernetes' own
		}
		if err != nil && !runtime.IsMissingKind(err) {
			fmt.Printf("%v: %v\n", kind, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}
