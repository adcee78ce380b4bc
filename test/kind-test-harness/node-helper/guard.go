package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
)

const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWPID

// guard owns one run directory and the namespaces started from it. It lives as long as its stdin is open and its init
// lives; then it removes what outlives namespaces: control groups and files. Links, routes and mounts go by themselves.
func guard(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: guard RUNS_DIRECTORY HOSTNAME POD_LOGS_DIRECTORY")
	}
	run, lock, err := claimRun(args[0])
	if err != nil {
		return err
	}
	defer lock.Close()
	defer removeRun(run)
	if err := createCgroups(filepath.Base(run)); err != nil {
		return err
	}

	// Pdeathsig is tied to the thread that forks: keep it.
	runtime.LockOSThread()
	init := exec.Command("/proc/self/exe", "init", run, args[1], args[2])
	init.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL, Setsid: true}
	init.Stderr = os.Stderr
	ready, err := init.StdoutPipe()
	if err != nil {
		return err
	}
	if err := init.Start(); err != nil {
		return fmt.Errorf("new namespaces: %w", err)
	}
	if _, err := bufio.NewReader(ready).ReadString('\n'); err != nil {
		return errors.Join(errors.New("the node's init failed"), init.Wait())
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"run": run, "init": init.Process.Pid}); err != nil {
		return err
	}
	killWhenReleased(init.Process)
	_ = init.Wait() // however it ended, everything inside has ended with it
	return nil
}

// killWhenReleased ends the node when the holder of our stdin is gone, however it went, or when asked by a signal.
func killWhenReleased(init *os.Process) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	released := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(released)
	}()
	go func() {
		select {
		case <-signals:
		case <-released:
		}
		_ = init.Kill()
	}()
}
