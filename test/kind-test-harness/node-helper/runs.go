package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// claimRun makes a run directory that is ours while the returned file is open, and removes those of guards that were
// killed: their locks are free.
func claimRun(runs string) (string, *os.File, error) {
	if err := os.MkdirAll(runs, 0o755); err != nil {
		return "", nil, err
	}
	// Held while sweeping and claiming, so that nobody sweeps a directory that is not yet locked.
	all, err := lockFile(filepath.Join(runs, ".lock"), syscall.LOCK_EX)
	if err != nil {
		return "", nil, err
	}
	defer all.Close()
	sweep(runs)

	run := filepath.Join(runs, fmt.Sprintf("kth-%d", os.Getpid()))
	if err := os.Mkdir(run, 0o755); err != nil {
		return "", nil, err
	}
	lock, err := lockFile(filepath.Join(run, "lock"), syscall.LOCK_EX|syscall.LOCK_NB)
	return run, lock, err
}

func sweep(runs string) {
	left, _ := filepath.Glob(filepath.Join(runs, "kth-*"))
	for _, run := range left {
		if lock, err := lockFile(filepath.Join(run, "lock"), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			removeRun(run)
			lock.Close()
		}
	}
}

func removeRun(run string) {
	removeCgroups(filepath.Base(run))
	if err := os.RemoveAll(run); err != nil {
		fmt.Fprintln(os.Stderr, "node-helper: left behind:", err)
	}
}

func lockFile(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), how); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
