import type { AnyResource } from './kinds.js';

/** One thing that happened to an object, for `kubectl describe` and `kubectl events`. */
export type ResourceEvent = {
  readonly object: Pick<AnyResource, 'apiVersion' | 'kind' | 'metadata'>;
  readonly type: 'Normal' | 'Warning';
  /** Documented constant, in CamelCase. */
  readonly reason: string;
  /** A sentence for people; it distinguishes events that are otherwise equal. Cut at 1,024 bytes. */
  readonly note: string;
};

/** Port: where events go. Callers never wait for `record`, and it never fails: losing an event is acceptable. */
export type EventRecorder = { record(event: ResourceEvent): void };

export const noEvents: EventRecorder = { record: () => {} };
