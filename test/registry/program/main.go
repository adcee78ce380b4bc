// The registry of the distribution project, by its own packages, which keeps images in memory.
package main

import (
	"context"
	"log"
	"os"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
)

// Serves by the configuration on standard input.
func main() {
	config, err := configuration.Parse(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	server, err := registry.NewRegistry(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(server.ListenAndServe())
}
