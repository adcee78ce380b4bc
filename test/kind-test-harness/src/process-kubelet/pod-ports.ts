/** The ports of a pod's containers, as they are on this machine. */
import type { ImageStore } from '../images.ts';
import type { Container, Pod } from '../kube/objects.ts';
import type { PortMap } from './loopback.ts';

/** Declared ports stand for themselves, unless the image maps them. */
export const portsOfPod = ({ spec }: Pod, images: ImageStore): PortMap => {
  const ports = new Map<number, number>();
  for (const { image, ports: declared } of [...(spec.initContainers ?? []), ...spec.containers]) {
    for (const { containerPort } of declared ?? []) {
      if (!ports.has(containerPort)) ports.set(containerPort, containerPort);
    }
    for (const [port, local] of Object.entries(images.find(image)?.ports ?? {})) {
      ports.set(Number(port), local);
    }
  }
  return ports;
};

/** By number or by name. @throws when the container declares no port of that name. */
export const findPort = (container: Container, port: number | string, ports: PortMap): number => {
  const number =
    typeof port === 'number'
      ? port
      : container.ports?.find(({ name }) => name === port)?.containerPort;
  if (number === undefined)
    throw new Error(`container ${container.name} has no port named ${port}`);
  return ports.get(number) ?? number;
};
