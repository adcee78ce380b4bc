package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// sysctls that the kubelet insists on and would set for the whole machine. It is shown files with the values it wants.
var sysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// nodeInit is pid 1 of the node: when it dies, the kernel ends everything inside.
func nodeInit(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: init RUN_DIRECTORY HOSTNAME POD_LOGS_DIRECTORY")
	}
	if err := setUpMounts(args[0], args[2]); err != nil {
		return err
	}
	if err := syscall.Sethostname([]byte(args[1])); err != nil {
		return fmt.Errorf("hostname: %w", err)
	}
	fmt.Println("ready")
	pause()
	return nil
}

func setUpMounts(run, podLogs string) error {
	// Slave: what is unmounted outside must not stay busy in here, and nothing of ours shows outside.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("mount propagation: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("/run: %w", err)
	}
	for _, directory := range []string{"/run/netns", "/run/lock", "/run/upper", "/run/work"} {
		if err := os.Mkdir(directory, 0o755); err != nil {
			return err
		}
	}
	coverVarLib(run)
	for _, mount := range [][2]string{
		{filepath.Join(run, "kubelet"), "/var/lib/kubelet"},
		{filepath.Join(run, "cni"), "/var/lib/cni"},
		{filepath.Join(run, "log"), "/var/log"},
		{podLogs, "/var/log/pods"},
	} {
		if err := bindDirectory(mount[0], mount[1]); err != nil {
			return err
		}
	}
	if err := coverSysctls(run); err != nil {
		return err
	}
	// As a kubelet wants it: mounts that pods make are seen by other pods.
	return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, "")
}

// coverVarLib keeps paths that are fixed in the kubelet and the CNI plugins from being made on the machine. Where it
// cannot, two empty directories stay behind in /var/lib.
func coverVarLib(run string) {
	if !strings.HasPrefix(run, "/var/lib/") {
		_ = syscall.Mount("overlay", "/var/lib", "overlay", 0, "lowerdir=/var/lib,upperdir=/run/upper,workdir=/run/work")
	}
}

func bindDirectory(source, target string) error {
	for _, directory := range []string{source, target} {
		if err := os.MkdirAll(directory, 0o755); err != nil {
			return err
		}
	}
	return bind(source, target)
}

func bind(source, target string) error {
	if err := syscall.Mount(source, target, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("%s on %s: %w", source, target, err)
	}
	return nil
}

func coverSysctls(run string) error {
	directory := filepath.Join(run, "sysctl")
	if err := os.Mkdir(directory, 0o755); err != nil {
		return err
	}
	for key, value := range sysctls {
		cover := filepath.Join(directory, strings.ReplaceAll(key, "/", "."))
		if err := os.WriteFile(cover, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := bind(cover, filepath.Join("/proc/sys", key)); err != nil && !errors.Is(err, syscall.ENOENT) {
			return err
		}
	}
	return nil
}

// pause reaps what is left to pid 1 until it is told to go.
func pause() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		for {
			var status syscall.WaitStatus
			if pid, _ := syscall.Wait4(-1, &status, syscall.WNOHANG, nil); pid <= 0 {
				break
			}
		}
	}
}
