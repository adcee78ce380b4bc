// What GitOps tools make of objects, by their own packages: Flux by kstatus and by the library with which it applies, Argo CD by the interpreter of
// Lua in which it runs health checks.
//
//	gitops kstatus < JSON list of objects
//	gitops lua script.lua < JSON list of objects
//	gitops apply kubeconfig < manifests, one JSON list
//
// A line for each object on standard output: its status and why, or what was done with it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/ssa"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	objects, err := read(os.Stdin)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "kstatus":
		return each(objects, kstatus)
	case len(args) == 2 && args[0] == "lua":
		script, err := os.ReadFile(args[1])
		if err != nil {
			return err
		}
		return each(objects, func(object *unstructured.Unstructured) (string, error) {
			return health(string(script), object)
		})
	case len(args) == 2 && args[0] == "apply":
		return apply(args[1], objects)
	default:
		return fmt.Errorf("specify kstatus, lua or apply")
	}
}

func read(input io.Reader) ([]*unstructured.Unstructured, error) {
	var list unstructured.UnstructuredList
	if err := json.NewDecoder(input).Decode(&list); err != nil {
		return nil, err
	}
	objects := make([]*unstructured.Unstructured, 0, len(list.Items))
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	return objects, nil
}

func each(objects []*unstructured.Unstructured, say func(*unstructured.Unstructured) (string, error)) error {
	for _, object := range objects {
		said, err := say(object)
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		fmt.Println(said)
	}
	return nil
}

func kstatus(object *unstructured.Unstructured) (string, error) {
	result, err := status.Compute(object)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s", result.Status, result.Message), nil
}

// As Argo CD does: the object is the global obj, and the script returns a table.
func health(script string, object *unstructured.Unstructured) (string, error) {
	state := lua.NewState()
	defer state.Close()
	state.SetGlobal("obj", valueOf(state, object.Object))
	if err := state.DoString(script); err != nil {
		return "", err
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", fmt.Errorf("the script returns no table")
	}
	return fmt.Sprintf("%s: %s", table.RawGetString("status"), table.RawGetString("message")), nil
}

func valueOf(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case string:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case []any:
		table := state.NewTable()
		for _, item := range value {
			table.Append(valueOf(state, item))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, item := range value {
			table.RawSetString(key, valueOf(state, item))
		}
		return table
	default:
		return lua.LNil
	}
}

func apply(kubeconfig string, objects []*unstructured.Unstructured) error {
	settings, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	transport, err := client.New(settings, client.Options{})
	if err != nil {
		return err
	}
	owner := ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"}
	poller := polling.NewStatusPoller(transport, transport.RESTMapper(), polling.Options{})
	manager := ssa.NewResourceManager(transport, poller, owner)
	changes, err := manager.ApplyAllStaged(context.Background(), objects, ssa.DefaultApplyOptions())
	if err != nil {
		return err
	}
	for _, change := range changes.Entries {
		fmt.Printf("%s: %s\n", change.Action, change.Subject)
	}
	return nil
}
