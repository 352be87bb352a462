import { formatKey, objectKey } from '../../core/meta/meta.js';
import type { KubeList, KubeObject } from './objects.js';
import type { KubeTransport } from './transport.js';

type WatchOptions = {
  /** After this long the server ends the watch. */
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
};

export type CollectionOptions = {
  readonly transport: KubeTransport;
  /** Collection, e.g. `/apis/paymasters.dev/v1alpha1/paymasters`. */
  readonly path: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** Objects come without spec and status. */
  readonly metadataOnly?: boolean;
  /** Ends every call. */
  readonly signal: AbortSignal;
};

const pageSize = '500';
const metadataType = (kind: string): string => `application/json;as=${kind};g=meta.k8s.io;v=v1`;
const metadataOfList = metadataType('PartialObjectMetadataList');

/** Reads of one kind from the API server. Keeps nothing; throws KubeApiError. */
export function createCollection(options: CollectionOptions) {
  const { transport, path, signal } = options;
  const selectors: Readonly<Record<string, string>> = {
    ...(options.fieldSelector === undefined ? {} : { fieldSelector: options.fieldSelector }),
    ...(options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector }),
  };

  /** Follows `continue` from the first query on. The pages are small enough not to block the event loop. */
  async function pages(
    first: Readonly<Record<string, string>>,
    onPage: (items: readonly KubeObject[]) => void,
    accept = options.metadataOnly === true ? metadataOfList : undefined,
  ): Promise<string> {
    let position = first;
    for (;;) {
      const { items, metadata } = await page({ limit: pageSize, ...position }, accept);
      onPage(items);
      if (!metadata.continue) return metadata.resourceVersion;
      position = { continue: metadata.continue };
    }
  }

  async function page(
    query: Readonly<Record<string, string>>,
    accept?: string,
  ): Promise<KubeList<KubeObject>> {
    return (await transport.request({
      method: 'GET',
      path,
      query: { ...selectors, ...query },
      ...(accept === undefined ? {} : { accept }),
      signal,
    })) as KubeList<KubeObject>;
  }

  return {
    /** The server's current resourceVersion, read by a list of one object. */
    async presentVersion(): Promise<string> {
      return (await page({ limit: '1' })).metadata.resourceVersion;
    },

    /**
     * All objects in pages of 500, and the resourceVersion of the list. `minimum` asks for a state not older than that;
     * `onPage` is called with the objects of each page as it arrives.
     */
    list: (minimum: string | undefined, onPage: (items: readonly KubeObject[]) => void): Promise<string> =>
      pages(
        minimum === undefined ? {} : { resourceVersion: minimum, resourceVersionMatch: 'NotOlderThan' },
        onPage,
      ),

    /** uid and resourceVersion of every object by its key, exactly as of `version`. */
    async revisionsAt(version: string): Promise<ReadonlyMap<string, string>> {
      const revisions = new Map<string, string>();
      const note = (items: readonly KubeObject[]): void => {
        for (const item of items) revisions.set(formatKey(objectKey(item)), objectRevision(item));
      };
      await pages({ resourceVersion: version, resourceVersionMatch: 'Exact' }, note, metadataOfList);
      return revisions;
    },

    /** Changes since `version`, or (undefined) a streamed list with the changes after it. */
    watch: (version: string | undefined, own: WatchOptions): Promise<AsyncIterable<Buffer>> =>
      transport.stream({
        method: 'GET',
        path,
        query: {
          ...selectors,
          watch: 'true',
          allowWatchBookmarks: 'true',
          timeoutSeconds: String(own.timeoutSeconds),
          ...(version === undefined
            ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }
            : { resourceVersion: version }),
        },
        ...(options.metadataOnly === true ? { accept: metadataType('PartialObjectMetadata') } : {}),
        signal: AbortSignal.any([signal, own.signal]),
      }),
  };
}

/** Distinguishes one state of an object from another. */
export function objectRevision({ metadata }: KubeObject): string {
  return `${metadata.uid} ${metadata.resourceVersion}`;
}
