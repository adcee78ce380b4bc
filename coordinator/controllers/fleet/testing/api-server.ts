/**
 * What a fleet controller sees of an API server, in this process: objects and fenced writes.
 * Watches tell of CNFSets, CNFs and nodes alone, and Kubernetes' own controllers are played by the
 * test.
 */
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import type { KubeObject } from '#shared/kube/objects.ts';
import { own } from '#shared/util/own.ts';

type Fields = Record<string, unknown>;
type Stored = KubeObject & Fields;
/** What a test says of an object; the rest is as a server fills it in. */
type Given = Fields & { metadata: Partial<KubeObject['metadata']> & { name: string } };
type Addressed = { plural: string; kind: string };

export const NAMESPACE = 'edge';
const TOLD: ReadonlySet<string> = new Set(['cnfs', 'cnfsets', 'nodes']);

export class FakeFleetApi {
  /** Each write, as `verb plural/name`. */
  readonly writes: string[] = [];
  /** Each read of an object, as `plural/name`. */
  readonly reads: string[] = [];
  /** By what `writes` would say: answered with this instead. */
  readonly refusals = new Map<string, { status: number; reason: string }>();
  /**
   * Called before each write takes effect, by what `writes` would say: `lost` if its answer is not
   * to come, `overtaken` if another client writes first.
   */
  fate: (write: string) => 'lost' | 'overtaken' | undefined = () => undefined;
  /** Watches tell nothing of these plurals until `letGo`. */
  isHeld: (plural: string) => boolean = () => false;
  /** What this client may do, by `verb plural`; each question is noted. */
  readonly mayNot = new Set<string>();
  readonly rightsAsked: string[] = [];
  readonly #objects = new Map<string, Map<string, Stored>>();
  /** By plural: who watches. */
  readonly #watchers = new Map<string, Set<(line: string) => void>>();
  #version = 1;
  readonly #heldBack: (() => void)[] = [];
  readonly #told: ReadonlySet<string>;
  readonly #ofCluster: ReadonlySet<string>;

  /** Plurals: of which watches tell, and which have no namespace. */
  constructor({
    told = TOLD,
    ofCluster = [],
  }: { told?: Iterable<string>; ofCluster?: string[] } = {}) {
    this.#told = new Set(told);
    this.#ofCluster = new Set(ofCluster);
  }

