package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
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

// cni is a chained plugin: it gives a pod the extra interfaces that its annotation asks for, as dummy links. They go
// with the pod's network namespace, so DEL and CHECK have nothing to do.
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
		if err := addInterfaces(os.Getenv("CNI_NETNS"), value); err != nil {
			return cniError(stdout, err)
		}
	}
	_, err := stdout.Write(config.PrevResult)
	return err
}

func addInterfaces(netns, annotation string) error {
	var wanted interfaces
	if err := json.Unmarshal([]byte(annotation), &wanted); err != nil {
		return fmt.Errorf("annotation: %w", err)
	}
	for _, link := range wanted.Interface {
		if !linkName.MatchString(link.Interface) {
			return fmt.Errorf("annotation: %q is no name for an interface", link.Interface)
		}
		if err := ip(netns, "link", "add", link.Interface, "type", "dummy"); err != nil {
			return err
		}
		if link.IPAddress != "" {
			if err := ip(netns, "address", "add", link.IPAddress, "dev", link.Interface); err != nil {
				return err
			}
		}
		if err := ip(netns, "link", "set", link.Interface, "up"); err != nil {
			return err
		}
	}
	return nil
}

func ip(netns string, args ...string) error {
	command := exec.Command("nsenter", append([]string{"--net=" + netns, "--", "ip"}, args...)...)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("ip %v: %w: %s", args, err, output)
	}
	return nil
}

// cniError says the failure in the form that the runtime shows on the pod, and fails.
func cniError(stdout io.Writer, err error) error {
	_ = json.NewEncoder(stdout).Encode(map[string]any{"cniVersion": "1.0.0", "code": 100, "msg": err.Error()})
	return err
}
