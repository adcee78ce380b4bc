// Command control-plane is a whole Kubernetes control plane in one static binary: its first argument says which
// program it is. One link step instead of five keeps the build short and the cache small.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

// commands is extended by node.go when the binary is built with the tag "node".
var commands = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
}

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	// Each program parses os.Args itself and must see its own name first.
	name := os.Args[1]
	os.Args = os.Args[1:]

	switch name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kubectl":
		// As kubectl's own main does: its errors are for people, without the log line that cli.Run would add.
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err)
		}
	default:
		newCommand, known := commands[name]
		if !known {
			usage()
		}
		os.Exit(cli.Run(newCommand()))
	}
}

func usage() {
	names := []string{"etcd", "kubectl"}
	for name := range commands {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintf(os.Stderr, "usage: control-plane %s [arguments]\n", strings.Join(names, "|"))
	os.Exit(2)
}
