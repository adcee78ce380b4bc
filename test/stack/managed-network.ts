/** ManagedNetworks as an operator writes them. */

/** `spec`: all but the provider. */
export const managedNetwork = (name: string, spec: Readonly<Record<string, unknown>>): object => ({
  apiVersion: 'network.sdewan.akraino.org/v1alpha1',
  kind: 'ManagedNetwork',
  metadata: { name },
  spec: { provider: 'static', ...spec },
});
