// Command node-helper does the few things that a node in namespaces of its own needs from a small native program:
//
//	guard         outside: starts the namespaces, and undoes everything when whoever holds its stdin is gone
//	init          inside, as pid 1: sets up the node's mounts, then reaps
//	pause         the pods' sandbox container
//	certificates  the client certificates of the node's daemons
//	CNI           (by CNI_COMMAND in the environment): the pods' extra interfaces
package main

import (
	"fmt"
	"os"
)

func main() {
	if os.Getenv("CNI_COMMAND") != "" {
		exitOn(cni(os.Stdin, os.Stdout))
		return
	}
	mode := "pause" // the sandbox image has the bare program as its entrypoint
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	switch mode {
	case "guard":
		exitOn(guard(os.Args[2:]))
	case "init":
		exitOn(nodeInit(os.Args[2:]))
	case "certificates":
		exitOn(certificates(os.Args[2:]))
	case "pause":
		pause()
	default:
		exitOn(fmt.Errorf("unknown mode %q: guard, init, pause or certificates", mode))
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "node-helper:", err)
		os.Exit(1)
	}
}
