package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const cgroupRoot = "/sys/fs/cgroup"

var controllers = []string{"cpuset", "cpu", "io", "memory", "pids"}

// createCgroups makes the group below which the kubelet puts all pods, on either version of control groups.
func createCgroups(name string) error {
	if unified() {
		if err := enableControllers(); err != nil {
			return err
		}
		return os.MkdirAll(filepath.Join(cgroupRoot, name), 0o755)
	}
	for _, hierarchy := range hierarchies() {
		group := filepath.Join(hierarchy, name)
		if err := os.MkdirAll(group, 0o755); err != nil {
			return fmt.Errorf("control group: %w", err)
		}
		// A new cpuset on version 1 is empty, and nothing can run in it.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if value, err := os.ReadFile(filepath.Join(hierarchy, file)); err == nil {
				if err := os.WriteFile(filepath.Join(group, file), value, 0o644); err != nil {
					return fmt.Errorf("cpuset: %w", err)
				}
			}
		}
	}
	return nil
}

// removeCgroups waits for groups that the kernel still empties: at most five seconds.
func removeCgroups(name string) {
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left := false
		// Runtimes make groups in version 2's hierarchy of a hybrid host too.
		for _, pattern := range []string{name, filepath.Join("*", name)} {
			groups, _ := filepath.Glob(filepath.Join(cgroupRoot, pattern))
			for _, group := range groups {
				left = !removeTree(group) || left
			}
		}
		if !left || time.Now().After(deadline) {
			return
		}
	}
}

// removeTree removes a group and those below it, leaves first; true when nothing is left.
func removeTree(group string) bool {
	var groups []string
	_ = filepath.WalkDir(group, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			groups = append(groups, path)
		}
		return nil
	})
	for i := len(groups) - 1; i >= 0; i-- {
		_ = syscall.Rmdir(groups[i])
	}
	_, err := os.Stat(group)
	return errors.Is(err, fs.ErrNotExist)
}

func unified() bool {
	_, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers"))
	return err == nil
}

// hierarchies lists version 1's mounts; the one of version 2 on a hybrid host has none of the kubelet's controllers.
func hierarchies() []string {
	var found []string
	entries, _ := os.ReadDir(cgroupRoot)
	for _, entry := range entries {
		path := filepath.Join(cgroupRoot, entry.Name())
		if _, err := os.Stat(filepath.Join(path, "cgroup.clone_children")); err == nil && entry.Type()&fs.ModeSymlink == 0 {
			found = append(found, path)
		}
	}
	return found
}

// enableControllers lets groups below the root have the controllers that the kubelet asks for. The root that a
// container sees refuses as long as processes are in it (they move to a leaf); the machine's own root does not.
func enableControllers() error {
	available, err := os.ReadFile(filepath.Join(cgroupRoot, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, controller := range controllers {
		if !bytes.Contains(available, []byte(controller)) {
			continue
		}
		err := enable(controller)
		if errors.Is(err, syscall.EBUSY) {
			moveProcesses()
			err = enable(controller)
		}
		if err != nil {
			return fmt.Errorf("control group controller %s: %w", controller, err)
		}
	}
	return nil
}

func enable(controller string) error {
	return os.WriteFile(filepath.Join(cgroupRoot, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
}

func moveProcesses() {
	leaf := filepath.Join(cgroupRoot, "kth-outside")
	_ = os.MkdirAll(leaf, 0o755)
	members, _ := os.ReadFile(filepath.Join(cgroupRoot, "cgroup.procs"))
	for _, pid := range strings.Fields(string(members)) {
		_ = os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte(pid), 0o644) // kernel threads refuse, rightly
	}
}
