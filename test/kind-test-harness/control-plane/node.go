//go:build node

package main

import (
	"context"

	"github.com/spf13/cobra"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// The programs of a real node: only the `node` backend needs them, so only its build pays for them.
func init() {
	commands["kubelet"] = func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }
	commands["kube-proxy"] = proxy.NewProxyCommand
}
