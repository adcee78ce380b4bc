package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// podAnnotations is the capability by which containerd hands a pod's annotations to a plugin.
const podAnnotations = "io.kubernetes.cri.pod-annotations"

var linkName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,15}$`)

type cniConfig struct {
	CNIVersion    string                       `json:"cniVersion"`
	Annotation    string                       `json:"annotation"`
	PrevResult    json.RawMessage              `json:"prevResult"`
	RuntimeConfig map[string]map[string]string `json:"runtimeConfig"`
}

// interfaces is the annotation's shape in the Nodus (ovn4nfv) network plugin, which this plugin stands in for.
type interfaces struct {
	Interface []struct {
		Interface string `json:"interface"`
		IPAddress string `json:"ipAddress"`
	} `json:"interface"`
}

// cni is a chained plugin: it gives a pod the extra interfaces that its annotation asks for, as links whose other ends
// lead nowhere. They go with the pod's network namespace, so DEL and CHECK have nothing to do.
func cni(stdin io.Reader, stdout io.Writer) error {
	if os.Getenv("CNI_COMMAND") == "VERSION" {
		_, err := fmt.Fprintln(stdout, `{"cniVersion":"1.0.0","supportedVersions":["0.3.1","0.4.0","1.0.0"]}`)
		return err
	}
	var config cniConfig
	if err := json.NewDecoder(stdin).Decode(&config); err != nil {
		return cniError(stdout, fmt.Errorf("network configuration: %w", err))
	}
	if os.Getenv("CNI_COMMAND") != "ADD" {
		return nil
	}
	if value := config.RuntimeConfig[podAnnotations][config.Annotation]; value != "" {
		if err := addInterfaces(os.Getenv("CNI_NETNS"), os.Getenv("CNI_CONTAINERID"), value); err != nil {
			return cniError(stdout, err)
		}
	}
	_, err := stdout.Write(config.PrevResult)
	return err
}

func addInterfaces(netns, sandbox, annotation string) error {
	var wanted interfaces
	if err := json.Unmarshal([]byte(annotation), &wanted); err != nil {
		return fmt.Errorf("annotation: %w", err)
	}
	for i, link := range wanted.Interface {
		if !linkName.MatchString(link.Interface) {
			return fmt.Errorf("annotation: %q is no name for an interface", link.Interface)
		}
		// Not every kernel has dummy links; pods would not be here without veth.
		outer := fmt.Sprintf("x%.10s%d", sandbox, i)
		add := []string{"ip", "link", "add", outer, "type", "veth", "peer", "name", link.Interface, "netns", filepath.Base(netns)}
		commands := [][]string{add, {"ip", "link", "set", outer, "up"}}
		in := []string{"nsenter", "--net=" + netns, "--", "ip"}
		if link.IPAddress != "" {
			commands = append(commands, append(in[:4:4], "address", "add", link.IPAddress, "dev", link.Interface))
		}
		commands = append(commands, append(in[:4:4], "link", "set", link.Interface, "up"))
		for _, command := range commands {
			if output, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
				return fmt.Errorf("%v: %w: %s", command, err, output)
			}
		}
	}
	return nil
}

// cniError says the failure in the form that the runtime shows on the pod, and fails.
func cniError(stdout io.Writer, err error) error {
	_ = json.NewEncoder(stdout).Encode(map[string]any{"cniVersion": "1.0.0", "code": 100, "msg": err.Error()})
	return err
}