  put({ plural, kind }: Addressed, { metadata, ...fields }: Given): Stored {
    const before = this.get(plural, metadata.name);
    const isOther = JSON.stringify(before?.['spec']) !== JSON.stringify(fields['spec']);
    const object: Stored = {
      apiVersion: 'v1',
      kind,
      ...fields,
      metadata: {
        namespace: this.#ofCluster.has(plural) ? '' : NAMESPACE,
        uid: before?.metadata.uid ?? `uid-${plural}-${metadata.name}`,
        creationTimestamp: new Date().toISOString(),
        ...metadata,
        generation: (before?.metadata.generation ?? 0) + (isOther ? 1 : 0),
        resourceVersion: String((this.#version += 1)),
      },
    };
    this.#of(plural).set(metadata.name, object);
    this.#tell(plural, before ? 'MODIFIED' : 'ADDED', object);
    return structuredClone(object);
  }

  get(plural: string, name: string): Stored | undefined {
    return structuredClone(this.#of(plural).get(name));
  }

  remove(plural: string, name: string): void {
    const object = this.get(plural, name);
    this.#of(plural).delete(name);
    if (object) this.#tell(plural, 'DELETED', object);
  }

  letGo(): void {
    this.isHeld = () => false;
    for (const tell of this.#heldBack.splice(0)) tell();
  }

  client(): KubeClient {
    const client: Partial<KubeClient> = {
      get: async ({ plural, schema }, { name }) => {
        this.reads.push(`${plural}/${name}`);
        const object = this.get(plural, name);
        if (!object) throw refusal(404, 'NotFound');
        return schema.parse(object);
      },
      list: async ({ plural, schema }, { fieldSelector = '', labelSelector } = {}) => ({
        items: [...this.#of(plural).values()]
          .filter((object) => isSelected(object, labelSelector))
          .filter(({ metadata }) => isNamed(metadata.name, fieldSelector))
          .map((object) => schema.parse(structuredClone(object))),
        resourceVersion: String(this.#version),
      }),
      create: async (resource, body) => {
        if (resource.plural === 'selfsubjectaccessreviews')
          return resource.schema.parse(this.#review(body));
        const given = givenOf(body);
        const { name } = given.metadata;
        const made = this.#write('create', resource, name, () => {
          if (this.get(resource.plural, name)) throw refusal(409, 'AlreadyExists');
          return this.put(resource, given);
        });
        return resource.schema.parse(made);
      },
      replace: async (resource, body, { subresource } = {}) => {
        const given = givenOf(body);
        const {
          metadata: { name, ...changes },
        } = given;
        const after = this.#write(subresource ?? 'replace', resource, name, () => {
          const present = this.#fenced(resource, given);
          const next = subresource === undefined ? given : { [subresource]: given[subresource] };
          const metadata = { ...present.metadata, ...changes, name };
          return this.put(resource, { ...present, ...next, metadata });
        });
        return resource.schema.parse(after);
      },
      patch: async (resource, { name }, { patch, subresource }) => {
        // With its nulls, which remove.
        const body: Fields = Object(patch.body);
        const given = givenOf({ ...body, metadata: { ...Object(body['metadata']), name } });
        const after = this.#write(subresource ?? 'patch', resource, name, () =>
          this.put(resource, givenOf(merged(this.#fenced(resource, given), given))),
        );
        return resource.schema.parse(after);
      },
      delete: async (resource, { name }) =>
        this.#write('delete', resource, name, () => this.remove(resource.plural, name)),
      watch: async ({ plural }, { signal }) => this.#watch(plural, signal),
    };
    // What is missing is called by no controller of the fleet.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return client as KubeClient;
  }

  #review(body: unknown): object {
    const { verb, resource } = reviewSchema.parse(body).spec.resourceAttributes;
    const right = `${verb} ${resource}`;
    this.rightsAsked.push(right);
    return { status: { allowed: !this.mayNot.has(right) } };
  }

  #tell(plural: string, type: string, object: Stored): void {
    const line = `${JSON.stringify({ type, object })}\n`;
    const tellAll = (): void => this.#watchers.get(plural)?.forEach((tell) => tell(line));
    if (this.isHeld(plural)) this.#heldBack.push(tellAll);
    else if (this.#told.has(plural)) tellAll();
  }

  #watch(plural: string, signal: AbortSignal): ReadableStream<Uint8Array> {
    const watchers = this.#watchers.get(plural) ?? new Set();
    this.#watchers.set(plural, watchers);
    const encoder = new TextEncoder();
    return new ReadableStream({
      start: (lines) => {
        const tell = (line: string): void => lines.enqueue(encoder.encode(line));
        watchers.add(tell);
        signal.addEventListener('abort', () => {
          watchers.delete(tell);
          lines.error(new Error('aborted'));
        });
      },
    });
  }

  #fenced(resource: Addressed, { metadata }: Given): Stored {
    const present = this.get(resource.plural, metadata.name);
    if (!present) throw refusal(404, 'NotFound');
    const { uid, resourceVersion } = { ...present.metadata, ...metadata };
    if (uid !== present.metadata.uid || resourceVersion !== present.metadata.resourceVersion)
      throw refusal(409, 'Conflict');
    return present;
  }

  #write<R>(verb: string, resource: Addressed, name: string, effect: () => R): R {
    const write = `${verb} ${resource.plural}/${name}`;
    this.writes.push(write);
    const refused = this.refusals.get(write);
    if (refused) throw refusal(refused.status, refused.reason);
    const fate = this.fate(write);
    const present = this.get(resource.plural, name);
    if (fate === 'overtaken' && present) this.put(resource, present);
    const after = effect();
    if (fate === 'lost') throw refusal(0, 'Unreachable');
    return after;
  }

  #of(plural: string): Map<string, Stored> {
    const known = this.#objects.get(plural) ?? new Map<string, Stored>();
    this.#objects.set(plural, known);
    return known;
  }
}

/** As it comes over the wire. */
const givenOf = (body: unknown): Given => givenSchema.parse(JSON.parse(JSON.stringify(body)));
const givenSchema: z.ZodType<Given> = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
});

const reviewSchema = z.object({
  spec: z.object({ resourceAttributes: z.object({ verb: z.string(), resource: z.string() }) }),
});

const refusal = (status: number, reason: string): KubeError =>
  new KubeError('write', reason, { status, reason });

const isSelected = ({ metadata }: KubeObject, labelSelector = ''): boolean =>
  labelSelector.split(',').every((requirement) => {
    const [label = '', value] = requirement.split('=');
    return label === '' || own(metadata.labels ?? {}, label) === value;
  });

const isNamed = (name: string, fieldSelector: string): boolean =>
  !fieldSelector.startsWith('metadata.name=') || fieldSelector === `metadata.name=${name}`;

/** RFC 7386. */
const merged = (target: unknown, patch: unknown): unknown => {
  if (!isRecord(patch)) return patch;
  const result: Fields = isRecord(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch))
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  return result;
};

const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
