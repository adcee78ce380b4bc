package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Certificates live as long as a node is likely to be kept up.
const validity = 90 * 24 * time.Hour

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// certificates writes ca.crt and a client certificate with its key for each NAME=USER or NAME=USER/GROUP. The
// authority's own key is kept nowhere.
func certificates(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: certificates DIRECTORY NAME=USER[/GROUP] ...")
	}
	directory := args[0]
	ca, err := newAuthority(directory)
	if err != nil {
		return err
	}
	for i, wanted := range args[1:] {
		name, subject, _ := strings.Cut(wanted, "=")
		user, group, _ := strings.Cut(subject, "/")
		template := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i) + 2),
			Subject:      pkix.Name{CommonName: user},
			KeyUsage:     x509.KeyUsageDigitalSignature,
			ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
		if group != "" {
			template.Subject.Organization = []string{group}
		}
		if _, err := issue(filepath.Join(directory, name), template, &ca); err != nil {
			return fmt.Errorf("certificate %s: %w", name, err)
		}
	}
	return nil
}

func newAuthority(directory string) (authority, error) {
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "kind-test-harness"},
		KeyUsage:              x509.KeyUsageCertSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	ca, err := issue(filepath.Join(directory, "ca"), template, nil)
	if err != nil {
		return authority{}, err
	}
	return ca, os.Remove(filepath.Join(directory, "ca.key"))
}

// issue writes path.crt and path.key; without an authority the certificate signs itself.
func issue(path string, template *x509.Certificate, by *authority) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	template.NotBefore = time.Now().Add(-time.Minute)
	template.NotAfter = time.Now().Add(validity)
	if by == nil {
		by = &authority{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.certificate, &key.PublicKey, by.key)
	if err != nil {
		return authority{}, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return authority{}, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return authority{}, err
	}
	return authority{certificate, key}, errors.Join(
		writePEM(path+".crt", "CERTIFICATE", der),
		writePEM(path+".key", "EC PRIVATE KEY", keyDER),
	)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
